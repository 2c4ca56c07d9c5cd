// What columns a query gives, by the engine, which runs nothing of it.

import type { CompiledQuery } from '../sql/compile-query.ts'
import { wrapQuery } from '../sql/own-query.ts'
import { shapeOf } from '../sql/query-shape.ts'
import type { Store } from '../store/store.types.ts'
import { StoreError } from '../store/store-error.ts'

export interface ResultColumn {
  readonly name: string
  /** As the engine writes it, e.g. `Nullable(UInt32)`. */
  readonly type: string
}

// The engine runs the scalar subqueries of a subquery in brackets, for as long as they take, and those of a view not at all:
// it puts some value of their type in their place. Where that value is wrong, as a unit of time, the first way must tell.
export const describings = ['DESCRIBE TABLE view(', 'DESCRIBE TABLE ('] as const

export interface Asking {
  readonly store: Pick<Store, 'select'>
  readonly signal: AbortSignal
}

type Described = Pick<CompiledQuery, 'sql' | 'settings'>

/** The columns of a query to which the engine agrees. Raises `StoreError`. */
export async function describedColumns(plan: Described, asking: Asking): Promise<readonly ResultColumn[]> {
  const [inView, inBrackets] = describings
  try {
    return await columnsBy(inView, plan, asking)
  } catch (thrown) {
    if (!(thrown instanceof StoreError) || thrown.kind !== 'engine') throw thrown
    return await columnsBy(inBrackets, plan, asking)
  }
}

/** @param describing one of `describings`. */
export async function columnsBy(
  describing: string,
  plan: Described,
  { store, signal }: Asking,
): Promise<readonly ResultColumn[]> {
  const query = {
    sql: wrapQuery(plan.sql, { before: describing, after: ')' }),
    // One whose result is small, but what it describes may be what the engine ends by.
    shape: `${describing}${shapeOf(plan.sql)}`,
    format: 'JSONEachRow',
    settings: { ...plan.settings, describe_compact_output: 1 },
    signal,
  }
  const chunks: Uint8Array[] = []
  for await (const chunk of await store.select(query)) chunks.push(chunk)
  const lines = Buffer.concat(chunks).toString().split('\n')
  // DESCRIBE gives these columns.
  return lines.filter((line) => line !== '').map((line) => JSON.parse(line) as ResultColumn)
}
