/** A fixture's expected result, as it stands in the JSON file beside the input. */
export interface Fixture {
  /** What the test of it is called after. */
  readonly name: string
  /** Name of the input file, in the same folder. */
  readonly input: string
  readonly format: 'csv' | 'ndjson'
  /** Schema string of the data source, which is called `dataSource`. */
  readonly schema: string
  readonly dataSource: string
  readonly sortingKey: string
  /** Further parameters of the append, `dialect_delimiter` for one. */
  readonly parameters: Readonly<Record<string, string>>
  /** Records in the input: what is stored, set aside or invalid adds up to it. */
  readonly recordCount: number
  readonly storedRows: number
  readonly quarantinedRows: number
  /** Lines that are no record, and the short lines of a CSV. */
  readonly invalidLines: number
  /** Lines that count both as quarantined and as invalid. */
  readonly shortLines: number
  readonly quarantine: readonly QuarantineGroup[]
  readonly checks: readonly FixtureCheck[]
}

/** Rows set aside because of one column; a `reason` of null counts them whatever the wording. */
export interface QuarantineGroup {
  readonly column: string
  readonly reason: string | null
  readonly rowCount: number
}

/** One question and its answer: `sql` gives one row with these values, compared as text. */
export interface FixtureCheck {
  readonly sql: string
  readonly row: Readonly<Record<string, string>>
}
