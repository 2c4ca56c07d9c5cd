// What of a resource is told to whom. Definitions are told to whoever may have them; what comes from rows, and what names other
// resources, only to those who may see these.

import type { Permissions } from '../../access/permissions.ts'
import type { ResourceKind } from '../../access/scopes/scope-types.ts'
import type { DataSource } from '../../catalog/data-source.types.ts'
import type { Pipe } from '../../catalog/pipe.types.ts'
import { withoutQuarantine } from '../../catalog/quarantine-name.ts'
import type { EventsStatus } from '../../ingest/events/events.types.ts'
import { untoldReasons } from '../../shared/errors/definition.ts'
import type { DerivedFields } from './datasource-shape.ts'

/** Nothing that is counted of rows, or read out of them. */
const hiddenFields = {
  statistics: null,
  waiting: null,
  newColumns: new Map<string, string>(),
  behind: [],
  lacking: [],
} as const

/** What is derived of a data source, for one caller: counts tell of rows, and so only to whoever may read them all. */
export function seenFields(
  permissions: Permissions,
  dataSource: Pick<DataSource, 'id'>,
  derived: DerivedFields,
): DerivedFields {
  const { usedBy, possiblyUsedBy, waiting = null } = derived
  const seesRows = permissions.allows('quarantine:read', { name: '', id: dataSource.id, isQuarantine: false })
  return {
    ...derived,
    ...(seesRows ? { waiting: seenWaiting(permissions, waiting) } : hiddenFields),
    ...(usedBy === undefined ? {} : { usedBy: seenOf(permissions, 'pipe', usedBy) }),
    ...(possiblyUsedBy === undefined ? {} : { possiblyUsedBy: seenOf(permissions, 'pipe', possiblyUsedBy) }),
  }
}

/** What keeps events from the database, without the words of views for whoever may not read what they read. */
function seenWaiting({ readsEverything }: Permissions, waiting: EventsStatus | null): EventsStatus | null {
  const failure = waiting?.failure ?? null
  if (waiting === null || failure?.kind !== 'view' || readsEverything) return waiting
  const message = `A Materialized View does not take the events; ${untoldReasons['of views']}`
  return { ...waiting, failure: { ...failure, message } }
}

/** Those of the resources that the caller may know of. */
export function seenOf<One extends { readonly id: string }>(
  permissions: Permissions,
  kind: ResourceKind,
  resources: readonly One[],
): readonly One[] {
  return permissions.isAdmin ? resources : resources.filter(({ id }) => permissions.sees(kind, id))
}

/** What stands for a name in the workspace. */
export interface NameLookup {
  readonly findDataSource: (name: string) => Pick<DataSource, 'id'> | undefined
  readonly findPipe: (name: string) => Pick<Pipe, 'id'> | undefined
}

/** Those of the names that the caller may know of: nodes of the pipe at hand, and resources that he sees. */
export function seenNames(
  permissions: Permissions,
  { names, nodes }: { readonly names: readonly string[]; readonly nodes: readonly { readonly name: string }[] },
  { findDataSource, findPipe }: NameLookup,
): readonly string[] {
  if (permissions.readScope.seesAll) return names
  const own = new Set(nodes.map(({ name }) => name))
  return names.filter((name) => {
    if (own.has(name)) return true
    const pipe = findPipe(name)
    if (pipe !== undefined) return permissions.sees('pipe', pipe.id)
    const dataSource = findDataSource(name) ?? findDataSource(withoutQuarantine(name))
    return dataSource !== undefined && permissions.sees('datasource', dataSource.id)
  })
}
