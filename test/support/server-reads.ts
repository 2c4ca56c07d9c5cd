/** What a ClickHouse server makes of rows in a format, row by row: what it cannot read is left out, and the others are read. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { ClickHouseError } from '@clickhouse/client'
import { quoteString } from '../../src/shared/text-escapes.ts'
import { answerOf, type ClickHouseServer } from './clickhouse-server.ts'

export interface ReadRow {
  readonly id: number
  /** With its line end; `{"id":…,"v":…}` or `id,v`. */
  readonly line: string
}

export type Reading = 'basic' | 'best_effort'

interface ReadOptions {
  readonly type: string
  readonly format: 'CSV' | 'JSONEachRow'
  readonly reading: Reading
}

const settings = [
  'input_format_allow_errors_num = 1000000000',
  'input_format_parallel_parsing = 0',
  'input_format_csv_detect_header = 0',
  // Texts of documents stay texts, as here: the server takes them for days, and fails at 2024-02-30.
  'input_format_try_infer_dates = 0',
  'input_format_try_infer_datetimes = 0',
  'max_threads = 1',
  "session_timezone = 'UTC'",
].join(', ')

const lineBehind = 4_294_967_295

export class ServerReads {
  readonly #server: ClickHouseServer
  readonly #directory: string
  #fileCount = 0

  constructor(server: ClickHouseServer, directory: string) {
    this.#server = server
    this.#directory = directory
  }

  async bytes(sql: string): Promise<Buffer> {
    return await answerOf(this.#server, sql)
  }

  async text(sql: string): Promise<string> {
    return (await this.bytes(sql)).toString()
  }

  /** Null for what the server refuses. */
  async textOrNull(sql: string): Promise<string | null> {
    try {
      return await this.text(sql)
    } catch (error) {
      if (error instanceof ClickHouseError) return null
      throw error
    }
  }

  /** A new file with these bytes, which the server can read. */
  async fileOf(bytes: string | Uint8Array): Promise<string> {
    this.#fileCount += 1
    const path = join(this.#directory, `rows-${this.#fileCount % 8}`)
    await writeFile(path, bytes)
    return path
  }

  /** The values by their rows, as TSV has them. */
  async values(rows: readonly ReadRow[], options: ReadOptions): Promise<Map<number, string>> {
    if (rows.length === 0) return new Map()
    // Behind an error the reader may pass over more than the line: there is something for it behind each row.
    const behind = options.format === 'CSV' ? `${lineBehind},\n`.repeat(4) : `{"id":${lineBehind}${' '.repeat(48)}}\n`
    const path = await this.fileOf(rows.map(({ line }) => line + behind).join(''))
    const structure = `id UInt32, v ${options.type}`
    const source = `file(${quoteString(path)}, ${options.format}, ${quoteString(structure)})`
    const sql = `SELECT id, v FROM ${source} WHERE id != ${lineBehind} SETTINGS ${settings}, date_time_input_format = '${options.reading}' FORMAT TSV`
    const text = await this.textOrNull(sql)
    if (text !== null) return valuesOf(text)
    // Some errors end the whole reading: halves tell which row it is.
    if (rows.length === 1) return new Map()
    const middle = Math.floor(rows.length / 2)
    const first = await this.values(rows.slice(0, middle), options)
    for (const [id, value] of await this.values(rows.slice(middle), options)) first.set(id, value)
    return first
  }
}

/** `id` and value of each line. */
export function valuesOf(text: string): Map<number, string> {
  const values = new Map<number, string>()
  for (const line of text.split('\n').slice(0, -1)) {
    const tab = line.indexOf('\t')
    values.set(Number(line.slice(0, tab)), line.slice(tab + 1))
  }
  return values
}
