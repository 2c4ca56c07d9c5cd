import type { Catalog } from '../../catalog/catalog.ts'
import type { DataSource } from '../../catalog/data-source.types.ts'
import type { MaterializedNode } from '../../catalog/pipe.types.ts'
import { errors } from '../../shared/errors/errors.ts'
import type { ComparedPin } from '../populate/populate.types.ts'
import type { PopulateRequest } from '../populate/populate-request.types.ts'
import type { Comparability, ComparedView } from './comparability.ts'

/** All rows of the source, into a table beside the target. */
export const comparedRequest: PopulateRequest = {
  subset: null,
  condition: null,
  unlinksOnError: false,
  truncates: true,
}

/** @throws DATASOURCE_NOT_FOUND (404) */
export function comparedView(
  { view }: Pick<MaterializedNode, 'view'>,
  catalog: Pick<Catalog, 'find' | 'lastNameOf'>,
): ComparedView {
  const found = (id: string): DataSource => {
    const dataSource = catalog.find(id)
    if (dataSource === undefined) throw errors.DATASOURCE_NOT_FOUND({ name: catalog.lastNameOf(id) })
    return dataSource
  }
  return { view, source: found(view.sourceId), target: found(view.targetId) }
}

/** What an engine merges away is still to be compared where any of several rows may be the one that is left. */
export function stagingOf({ manner }: Pick<Comparability, 'manner'>): ComparedPin['staging'] {
  return manner.kind === 'last' || manner.kind === 'signs' ? 'plain' : 'same'
}
