import { TurnTime } from './turn-time.ts'

/** Begins a request. */
type Start = () => void

/** Requests that are begun before connections, and what is under way, have their turn, if they take no longer than this. */
const startsAtOnce = 16
const startsMsMax = 10

/**
 * Begins requests that wait, a few in a turn of the event loop: one of each address after the other, so that those of one are begun soon
 * however many another one has.
 */
export class StartQueue {
  /** In the order of their coming; the address whose turn is next stands first, and one without requests is not there. */
  readonly #lines = new Map<string, Start[]>()
  readonly #turn: TurnTime
  #waitingCount = 0
  #scheduledCount = 0

  /** @param now milliseconds of a clock that only goes on. */
  constructor(now: () => number) {
    this.#turn = new TurnTime(now)
  }

  /** Whether requests of an address wait: others of it have to wait behind them. */
  has(address: string): boolean {
    return this.#waitingCount > 0 && this.#lines.has(address)
  }

  add(address: string, start: Start): void {
    const line = this.#lines.get(address)
    if (line === undefined) this.#lines.set(address, [start])
    else line.push(start)
    this.#waitingCount += 1
    this.#schedule()
  }

  /** Each of the calls has a turn of its own, so that what a request goes on with is done before the next one begins. */
  #schedule(): void {
    const count = Math.min(startsAtOnce, this.#waitingCount)
    for (; this.#scheduledCount < count; this.#scheduledCount += 1) setImmediate(this.#startNext)
  }

  readonly #startNext = (): void => {
    this.#scheduledCount -= 1
    const start = this.#turn.passedMs < startsMsMax ? this.#take() : undefined
    this.#schedule()
    start?.()
  }

  #take(): Start | undefined {
    const [first] = this.#lines
    if (first === undefined) return undefined
    const [address, line] = first
    const start = line.shift()
    this.#waitingCount -= 1
    this.#lines.delete(address)
    // Behind all others.
    if (line.length > 0) this.#lines.set(address, line)
    return start
  }
}
