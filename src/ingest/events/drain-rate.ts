/** What an insert took on: its bytes in the log, and in memory, where they are unpacked. */
export interface DrainedBytes {
  readonly loggedBytes: number
  readonly heldBytes: number
}

/** The measure follows a change of the rate within some seconds of inserting. */
const memoryMs = 10_000

/**
 * How fast events are stored: bytes per second of the time in which anything was being inserted, as a moving average. Time
 * without work says nothing about the rate, and does not count; inserts that fail take time and store nothing.
 */
export class DrainRate {
  readonly #clock: () => number
  #running = 0
  #measuredAt = 0
  #busyMs = 0
  #loggedBytes = 0
  #heldBytes = 0

  /** `clock`: milliseconds that never go back. */
  constructor(clock: () => number) {
    this.#clock = clock
  }

  begin(): void {
    this.#advance()
    this.#running += 1
  }

  /** What a begun insert has stored; null when it failed. */
  end(stored: DrainedBytes | null): void {
    this.#advance()
    this.#running -= 1
    this.#loggedBytes += stored?.loggedBytes ?? 0
    this.#heldBytes += stored?.heldBytes ?? 0
  }

  /** Seconds until so many bytes will be stored; null while nothing has been. */
  secondsFor(bytes: Partial<DrainedBytes>): number | null {
    this.#advance()
    if (this.#loggedBytes === 0 || this.#heldBytes === 0) return null
    const shareOfMemory = Math.max(
      (bytes.loggedBytes ?? 0) / this.#loggedBytes,
      (bytes.heldBytes ?? 0) / this.#heldBytes,
    )
    return (shareOfMemory * this.#busyMs) / 1000
  }

  #advance(): void {
    const nowMs = this.#clock()
    const elapsedMs = this.#running > 0 ? nowMs - this.#measuredAt : 0
    this.#measuredAt = nowMs
    const share = Math.exp(-elapsedMs / memoryMs)
    this.#loggedBytes *= share
    this.#heldBytes *= share
    this.#busyMs = this.#busyMs * share + elapsedMs
  }
}
