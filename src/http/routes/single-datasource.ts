import type { Permissions } from '../../access/permissions.ts'
import type { DataSource } from '../../catalog/data-source.types.ts'
import type { NewColumns } from '../../datasources/new-columns.ts'
import type { HttpDeps } from '../http.types.ts'
import type { DerivedFields } from '../json/datasource-shape.ts'
import { seenFields } from '../json/seen-fields.ts'

export type SingleDeps = Pick<HttpDeps, 'dataSources' | 'ingest'> & { readonly newColumns: NewColumns }

/** What is derived of one data source, as far as the caller is told. @throws ENGINE_UNAVAILABLE (503) */
export async function derivedOf(
  dataSource: DataSource,
  permissions: Permissions,
  { dataSources, ingest, newColumns }: SingleDeps,
): Promise<DerivedFields> {
  const { id } = dataSource
  return seenFields(permissions, dataSource, {
    statistics: await dataSources.statisticsOf(id),
    usedBy: dataSources.usedBy(id),
    possiblyUsedBy: dataSources.possiblyUsedBy(id),
    waiting: ingest.eventsStatus(id),
    newColumns: newColumns.of(dataSource),
  })
}
