// What a delete asks of the engine goes on over the ends of the engine: it is started again meanwhile.

import { setTimeout as delay } from 'node:timers/promises'
import { ApiError } from '../../shared/errors/errors.ts'
import { isStopped } from '../../store/store-error.ts'

/** Ends in a row that are outlived: an engine that ends more often is given up, and the service with it. */
const engineEndsMax = 20
const firstPauseMs = 10
const longestPauseMs = 1_000

/** Whether the engine has ended meanwhile, and may have done what was asked of it or not. */
function isOfRestart(thrown: unknown): boolean {
  return isStopped(thrown) || (thrown instanceof ApiError && thrown.code === 'ENGINE_RESTARTED')
}

/** Asks again as long as the engine ends before it answers. Precondition: what is asked may be asked twice. */
export async function outlivingEngine<Result>(
  ask: () => Promise<Result>,
  { signal, endsMax = engineEndsMax }: { readonly signal: AbortSignal; readonly endsMax?: number },
): Promise<Result> {
  for (let ends = 1; ; ends += 1) {
    try {
      return await ask()
    } catch (thrown) {
      if (!isOfRestart(thrown) || ends === endsMax) throw thrown
    }
    await pause(Math.min(firstPauseMs * 2 ** (ends - 1), longestPauseMs), signal)
  }
}

/** @throws the reason of the signal. */
export async function pause(timeMs: number, signal: AbortSignal): Promise<void> {
  try {
    await delay(timeMs, undefined, { signal })
  } catch (thrown) {
    // The delay has an error of its own for it.
    throw signal.aborted ? signal.reason : thrown
  }
}
