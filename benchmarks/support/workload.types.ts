import type { SeededRandom } from '../../test/support/seeded-random.ts'

export type WorkloadName = 'events' | 'nested'
export type WorkloadFormat = 'ndjson' | 'csv'

/** One kind of row, in both text formats, and the tables on both sides that store the same values of it. */
export interface Workload {
  readonly name: WorkloadName
  readonly csvHeader: string
  /** One record without its line end; a bad one has a word where `badColumn` wants a number. */
  row(random: SeededRandom, rowIndex: number, isBad: boolean): WorkloadRow
  readonly badColumn: string
  readonly formats: Readonly<Record<WorkloadFormat, WorkloadTables>>
}

export interface WorkloadRow {
  readonly ndjson: string
  readonly csv: string
}

export interface WorkloadTables {
  /** Schema string of the data source. */
  readonly schema: string
  readonly sortingKey: string
  /** Columns and sorting key of the ClickHouse table that takes the same bytes. */
  readonly clickHouseColumns: string
  readonly clickHouseSortingKey: string
  /** Settings that ClickHouse needs to read these bytes at all, beside its defaults. */
  readonly clickHouseSettings: Readonly<Record<string, string>>
  /** Two expressions over all columns that are equal when the same rows are stored. */
  readonly checksum: string
  readonly clickHouseChecksum: string
  /** Columns of the Arrow floor: the flat ones, read out of the ClickHouse table. */
  readonly floorSelect: string
}
