import type { DataSource } from '../catalog/data-source.types.ts'
import type { Ingest } from '../ingest/ingest.types.ts'
import { toChangeError } from '../store/caller-errors.ts'

/** Makes a change while events wait; what the engine fails with is told as a fault of its own. */
export async function changeBehindBarrier<Result>(
  ingest: Pick<Ingest, 'withBarrier'>,
  dataSource: DataSource,
  change: () => Promise<Result>,
): Promise<Result> {
  try {
    return await ingest.withBarrier({ dataSource, isFinal: false }, change)
  } catch (error) {
    throw toChangeError(error)
  }
}

/** The same for a change beside which no import may run. */
export async function changeWhileHeld(
  ingest: Pick<Ingest, 'withHold'>,
  dataSource: DataSource,
  change: () => Promise<void>,
): Promise<void> {
  try {
    await ingest.withHold([dataSource], change)
  } catch (error) {
    throw toChangeError(error)
  }
}
