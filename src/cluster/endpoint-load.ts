/** What there is too little of. */
export type Pressure = 'memory' | 'processor'

/** What became of an endpoint's requests in one window. */
export interface EndpointWindow {
  /** The most requests that were under way at once. */
  readonly peak: number
  /** Answers with 408 and 500. */
  readonly errorCount: number
  readonly successCount: number
  readonly refusedCount: number
  /** Time that its queries ran in the engine, that of each thread by itself. */
  readonly workMs: number
}

export interface EndpointLimit {
  readonly reason: Pressure
  readonly concurrencyMax: number
  /** Threads that worked for the endpoint, on the average of the window before it was limited. */
  readonly freeThreads: number
  /** The window that it follows from. */
  readonly window: EndpointWindow
}

/** Counts the requests of one endpoint. All of it is a matter of numbers, as each request passes here twice. */
export class EndpointLoad {
  readonly pipeId: string
  /** The name under which it was asked for last. */
  name: string
  limit: EndpointLimit | null = null
  readonly #now: () => number
  #concurrency = 0
  #peak = 0
  #refusedCount = 0
  #refusedBefore = 0
  #errorCount = 0
  #successCount = 0
  #threadCount = 0
  #threadsSinceMs: number
  #workMs = 0

  /** @param now milliseconds of a clock that is never set back. */
  constructor(pipe: { readonly id: string; readonly name: string }, now: () => number) {
    this.pipeId = pipe.id
    this.name = pipe.name
    this.#now = now
    this.#threadsSinceMs = now()
  }

  get concurrency(): number {
    return this.#concurrency
  }

  /** What is left of an endpoint that is limited leaves the processors to others. */
  get yields(): boolean {
    return this.limit !== null
  }

  /** Requests refused since it is limited. */
  get refusedCount(): number {
    return this.#refusedBefore + this.#refusedCount
  }

  refuse(): void {
    this.#refusedCount += 1
  }

  enter(): void {
    this.#concurrency += 1
    if (this.#concurrency > this.#peak) this.#peak = this.#concurrency
  }

  /** @param status of the answer; null where its client did not wait for it, which tells nothing of the endpoint. */
  leave(status: number | null): void {
    this.#concurrency -= 1
    if (status === null) return
    if (status === 408 || status === 500) this.#errorCount += 1
    else if (status < 300) this.#successCount += 1
  }

  /** The engine begins a query of the endpoint. */
  begin(threadCount: number): void {
    this.#countWork()
    this.#threadCount += threadCount
  }

  /** It has ended it. */
  end(threadCount: number): void {
    this.#countWork()
    this.#threadCount -= threadCount
  }

  /** Ends a window, and begins the next with what is under way. */
  turn(): EndpointWindow {
    this.#countWork()
    const window = {
      peak: this.#peak,
      errorCount: this.#errorCount,
      successCount: this.#successCount,
      refusedCount: this.#refusedCount,
      workMs: this.#workMs,
    }
    this.#refusedBefore = this.limit === null ? 0 : this.refusedCount
    this.#refusedCount = 0
    this.#peak = this.#concurrency
    this.#errorCount = 0
    this.#successCount = 0
    this.#workMs = 0
    return window
  }

  #countWork(): void {
    const nowMs = this.#now()
    this.#workMs += this.#threadCount * (nowMs - this.#threadsSinceMs)
    this.#threadsSinceMs = nowMs
  }
}
