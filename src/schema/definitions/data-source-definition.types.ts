import type { ColumnDefinition } from '../columns/column-definition.types.ts'
import type { EngineDefinition } from '../engines/engine-definition.types.ts'
import type { IndexDefinition } from './index-definition.ts'

/** What a caller says of a data source beside its name: all that its datafile has. */
export interface DataSourceDefinition {
  readonly description: string
  readonly columns: readonly ColumnDefinition[]
  readonly engine: EngineDefinition
  /** Data skipping indexes, in their order; none for engines without parts. */
  readonly indexes: readonly IndexDefinition[]
  /** The version under which it is read, `views__v3`; absent where none was given, and any does. */
  readonly declaredVersion?: number
}
