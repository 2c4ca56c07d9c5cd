import { setTimeout as delay } from 'node:timers/promises'

/** Whether `promise` resolves within the time. */
export async function within(timeMaxMs: number, promise: Promise<unknown>): Promise<boolean> {
  const timer = new AbortController()
  // Aborting the timer rejects it, and that is no failure.
  const late = delay(timeMaxMs, false, { signal: timer.signal }).catch(() => false)
  const isInTime = await Promise.race([promise.then(() => true), late])
  timer.abort()
  return isInTime
}
