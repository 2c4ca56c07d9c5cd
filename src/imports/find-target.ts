/** Which data source an import is for, decided before a byte of its rows is read. */

import type { DataSource } from '../catalog/data-source.types.ts'
import { findDataSourceId } from '../catalog/data-source-id.ts'
import type { DataSources } from '../datasources/datasources.types.ts'
import { refuseJoin, refuseJoins } from '../datasources/refuse-joins.ts'
import { errors } from '../shared/errors/errors.ts'
import type { ImportOrder } from './imports.types.ts'

interface TargetRules {
  readonly dataSources: Pick<DataSources, 'find' | 'findForRows' | 'get' | 'joinBehind'>
  /** What an append to a data source that does not exist does. */
  readonly missingDataSource: 'create' | 'refuse'
  readonly hasRows: boolean
}

/**
 * The data source that the order appends to or replaces, or null for one that it creates.
 *
 * @throws BODY_MISSING (400), DATASOURCE_NOT_FOUND (404), CREATION_REFUSED (403), APPEND_UNSUPPORTED (400), DATASOURCE_EXISTS (409).
 */
export async function findTarget(
  order: ImportOrder,
  { dataSources, missingDataSource, hasRows }: TargetRules,
): Promise<DataSource | null> {
  const { mode, name, engine } = order
  // A request that forgot its rows must not empty the data source.
  if (mode === 'replace' && !hasRows) throw errors.BODY_MISSING()
  if (mode === 'replace' && name !== undefined) return dataSources.get(name)
  if (mode === 'append' && name !== undefined) {
    const existing = await dataSources.findForRows(name)
    if (existing !== undefined) {
      await refuseJoins(existing, dataSources)
      return existing
    }
    // An id is given by us: nothing can be created under it.
    if (findDataSourceId(name) !== undefined) throw errors.DATASOURCE_NOT_FOUND({ name })
    if (missingDataSource === 'refuse') throw errors.CREATION_REFUSED()
  }
  const existing = name === undefined ? undefined : dataSources.find(name)
  // Before anything is read: a name that is taken is refused however the rows look.
  const isTaken = existing?.name === name || (name !== undefined && findDataSourceId(name) !== undefined)
  if (name !== undefined && existing !== undefined && isTaken) {
    const hint = hasRows ? 'mode=append adds rows to it, mode=replace replaces them' : undefined
    throw errors.DATASOURCE_EXISTS({ name, hint })
  }
  // To create with rows is to create, and then to append.
  if (hasRows && engine !== null) refuseJoin(name ?? '', engine.name)
  return null
}
