// The tables behind the service data sources, as verbs: what the service tells of its own work.

import type { KeptRows, ServiceTableName } from './sql/service-tables.ts'

/** How long rows are kept, by what they tell. */
export type ServiceTableDays = Readonly<Record<KeptRows, number>>

export interface ServiceRowBatch {
  readonly table: ServiceTableName
  /** Lines of JSON, one an object: columns by their names, or the fields that the table is filled from. */
  readonly lines: string
  /** Rows that come again under their token are stored once. */
  readonly token: string
}

export interface ServiceTables {
  /** Makes what is missing, and brings what is there to the columns and days of this release. Raises `StoreError`. */
  prepare(days: ServiceTableDays): Promise<void>
  /** Inserts rows, in a session that no rows of users need. Raises `StoreError`. */
  insert(batch: ServiceRowBatch): Promise<void>
}
