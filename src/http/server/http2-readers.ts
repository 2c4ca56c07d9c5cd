import { constants, type ServerHttp2Stream } from 'node:http2'

export interface StreamReaderRules {
  /** How long a client may take nothing of an answer. */
  readonly idleMsMax: number
  /** A clock in milliseconds that never goes back. */
  readonly clock: () => number
}

/** Looks within the time that a client may take nothing. */
const looksMin = 4
/** Of an answer that has been handed over as a whole, only its end is seen: so it may take so much longer. */
const bytesPerMsMin = 1

interface Reading {
  /** How often the client has taken all that waited. */
  drainCount: number
  mark: string
  /** Since when all is as it is; null while nothing waits. */
  sinceMs: number | null
}

/**
 * Closes the streams of a session whose client takes nothing of their answers: each has a window of its own, so that others may go on beside
 * it. Node's own timer of a stream begins anew with whatever its session sends, answers to pings among it.
 */
export class StreamReaders {
  readonly #rules: StreamReaderRules
  readonly #readings = new Map<ServerHttp2Stream, Reading>()
  readonly #timer: NodeJS.Timeout

  constructor(rules: StreamReaderRules) {
    this.#rules = rules
    this.#timer = setInterval(() => this.#look(), rules.idleMsMax / looksMin).unref()
  }

  add(stream: ServerHttp2Stream): void {
    const reading: Reading = { drainCount: 0, mark: '', sinceMs: null }
    this.#readings.set(stream, reading)
    stream.on('drain', () => {
      reading.drainCount += 1
    })
    stream.once('close', () => this.#readings.delete(stream))
  }

  close(): void {
    clearInterval(this.#timer)
  }

  #look(): void {
    const nowMs = this.#rules.clock()
    for (const [stream, reading] of this.#readings) {
      if (this.#isStalled(stream, reading, nowMs)) stream.close(constants.NGHTTP2_CANCEL)
    }
  }

  #isStalled({ writableLength, writableEnded }: ServerHttp2Stream, reading: Reading, nowMs: number): boolean {
    const mark = `${reading.drainCount} ${writableLength}`
    if (writableLength === 0) reading.sinceMs = null
    else if (reading.sinceMs === null || reading.mark !== mark) reading.sinceMs = nowMs
    reading.mark = mark
    const wholeMs = writableEnded ? writableLength / bytesPerMsMin : 0
    return reading.sinceMs !== null && nowMs - reading.sinceMs >= this.#rules.idleMsMax + wholeMs
  }
}
