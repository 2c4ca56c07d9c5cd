import type { Logger } from '../observe/logger.ts'
import type { Settings } from '../storage/settings.ts'
import type { CountsByMinute, KeptWindow } from './kept-window.ts'

export interface WindowKeeperDeps {
  readonly settings: Settings
  readonly logger: Pick<Logger, 'warn'>
  /** Epoch milliseconds. */
  readonly now: () => number
}

/** A kill forgets what was counted since. */
const writeEveryMs = 60_000

/** Keeps the counts of a long window over restarts: written once a minute where they have changed, and at the end. */
export class WindowKeeper {
  readonly #deps: WindowKeeperDeps
  readonly #settingName: string
  readonly #window: KeptWindow
  readonly #timer: NodeJS.Timeout
  #writing: Promise<void> = Promise.resolve()

  constructor(deps: WindowKeeperDeps, name: string, window: KeptWindow) {
    this.#deps = deps
    this.#settingName = `limit_${name}`
    this.#window = window
    const text = deps.settings.read(this.#settingName)
    // Nobody but this class writes it.
    if (text !== undefined) window.restore(JSON.parse(text) as CountsByMinute, deps.now())
    this.#timer = setInterval(() => void this.#write(), writeEveryMs).unref()
  }

  async close(): Promise<void> {
    clearInterval(this.#timer)
    await this.#write()
  }

  /** One after the other. */
  async #write(): Promise<void> {
    const counts = this.#window.takeChanges()
    if (counts !== null) this.#writing = this.#writing.then(() => this.#writeNow(counts))
    await this.#writing
  }

  async #writeNow(counts: CountsByMinute): Promise<void> {
    try {
      await this.#deps.settings.write(this.#settingName, JSON.stringify(counts))
    } catch (err) {
      this.#window.putBack()
      this.#deps.logger.warn(
        { err, limit: this.#settingName },
        'Counts of a limit could not be kept; it is tried again.',
      )
    }
  }
}
