import { quoteName, quoteString } from '../../shared/text-escapes.ts'
import { refusedRowsQuery } from '../sql/append-statement.ts'
import { parquetSettings, settingsText } from '../sql/statement-settings.ts'
import type { ParquetFileColumn, ParquetFiles, ParquetRow, RefusedRows, ShownColumn } from '../store.types.ts'
import type { FileReads } from './file-reads.ts'

/** `ParquetFiles` by queries that end with their SETTINGS. */
export class ParquetReads implements ParquetFiles {
  readonly #reads: Pick<FileReads, 'rows'>

  constructor(reads: Pick<FileReads, 'rows'>) {
    this.#reads = reads
  }

  async columns(path: string): Promise<readonly ParquetFileColumn[]> {
    const query = `DESCRIBE TABLE file(${quoteString(path)}, 'Parquet') SETTINGS ${settingsText(parquetSettings)}`
    return await this.#reads.rows<ParquetFileColumn>(query)
  }

  async firstRows(path: string, columns: readonly ShownColumn[], rowCount: number): Promise<readonly ParquetRow[]> {
    const fields = columns.map(({ name, typeText }) => `${quoteName(name)} ${typeText}`).join(', ')
    // In a query of its own, as a value that has the name of its column is taken for it.
    const places = columns.map(({ value }, index) => `${value} AS __${index}`).join(', ')
    const names = columns.map(({ name }, index) => `__${index} AS ${quoteName(name)}`).join(', ')
    const source = `file(${quoteString(path)}, 'Parquet', ${quoteString(fields)})`
    const settings = settingsText(parquetSettings)
    const query = `SELECT ${names} FROM (SELECT ${places} FROM ${source} LIMIT ${rowCount}) SETTINGS ${settings}`
    return await this.#reads.rows<ParquetRow>(query)
  }

  async countRefused(path: string, refused: RefusedRows): Promise<number> {
    const [counted] = await this.#reads.rows<{ readonly count: number }>(refusedRowsQuery(refused, path))
    return counted?.count ?? 0
  }
}
