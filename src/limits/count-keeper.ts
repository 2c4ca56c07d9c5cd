import type { Logger } from '../observe/logger.ts'
import { limitSettingsPrefix } from '../storage/disposable-records.ts'
import type { Settings } from '../storage/settings.ts'

export interface CountKeeperDeps {
  readonly settings: Settings
  readonly logger: Pick<Logger, 'warn'>
  /** Epoch milliseconds. */
  readonly now: () => number
}

/** Counts that can be written down; plain JSON. */
export interface KeptCounts<Counts> {
  /** What is to be written down; null where nothing has changed since it was asked last. */
  takeChanges(): Counts | null
  /** What was taken could not be written. */
  putBack(): void
  /** Takes up what an earlier process wrote down. */
  restore(counts: Counts, nowMs: number): void
}

/** A kill forgets what was counted since. */
const writeEveryMs = 60_000

/** Keeps counts over restarts: written once a minute where they have changed, and at the end. */
export class CountKeeper<Counts> {
  readonly #deps: CountKeeperDeps
  readonly #settingName: string
  readonly #kept: KeptCounts<Counts>
  readonly #timer: NodeJS.Timeout
  #writing: Promise<void> = Promise.resolve()

  constructor(deps: CountKeeperDeps, name: string, kept: KeptCounts<Counts>) {
    this.#deps = deps
    this.#settingName = limitSettingsPrefix + name
    this.#kept = kept
    const text = deps.settings.read(this.#settingName)
    // Nobody but this class writes it.
    if (text !== undefined) kept.restore(JSON.parse(text) as Counts, deps.now())
    this.#timer = setInterval(() => void this.#write(), writeEveryMs).unref()
  }

  async close(): Promise<void> {
    clearInterval(this.#timer)
    await this.#write()
  }

  /** One after the other. */
  async #write(): Promise<void> {
    const counts = this.#kept.takeChanges()
    if (counts !== null) this.#writing = this.#writing.then(() => this.#writeNow(counts))
    await this.#writing
  }

  async #writeNow(counts: Counts): Promise<void> {
    try {
      await this.#deps.settings.write(this.#settingName, JSON.stringify(counts))
    } catch (err) {
      this.#kept.putBack()
      this.#deps.logger.warn(
        { err, limit: this.#settingName },
        'Counts of a limit could not be kept; it is tried again.',
      )
    }
  }
}
