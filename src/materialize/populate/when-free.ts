// A change for which events and imports have to wait a moment, tried until nothing speaks against it that ends by itself.

import { setTimeout as delay } from 'node:timers/promises'
import type { DataSource } from '../../catalog/data-source.types.ts'
import { ApiError } from '../../shared/errors/errors.ts'
import { isStopped } from '../../store/store-error.ts'
import type { Holds } from '../materialize.types.ts'

export interface HeldChange {
  readonly holds: Holds
  readonly held: () => Promise<readonly DataSource[]>
  /** Throws where the change is of no use any more. */
  readonly refuseGone: () => void
  /** Ends of the engine in its middle that it outlives. */
  readonly restartsMax: number
  readonly signal: AbortSignal
  /** Whether it only looks; absent for not. */
  readonly isLook?: boolean
  /** Whether it leaves all rows where they are; absent is false. */
  readonly keepsRows?: boolean
}

/** When tables are looked at again that are being replaced, or imported into: at first, and later. */
const firstLookMs = 500
const longestLookMs = 60_000

/** Each try costs those a moment who send rows, so there are few. @throws what `change` does, and the reason of the signal. */
export async function whenFree(
  { holds, held, refuseGone, restartsMax, signal, isLook = false, keepsRows = false }: HeldChange,
  change: () => Promise<void>,
): Promise<void> {
  let restarts = 0
  for (let waitMs = firstLookMs; ; waitMs = Math.min(2 * waitMs, longestLookMs)) {
    signal.throwIfAborted()
    refuseGone()
    try {
      if (isLook) await holds.withStill(await held(), change)
      else await holds.withHold(await held(), change, keepsRows)
      return
    } catch (thrown) {
      if (isStopped(thrown)) restarts += 1
      if (!isPassing(thrown) && (!isStopped(thrown) || restarts > restartsMax)) throw thrown
    }
    await pause(waitMs, signal)
  }
}

/** Whether something else is under way that ends. */
function isPassing(thrown: unknown): boolean {
  return thrown instanceof ApiError && ['CHANGE_BLOCKED', 'CHANGES_TOO_MANY', 'DATASOURCE_BUSY'].includes(thrown.code)
}

async function pause(timeMs: number, signal: AbortSignal): Promise<void> {
  try {
    await delay(timeMs, undefined, { signal })
  } catch (thrown) {
    // The delay has an error of its own for it.
    throw signal.aborted ? signal.reason : thrown
  }
}
