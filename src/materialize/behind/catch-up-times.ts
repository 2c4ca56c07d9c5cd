/** When views that are behind are tried again: at first soon, then after twice the time each. */
const pauseMs = { first: 1_000, longest: 300_000 }

interface Waiting {
  readonly timer: NodeJS.Timeout | null
  readonly dueMs: number
  readonly pauseMs: number
}

export class CatchUpTimes {
  readonly #onTime: (viewId: string) => void
  readonly #waiting = new Map<string, Waiting>()
  #isClosed = false

  constructor(onTime: (viewId: string) => void) {
    this.#onTime = onTime
  }

  /** It failed, or is to be tried for the first time. */
  retry(viewId: string): void {
    if (this.#isClosed) return
    const known = this.#waiting.get(viewId)
    if (known?.timer) return
    const waitMs = known === undefined ? pauseMs.first : Math.min(known.pauseMs * 2, pauseMs.longest)
    const timer = setTimeout(() => this.#onTime(viewId), waitMs)
    timer.unref()
    this.#waiting.set(viewId, { timer, dueMs: performance.now() + waitMs, pauseMs: waitMs })
  }

  /** It is being tried. */
  begin(viewId: string): void {
    const known = this.#waiting.get(viewId)
    if (known === undefined) return
    if (known.timer !== null) clearTimeout(known.timer)
    this.#waiting.set(viewId, { ...known, timer: null })
  }

  /** When it is tried, in epoch milliseconds; null while it is. */
  retryAtMs(viewId: string, nowMs: number): number | null {
    const known = this.#waiting.get(viewId)
    return known?.timer ? Math.round(nowMs + known.dueMs - performance.now()) : null
  }

  /** It works. */
  forget(viewId: string): void {
    this.begin(viewId)
    this.#waiting.delete(viewId)
  }

  close(): void {
    this.#isClosed = true
    for (const viewId of [...this.#waiting.keys()]) this.forget(viewId)
  }
}
