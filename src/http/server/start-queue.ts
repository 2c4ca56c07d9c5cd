import type { Socket } from 'node:net'
import { TurnTime } from './turn-time.ts'

export interface WaitingRequest {
  readonly address: string
  readonly socket: Socket
  /** Whether one before it on its connection has no answer. */
  readonly isAhead: boolean
  readonly start: () => void
}

/** Requests of one address that wait. */
interface Line {
  /** By connection in the order of their coming; the connection whose turn is next stands first. */
  readonly requests: Map<Socket, WaitingRequest[]>
  /** How many of them were not sent ahead. */
  firstCount: number
}

/** Requests that are begun before connections, and what is under way, have their turn, if they take no longer than this. */
const startsAtOnce = 64
const startsMsMax = 10

/**
 * Begins requests that wait, a few in a turn of the event loop: one of each address after the other, and of an address one of each
 * connection, so that nobody's are begun late because another one has many.
 */
export class StartQueue {
  /** The address whose turn is next stands first, and one without requests is not there. */
  readonly #lines = new Map<string, Line>()
  readonly #turn: TurnTime
  #waitingCount = 0
  #scheduledCount = 0

  /** @param now milliseconds of a clock that only goes on. */
  constructor(now: () => number) {
    this.#turn = new TurnTime(now)
  }

  /** Whether requests of an address wait that were not sent ahead: others of it would overtake them. */
  hasFirst(address: string): boolean {
    return this.#waitingCount > 0 && (this.#lines.get(address)?.firstCount ?? 0) > 0
  }

  add(request: WaitingRequest): void {
    const { address, socket, isAhead } = request
    const line = this.#lines.get(address) ?? { requests: new Map(), firstCount: 0 }
    this.#lines.set(address, line)
    const before = line.requests.get(socket)
    if (before === undefined) line.requests.set(socket, [request])
    else before.push(request)
    if (!isAhead) line.firstCount += 1
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
    const request = this.#turn.passedMs < startsMsMax ? this.#take() : undefined
    this.#schedule()
    request?.start()
  }

  #take(): WaitingRequest | undefined {
    const [address, line] = takeFirst(this.#lines) ?? []
    if (address === undefined || line === undefined) return undefined
    const [socket, requests] = takeFirst(line.requests) ?? []
    const request = requests?.shift()
    if (socket !== undefined && requests !== undefined && requests.length > 0) line.requests.set(socket, requests)
    if (line.requests.size > 0) this.#lines.set(address, line)
    this.#waitingCount -= 1
    if (request?.isAhead === false) line.firstCount -= 1
    return request
  }
}

/** What is set again stands behind all others. */
function takeFirst<Key, Value>(map: Map<Key, Value>): readonly [Key, Value] | undefined {
  const [first] = map
  if (first !== undefined) map.delete(first[0])
  return first
}
