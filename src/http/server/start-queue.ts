import { TurnTime } from './turn-time.ts'

export interface WaitingRequest {
  readonly address: string
  /** Those of one are begun in the order of their coming. */
  readonly connection: object
  /** Whether one before it on its connection has no answer. */
  readonly isAhead: boolean
  readonly start: () => void
}

/** Connections that take turns in having a request begun. */
interface Turns {
  readonly lines: Lines
  /** Requests that are begun before connections, and what is under way, have their turn. */
  readonly atOnce: number
  scheduledCount: number
}

/** What those may take that are begun in one turn of the event loop, by their beginning. */
const startsMsMax = 10
/** A connection has one that was not sent ahead, and Node would begin all of them in one turn. */
const firstsAtOnce = 64
const aheadAtOnce = 4

/**
 * Begins requests that wait, a few in a turn of the event loop: one of each address after the other, and of an address one of each
 * connection, so that nobody's are begun late because another one has many.
 */
export class StartQueue {
  /** What waits of each connection, in the order of its coming. */
  readonly #requests = new Map<object, WaitingRequest[]>()
  readonly #firsts: Turns = { lines: new Lines(), atOnce: firstsAtOnce, scheduledCount: 0 }
  readonly #ahead: Turns = { lines: new Lines(), atOnce: aheadAtOnce, scheduledCount: 0 }
  readonly #time: TurnTime

  /** @param now milliseconds of a clock that only goes on. */
  constructor(now: () => number) {
    this.#time = new TurnTime(now)
  }

  /** Whether requests of an address wait that were not sent ahead: others of it would overtake them. */
  hasFirst(address: string): boolean {
    return this.#firsts.lines.has(address)
  }

  add(request: WaitingRequest): void {
    const before = this.#requests.get(request.connection)
    if (before !== undefined) {
      before.push(request)
      return
    }
    this.#requests.set(request.connection, [request])
    this.#line(request)
  }

  /** Has the connection of its next request wait for its turn. */
  #line({ address, connection, isAhead }: WaitingRequest): void {
    const turns = isAhead ? this.#ahead : this.#firsts
    turns.lines.add(address, connection)
    this.#schedule(turns)
  }

  /** Each of the calls has a turn of its own, so that what a request goes on with is done before the next one begins. */
  #schedule(turns: Turns): void {
    const count = Math.min(turns.atOnce, turns.lines.size)
    for (; turns.scheduledCount < count; turns.scheduledCount += 1) setImmediate(this.#startNext, turns)
  }

  readonly #startNext = (turns: Turns): void => {
    turns.scheduledCount -= 1
    const request = this.#time.passedMs < startsMsMax ? this.#take(turns) : undefined
    this.#schedule(turns)
    request?.start()
  }

  #take({ lines }: Turns): WaitingRequest | undefined {
    const connection = lines.take()
    const requests = connection === undefined ? undefined : this.#requests.get(connection)
    const request = requests?.shift()
    if (request === undefined) return undefined
    const next = requests?.at(0)
    if (next === undefined) this.#requests.delete(request.connection)
    else this.#line(next)
    return request
  }
}

/** Connections of several addresses: the address whose turn is next stands first, and of it the connection whose turn is next. */
class Lines {
  readonly #byAddress = new Map<string, Set<object>>()
  #size = 0

  /** How many connections wait. */
  get size(): number {
    return this.#size
  }

  has(address: string): boolean {
    return this.#byAddress.has(address)
  }

  add(address: string, connection: object): void {
    const connections = this.#byAddress.get(address)
    if (connections === undefined) this.#byAddress.set(address, new Set([connection]))
    else connections.add(connection)
    this.#size += 1
  }

  take(): object | undefined {
    const [first] = this.#byAddress
    if (first === undefined) return undefined
    const [address, connections] = first
    const [connection] = connections
    this.#byAddress.delete(address)
    if (connection === undefined) return undefined
    connections.delete(connection)
    this.#size -= 1
    // Behind all others.
    if (connections.size > 0) this.#byAddress.set(address, connections)
    return connection
  }
}
