/**
 * Files for imports that are killed, and what must be stored of them.
 *
 * Row `i` of a file is the same whoever writes it: its id is the file's first id and `i`, some rows have an `n` that is no number
 * and belong into quarantine, and some have an `x` of 0, by which tables divide that are to refuse rows.
 */
import { once } from 'node:events'
import { createWriteStream } from 'node:fs'
import { join } from 'node:path'
import { createGzip } from 'node:zlib'
import { compress } from '@mongodb-js/zstd'
import { openEmbeddedStore } from '../../../src/store/embedded/embedded-store.ts'
import { silentLogger, testStoreOptions } from '../store/test-store.ts'

export type FileFormat = 'csv' | 'csv.zst' | 'ndjson' | 'ndjson.gz' | 'parquet'

export interface FilePlan {
  readonly name: string
  readonly format: FileFormat
  readonly firstId: number
  readonly rows: number
  readonly hasRefused: boolean
}

/** What must be stored of files. */
export interface Expected {
  readonly rows: number
  readonly badRows: number
  /** Those that a table refuses which divides by `x`. */
  readonly refusedRows: number
  /** Of the ids of rows that are stored. */
  readonly idSum: bigint
}

const badEvery = 997
const refusedEvery = 600_011
const chunkRows = 20_000
const wordsEvery = 7

export const schema =
  'id UInt64 `json:$.id`, grp UInt8 `json:$.grp`, n UInt32 `json:$.n`, x Int32 `json:$.x`, text String `json:$.text`'

/** The table of contents, made before anything is written or sent. */
export function expectedOf(plans: readonly FilePlan[]): Expected {
  const total = { rows: 0, badRows: 0, refusedRows: 0, idSum: 0n }
  for (const { firstId, rows, hasRefused } of plans) {
    for (let index = 0; index < rows; index += 1) {
      if (isBad(index)) total.badRows += 1
      else if (hasRefused && isRefused(index)) total.refusedRows += 1
      else {
        total.rows += 1
        total.idSum += BigInt(firstId + index)
      }
    }
  }
  return total
}

function isBad(index: number): boolean {
  return index % badEvery === 3
}

function isRefused(index: number): boolean {
  return index % refusedEvery === 5_000
}

/** Before a service is opened in this process. */
export async function writeFiles(directory: string, plans: readonly FilePlan[]): Promise<void> {
  for (const plan of plans.filter(({ format }) => format !== 'parquet')) await writeText(directory, plan)
  const tables = plans.filter(({ format }) => format === 'parquet')
  if (tables.length === 0) return
  const store = await openEmbeddedStore(testStoreOptions(join(directory, 'writer')), silentLogger)
  try {
    for (const { name, firstId, rows, hasRefused } of tables) {
      const sql = `SELECT toUInt64(${firstId} + number) AS id, toUInt8(number % 5) AS grp,
        if(number % ${badEvery} = 3, 'bad', toString(number % 1000 + 1)) AS n,
        toInt32(${hasRefused ? `if(number % ${refusedEvery} = 5000, 0, 1)` : '1'}) AS x, concat('row ', toString(number)) AS text
        FROM numbers(${rows})`
      const settings = 'max_threads = 1, output_format_parquet_row_group_size = 100000'
      await store.command(`${sql} INTO OUTFILE '${join(directory, name)}' FORMAT Parquet SETTINGS ${settings}`)
    }
  } finally {
    await store.close()
  }
}

async function writeText(directory: string, plan: FilePlan): Promise<void> {
  const path = join(directory, plan.name)
  const isPacked = plan.format === 'ndjson.gz'
  const packer = isPacked ? createGzip({ level: 1 }) : null
  const file = createWriteStream(path)
  const target = packer ?? file
  packer?.pipe(file)
  for (let start = 0; start < plan.rows; start += chunkRows) {
    const text = Buffer.from(textOf(plan, start, Math.min(plan.rows, start + chunkRows)))
    // Each is a frame of its own; a file may have many.
    const bytes = plan.format === 'csv.zst' ? await compress(text, 1) : text
    if (!target.write(bytes)) await once(target, 'drain')
  }
  target.end()
  await once(file, 'close')
}

function textOf(plan: FilePlan, start: number, end: number): string {
  const isCsv = plan.format === 'csv' || plan.format === 'csv.zst'
  // In another order than the table's columns are.
  const lines = isCsv && start === 0 ? ['text,n,id,grp,x'] : []
  for (let index = start; index < end; index += 1) {
    const id = plan.firstId + index
    const x = plan.hasRefused && isRefused(index) ? 0 : 1
    const n = isBad(index) ? 'bad' : (index % 1000) + 1
    const hasWords = index % wordsEvery === 0
    if (isCsv)
      lines.push(`${hasWords ? `"a ""row"",\nof two lines ${index}"` : `row ${index}`},${n},${id},${index % 5},${x}`)
    else lines.push(JSON.stringify({ id, grp: index % 5, n, x, text: hasWords ? `a "row"\n${index}` : `row ${index}` }))
  }
  return `${lines.join('\n')}\n`
}
