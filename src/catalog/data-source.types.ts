import type { Brand } from '../shared/brand.ts'
import type { ColumnDefinition } from '../shared/schema.types.ts'
import type { IndexDefinition } from './index-definition.ts'

/** `t_` and 32 hex digits; never changes, also when the data source is renamed. The table in ClickHouse has this name. */
export type DataSourceId = Brand<string, 'DataSourceId'>

export interface EngineDefinition {
  /** `MergeTree`, `ReplacingMergeTree`, …, `Join`, `Null`. */
  readonly name: string
  /** Parameters and options by API name without `engine_`: `sorting_key`, `partition_key`, `ver`, `ttl`, … */
  readonly options: Readonly<Record<string, string>>
}

/** A data source as the catalog keeps it. Sizes and users are derived, never stored. Times are epoch milliseconds. */
export interface DataSource {
  readonly id: DataSourceId
  readonly name: string
  readonly description: string
  readonly columns: readonly ColumnDefinition[]
  readonly engine: EngineDefinition
  /** Data skipping indexes, in their order; none for engines without parts. */
  readonly indexes: readonly IndexDefinition[]
  /** Kept for clients; streams that would read it come later. */
  readonly kafkaStoreRawValue: boolean
  readonly type: 'csv' | 'ndjson'
  readonly createdAt: number
  readonly updatedAt: number
  /** Counts the changes of the schema; a worker's compiled plan is valid for one version. */
  readonly version: number
  /** The version under which it is read, `views__v3`; absent where none was given, and any does. */
  readonly declaredVersion?: number
}
