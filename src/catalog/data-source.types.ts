import type { DataSourceDefinition } from '../schema/definitions/data-source-definition.types.ts'
import type { Brand } from '../shared/brand.ts'

/** `t_` and 32 hex digits; never changes, also when the data source is renamed. The table in ClickHouse has this name. */
export type DataSourceId = Brand<string, 'DataSourceId'>

/** A data source as the catalog keeps it. Sizes and users are derived, never stored. Times are epoch milliseconds. */
export interface DataSource extends DataSourceDefinition {
  readonly id: DataSourceId
  readonly name: string
  /** Kept for clients; streams that would read it come later. */
  readonly kafkaStoreRawValue: boolean
  readonly type: 'csv' | 'ndjson'
  readonly createdAt: number
  readonly updatedAt: number
  /** Counts the changes of the schema; a worker's compiled plan is valid for one version. */
  readonly version: number
}
