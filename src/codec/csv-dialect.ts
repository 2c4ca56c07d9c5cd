/** How a CSV body is written. */
export interface CsvDialect {
  /** One byte: the character between fields. */
  readonly delimiter: number
  /** One byte that takes the next character as it is inside quotes; null when quotes are doubled instead. */
  readonly escape: number | null
}

export const defaultCsvDialect: CsvDialect = { delimiter: 0x2c, escape: null }
