/**
 * Restarts of the engine for statements that cannot be stopped: each frees their sessions, and costs all others what they
 * run. So they are seldom. The interval is counted from the last such restart of this process: a service that has just
 * started has an engine that has just started, and nobody else's restarts to be spared.
 */

/** Why a restart is asked for. */
export interface Stuck {
  /** For the log. */
  readonly reason: string
  /** Whether there is a need still, when the interval is over. */
  readonly areStuck: () => boolean
}

interface StuckRestartsOptions {
  /** Between two restarts. */
  readonly intervalMs: number
  readonly nowMs: () => number
  /** Ends the engine, and has it started again. */
  readonly restart: (reason: string) => void
}

export class StuckRestarts {
  readonly #options: StuckRestartsOptions
  readonly #timers = new Map<string, NodeJS.Timeout>()
  #lastMs = Number.NEGATIVE_INFINITY

  constructor(options: StuckRestartsOptions) {
    this.#options = options
  }

  /** Restarts at once, or as soon as it may, when there is a need still: nobody may ask again meanwhile. True when at once. */
  ask(stuck: Stuck): boolean {
    const { intervalMs, nowMs, restart } = this.#options
    const waitMs = this.#lastMs + intervalMs - nowMs()
    if (waitMs <= 0) {
      this.#lastMs = nowMs()
      restart(stuck.reason)
      return true
    }
    if (this.#timers.has(stuck.reason)) return false
    const askAgain = (): void => {
      this.#timers.delete(stuck.reason)
      if (stuck.areStuck()) this.ask(stuck)
    }
    this.#timers.set(stuck.reason, setTimeout(askAgain, Math.ceil(waitMs)).unref())
    return false
  }

  /** Asks no more by itself. */
  close(): void {
    for (const timer of this.#timers.values()) clearTimeout(timer)
    this.#timers.clear()
  }
}
