/** Whose bytes can be left where they are for a while. */
export interface Brakable {
  /** Stops the reading until it is let go as often. */
  brake(): void
  letGo(): void
}

interface ByteTurnOptions {
  /** Bytes that one address may bring in a turn. */
  readonly bytesMax: number
  /** Begins the next turn: calls it once. */
  readonly schedule: (begin: () => void) => void
}

interface Turn {
  byteCount: number
  readonly braked: Set<Brakable>
}

/** What one read of a connection brings at most. */
const readBytesMax = 64 * 1024

/**
 * Bounds the bytes that one address brings in a turn, however many connections it has: whoever brings more is braked, and let go
 * in later turns, those that wait longest first. A turn can be made a short one, in which an address has one read.
 */
export class ByteTurns {
  readonly #options: ByteTurnOptions
  /** By address, those that have brought something in this turn or wait for the next; at most as many as connections. */
  readonly #turns = new Map<string, Turn>()
  #isScheduled = false
  #isShort = false
  #isNextShort = false

  constructor(options: ByteTurnOptions) {
    this.#options = options
  }

  /** Counts bytes that came, none for who is about to bring some, and brakes who brought them when its address has had enough. */
  take(address: string, byteCount: number, reader: Brakable): void {
    const turn = this.#turns.get(address) ?? { byteCount: 0, braked: new Set() }
    this.#turns.set(address, turn)
    turn.byteCount += byteCount
    this.#schedule()
    if (turn.byteCount < this.#bytesMax || turn.braked.has(reader)) return
    turn.braked.add(reader)
    reader.brake()
  }

  /** Makes this turn and the next one short. */
  hurry(): void {
    this.#isShort = true
    this.#isNextShort = true
    this.#schedule()
  }

  get #bytesMax(): number {
    return this.#isShort ? Math.min(readBytesMax, this.#options.bytesMax) : this.#options.bytesMax
  }

  #schedule(): void {
    if (this.#isScheduled) return
    this.#isScheduled = true
    this.#options.schedule(this.#begin)
  }

  readonly #begin = (): void => {
    this.#isScheduled = false
    this.#isShort = this.#isNextShort
    this.#isNextShort = false
    for (const [address, turn] of this.#turns) {
      if (turn.braked.size === 0) this.#turns.delete(address)
      else this.#letGo(turn)
    }
    if (this.#turns.size > 0 || this.#isShort) this.#schedule()
  }

  /** As many as the next turn has room for. */
  #letGo(turn: Turn): void {
    turn.byteCount = 0
    let readsLeft = Math.ceil(this.#bytesMax / readBytesMax)
    for (const reader of turn.braked) {
      if (readsLeft === 0) break
      readsLeft -= 1
      turn.braked.delete(reader)
      reader.letGo()
    }
  }
}
