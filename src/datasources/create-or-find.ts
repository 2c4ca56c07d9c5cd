import type { DataSource } from '../catalog/data-source.types.ts'
import { ApiError } from '../shared/errors/errors.ts'
import type { CreateRequest, DataSources } from './datasources.types.ts'

export interface CreatedOrFound {
  readonly dataSource: DataSource
  readonly isCreated: boolean
}

/**
 * Creates a data source for rows, to which it matters only that it is there: one that somebody else created meanwhile will do.
 *
 * @throws what `DataSources.create` does.
 */
export async function createOrFind(
  dataSources: Pick<DataSources, 'create' | 'find'>,
  request: CreateRequest & { readonly name: string },
): Promise<CreatedOrFound> {
  try {
    return { dataSource: await dataSources.create(request), isCreated: true }
  } catch (error) {
    const existing = dataSources.find(request.name)
    if (existing === undefined || !(error instanceof ApiError) || error.code !== 'DATASOURCE_EXISTS') throw error
    return { dataSource: existing, isCreated: false }
  }
}
