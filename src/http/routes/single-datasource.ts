import type { Permissions } from '../../access/permissions.ts'
import type { DataSource } from '../../catalog/data-source.types.ts'
import type { MaterializedNode } from '../../catalog/pipe.types.ts'
import type { NewColumns } from '../../datasources/new-columns.ts'
import type { EventsStatus } from '../../ingest/events/events.types.ts'
import { cascadeFrom, viewsInto } from '../../materialize/view-graph.ts'
import type { HttpDeps } from '../http.types.ts'
import type { DerivedFields, ShownView } from '../json/datasource-shape.ts'
import { seenFields } from '../json/seen-fields.ts'
import { withViewNames } from '../json/view-names.ts'
import { behindShape } from '../json/views-behind.ts'

export type SingleDeps = Pick<HttpDeps, 'behind' | 'dataSources' | 'ingest' | 'pipes'> & {
  readonly newColumns: NewColumns
}

export type StatisticsOf = HttpDeps['dataSources']['statisticsOf']

/**
 * What is derived of one data source, as far as the caller is told.
 *
 * @param statisticsOf gives its rows and bytes; as they are now when it is absent.
 * @throws ENGINE_UNAVAILABLE (503)
 */
export async function derivedOf(
  dataSource: DataSource,
  permissions: Permissions,
  deps: SingleDeps,
  statisticsOf: StatisticsOf = (id) => deps.dataSources.statisticsOf(id),
): Promise<DerivedFields> {
  const { behind, dataSources, ingest, newColumns, pipes } = deps
  const { id } = dataSource
  const all = pipes.list()
  // Both ends of an edge, and what makes it, must be known to whoever is told of it.
  const shown = ({ pipe, node, view }: MaterializedNode): Omit<ShownView, 'depth'>[] => {
    const [source, target] = [dataSources.find(view.sourceId), dataSources.find(view.targetId)]
    const isSeen =
      permissions.sees('pipe', pipe.id) &&
      [source, target].every((one) => one !== undefined && permissions.sees('datasource', one.id))
    return isSeen && source !== undefined && target !== undefined ? [{ pipe, node, source, target }] : []
  }
  const named = (text: string): string => withViewNames(text, () => all, permissions)
  return seenFields(permissions, dataSource, {
    statistics: await statisticsOf(id),
    usedBy: dataSources.usedBy(id),
    possiblyUsedBy: dataSources.possiblyUsedBy(id),
    waiting: namedFailure(ingest.eventsStatus(id), named),
    newColumns: newColumns.of(dataSource),
    behind: behind.of(id).map((one) => behindShape(one, permissions, named)),
    lacking: behind.into(id).map((one) => behindShape(one, permissions, named)),
    views: {
      from: onceEach(viewsInto(id, all).flatMap(shown)),
      into: onceEach(cascadeFrom(id, all).flatMap((step) => shown(step).map((one) => ({ ...one, depth: step.depth })))),
    },
  })
}

/** Several SELECTs of a node may see the rows of one data source. */
function onceEach<View extends Omit<ShownView, 'depth'>>(views: readonly View[]): readonly View[] {
  return [...new Map(views.map((view) => [`${view.node.id} ${view.source.id}`, view])).values()]
}

function namedFailure(status: EventsStatus | null, named: (text: string) => string): EventsStatus | null {
  if (status === null || status.failure === null) return status
  return { ...status, failure: { ...status.failure, message: named(status.failure.message) } }
}
