import { setTimeout as delay } from 'node:timers/promises'
import type { StoredEvents } from './events-case.types.ts'
import { monotonicMs } from './monotonic-clock.ts'

const pollIntervalMs = 20
const timeMaxMs = 120_000

/**
 * Asks until as many rows are stored as were acknowledged; resolves to the milliseconds that took, to within a poll.
 * @throws Error when there are more, when they are others, or when some do not come within two minutes.
 */
export async function untilAllStored(
  stored: () => Promise<StoredEvents | null>,
  acknowledged: StoredEvents,
): Promise<number> {
  const startedAtMs = monotonicMs()
  for (;;) {
    const found = await stored()
    const elapsedMs = monotonicMs() - startedAtMs
    if (found === null) return 0
    if (found.rowCount === acknowledged.rowCount && found.total === acknowledged.total) return elapsedMs
    if (found.rowCount >= acknowledged.rowCount || elapsedMs > timeMaxMs) throw wrong(found, acknowledged)
    await delay(pollIntervalMs)
  }
}

function wrong(found: StoredEvents, acknowledged: StoredEvents): Error {
  return new Error(
    `${found.rowCount} rows with the sum ${found.total} are stored, ${acknowledged.rowCount} with ${acknowledged.total} were acknowledged`,
  )
}
