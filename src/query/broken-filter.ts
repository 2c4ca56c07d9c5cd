import type { CompiledQuery } from '../sql/compile-query.ts'
import { shapeOf } from '../sql/query-shape.ts'
import { StoreError } from '../store/store-error.ts'
import type { Asking } from './describe-query.ts'

/**
 * The filter of a failed query that does not fit any more what it filters, as it was given to the token; null when the
 * fault is not theirs. The engine is asked over no rows.
 */
export async function brokenFilter({ filters, settings }: CompiledQuery, asking: Asking): Promise<string | null> {
  for (const { filter, probe } of filters) {
    const fault = await faultOf({ sql: probe(), settings }, asking)
    // What else it raises is no news: the query itself has failed.
    if (fault?.kind === 'engine') return filter
  }
  return null
}

type Probe = Pick<CompiledQuery, 'sql' | 'settings'>

/** What the engine says of a query whose rows are nobody's; null for nothing. */
export async function faultOf({ sql, settings }: Probe, { store, signal }: Asking): Promise<StoreError | null> {
  try {
    for await (const _ of await store.select({ sql, shape: shapeOf(sql), format: 'Null', settings, signal }));
    return null
  } catch (thrown) {
    if (thrown instanceof StoreError) return thrown
    throw thrown
  }
}
