import type { CheckedQuery } from '../../schema/expressions/checked-text.types.ts'
import type { Reads } from '../store.types.ts'

/** The rows of a statement of the store that a caller has a part in, a checked text, run as the restricted reader within the limits of queries. Raises `StoreError`. */
export async function readRows<Row>(
  reads: Pick<Reads, 'select'>,
  sql: string,
  signal: AbortSignal,
): Promise<readonly Row[]> {
  // Written in this folder, which has what callers write as checked texts alone.
  const chunks: Uint8Array[] = []
  for await (const chunk of await reads.select({
    sql: sql as CheckedQuery,
    format: 'JSONEachRow',
    settings: {},
    signal,
  }))
    chunks.push(chunk)
  const lines = Buffer.concat(chunks)
    .toString()
    .split('\n')
    .filter((line) => line.length > 0)
  // The caller wrote the SELECT and names the shape of its rows.
  return lines.map((line) => JSON.parse(line) as Row)
}
