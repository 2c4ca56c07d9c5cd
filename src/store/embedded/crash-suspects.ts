/**
 * Which statements may be what the engine ends by.
 *
 * An end tells nobody whose fault it was: whatever ran is suspected. What was running at two ends is run alone the next
 * time, and when the engine ends by that as well, it is refused from then on; when not, it is cleared. So one statement
 * costs three restarts at most, and what only happened to run beside it costs nothing.
 */
import { BoundedCache } from '../../shared/bounded-cache.ts'
import { mebibyte } from '../../shared/bytes.ts'
import type { EngineSession } from './engine-session.types.ts'

/** Ends after which a statement is run alone. */
const endsAloneMin = 2
/** Times that a statement could not be stopped after which it is refused. */
const lossesMax = 2
/** How long a statement is refused that could not be stopped. */
const refusedMs = 600_000
const statementsMax = 10_000
const charactersMax = 16 * mebibyte

export type Verdict = 'free' | 'alone' | 'ended-engine' | 'unstoppable'

interface Suspicion {
  readonly endCount: number
  readonly lossCount: number
  readonly lastLossMs: number
  readonly isGuilty: boolean
}

interface Running {
  readonly name: string
  readonly isAlone: boolean
}

const none: Suspicion = { endCount: 0, lossCount: 0, lastLossMs: 0, isGuilty: false }

/** Statements go by a name: that of a block, or the shape of a query. */
export class CrashSuspects {
  readonly #known = new BoundedCache<Suspicion>({ entriesMax: statementsMax, weightMax: charactersMax })
  readonly #running = new Map<EngineSession, Running>()
  readonly #nowMs: () => number

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs
  }

  judge(name: string): Verdict {
    const { endCount, lossCount, lastLossMs, isGuilty } = this.#known.get(name) ?? none
    if (isGuilty) return 'ended-engine'
    if (lossCount >= lossesMax && this.#nowMs() - lastLossMs < refusedMs) return 'unstoppable'
    return endCount >= endsAloneMin ? 'alone' : 'free'
  }

  /** Notes what a session runs while it does. */
  async during<Result>(session: EngineSession, running: Running, work: () => Promise<Result>): Promise<Result> {
    this.#running.set(session, running)
    try {
      return await work()
    } finally {
      this.#running.delete(session)
      // By which the engine did not end; if it did, that is noted by now.
      if (running.isAlone) this.#note(running.name, { endCount: 0 })
    }
  }

  /** What a session runs. */
  nameOf(session: EngineSession): string | undefined {
    return this.#running.get(session)?.name
  }

  /** The engine has ended. To be told before those who wait for statements are. */
  onEnd(): void {
    const running = [...this.#running.values()]
    const alone = running.find(({ isAlone }) => isAlone)
    if (alone !== undefined) {
      this.#note(alone.name, { isGuilty: true })
      return
    }
    for (const name of new Set(running.map((it) => it.name))) {
      this.#note(name, { endCount: (this.#known.get(name) ?? none).endCount + 1 })
    }
  }

  /** A statement of this name did not end when it should have. */
  onLost(name: string): void {
    const { lossCount } = this.#known.get(name) ?? none
    this.#note(name, { lossCount: lossCount + 1, lastLossMs: this.#nowMs() })
  }

  #note(name: string, change: Partial<Suspicion>): void {
    this.#known.set(name, { ...(this.#known.get(name) ?? none), ...change }, name.length)
  }
}
