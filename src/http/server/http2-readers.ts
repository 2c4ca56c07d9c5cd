import { constants, type ServerHttp2Stream } from 'node:http2'
import { partBytes, writeInParts } from './http2-parts.ts'

export interface StreamReaderRules {
  /** How long a client may take nothing of an answer. */
  readonly idleMsMax: number
  /** A clock in milliseconds that never goes back. */
  readonly clock: () => number
  readonly queueOf: () => Promise<ConnectionQueue>
}

/** What a connection has sent. */
export interface ConnectionQueue {
  /** Bytes that were handed over to be sent. */
  readonly handedBytes: number
  /** Bytes that the system still has to send; null where it does not say. */
  readonly unsentBytes: number | null
}

/** Looks within the time that a client may take nothing. */
const looksMin = 4

interface Reading {
  /** Parts that are out. */
  partCount: number
  mark: string
  /** Since when all is as it is; null while nothing waits. */
  sinceMs: number | null
}

interface Look {
  readonly nowMs: number
  readonly isDraining: boolean
}

/**
 * Closes the streams of a session whose client takes nothing of their answers: each has a window of its own, so that others may go on beside
 * it. Node's own timer of a stream begins anew with whatever its session sends, answers to pings among it.
 */
export class StreamReaders {
  readonly #rules: StreamReaderRules
  readonly #readings = new Map<ServerHttp2Stream, Reading>()
  readonly #timer: NodeJS.Timeout
  #isLooking = false
  #queue: ConnectionQueue = { handedBytes: 0, unsentBytes: null }

  constructor(rules: StreamReaderRules) {
    this.#rules = rules
    this.#timer = setInterval(() => void this.#look(), rules.idleMsMax / looksMin).unref()
  }

  add(stream: ServerHttp2Stream): void {
    const reading: Reading = { partCount: 0, mark: '', sinceMs: null }
    this.#readings.set(stream, reading)
    writeInParts(stream, () => {
      reading.partCount += 1
    })
    stream.once('close', () => this.#readings.delete(stream))
  }

  close(): void {
    clearInterval(this.#timer)
  }

  async #look(): Promise<void> {
    const isWaiting = [...this.#readings.keys()].some(({ writableLength }) => writableLength > 0)
    // One look at a time: two of the same moment say nothing.
    if (this.#isLooking || !isWaiting) return
    this.#isLooking = true
    const isDraining = await this.#isDraining().finally(() => {
      this.#isLooking = false
    })
    const nowMs = this.#rules.clock()
    for (const [stream, reading] of this.#readings) {
      if (this.#isStalled(stream, reading, { nowMs, isDraining })) stream.close(constants.NGHTTP2_CANCEL)
    }
  }

  /**
   * Whether the client takes what the system still has of the session, while nothing is added to it: no stream can move then. With as much
   * added as a part or more, a stream that does not move is held back by its own window.
   */
  async #isDraining(): Promise<boolean> {
    const last = this.#queue
    this.#queue = await this.#rules.queueOf()
    const { handedBytes, unsentBytes } = this.#queue
    if (unsentBytes === null || unsentBytes < partBytes) return false
    return unsentBytes !== last.unsentBytes && handedBytes - last.handedBytes < partBytes
  }

  #isStalled({ writableLength }: ServerHttp2Stream, reading: Reading, { nowMs, isDraining }: Look): boolean {
    const mark = `${reading.partCount} ${writableLength}`
    if (writableLength === 0) reading.sinceMs = null
    else if (reading.sinceMs === null || reading.mark !== mark || isDraining) reading.sinceMs = nowMs
    reading.mark = mark
    return reading.sinceMs !== null && nowMs - reading.sinceMs >= this.#rules.idleMsMax
  }
}
