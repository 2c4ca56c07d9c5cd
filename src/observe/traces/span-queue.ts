import { within } from '../../shared/within.ts'
import type { Logger } from '../logger.ts'
import type { RequestSpan, SpanCounts, SpanExporter } from './span.types.ts'

export interface SpanQueueOptions {
  /** Spans that may wait. */
  readonly traceSpansMax: number
  /** How long they wait for others to be sent with; a second when absent. */
  readonly pauseMs?: number
}

interface SpanQueueDeps {
  readonly exporter: SpanExporter
  readonly logger: Logger
}

/** Spans that are sent together. */
const batchMax = 512
const pauseMsDefault = 1_000
/** What a close waits for the last of them. */
const closeTimeMaxMs = 2_000

/**
 * Spans between the requests and who collects them: sent in batches, one at a time, and never waited for. When the queue is full,
 * or they cannot be sent, they are dropped and counted.
 */
export class SpanQueue {
  readonly #options: SpanQueueOptions
  readonly #deps: SpanQueueDeps
  readonly #waiting: RequestSpan[] = []
  #underWayCount = 0
  #sentCount = 0
  #droppedCount = 0
  #isFailing = false
  #timer: NodeJS.Timeout | null = null
  #sending: Promise<void> | null = null

  constructor(options: SpanQueueOptions, deps: SpanQueueDeps) {
    this.#options = options
    this.#deps = deps
  }

  get counts(): SpanCounts {
    const waitingCount = this.#waiting.length + this.#underWayCount
    return { sentCount: this.#sentCount, droppedCount: this.#droppedCount, waitingCount }
  }

  add(span: RequestSpan): void {
    if (this.#waiting.length + this.#underWayCount >= this.#options.traceSpansMax) {
      this.#droppedCount += 1
      return
    }
    this.#waiting.push(span)
    if (this.#waiting.length >= batchMax) this.#send()
    else this.#sendLater()
  }

  /** Sends what waits, for a moment at most. */
  async close(): Promise<void> {
    if (this.#timer !== null) clearTimeout(this.#timer)
    await within(closeTimeMaxMs, this.#sendAll())
    await within(closeTimeMaxMs, this.#deps.exporter.close())
  }

  async #sendAll(): Promise<void> {
    while (this.#waiting.length > 0 || this.#sending !== null) {
      this.#send()
      await this.#sending
    }
  }

  #sendLater(): void {
    if (this.#timer !== null || this.#sending !== null) return
    this.#timer = setTimeout(() => {
      this.#timer = null
      this.#send()
    }, this.#options.pauseMs ?? pauseMsDefault)
    this.#timer.unref()
  }

  #send(): void {
    if (this.#sending !== null || this.#waiting.length === 0) return
    const batch = this.#waiting.splice(0, batchMax)
    this.#underWayCount = batch.length
    this.#sending = this.#sendBatch(batch).finally(() => {
      this.#underWayCount = 0
      this.#sending = null
      if (this.#waiting.length >= batchMax) this.#send()
      else if (this.#waiting.length > 0) this.#sendLater()
    })
  }

  async #sendBatch(batch: readonly RequestSpan[]): Promise<void> {
    const hasArrived = await this.#deps.exporter.send(batch)
    if (hasArrived) this.#sentCount += batch.length
    else this.#droppedCount += batch.length
    if (this.#isFailing !== hasArrived) return
    // A state has one line when it begins, and one when it ends.
    this.#isFailing = !hasArrived
    const fields = { droppedCount: this.#droppedCount }
    if (hasArrived) this.#deps.logger.info(fields, 'Traces are sent again.')
    else this.#deps.logger.warn(fields, 'Traces cannot be sent, and are dropped.')
  }
}
