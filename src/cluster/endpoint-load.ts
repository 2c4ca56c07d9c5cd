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
  /** Threads that worked for the endpoint, on the average of the window before it was limited, and its peak in that. */
  readonly freeThreads: number
  readonly freePeak: number
  /** The window that it follows from. */
  readonly window: EndpointWindow
}

export interface EndpointLoadDeps {
  /** Milliseconds of a clock that is never set back. */
  readonly now: () => number
  /** Called with each answer that is an error. */
  readonly onError: (load: EndpointLoad) => void
}

/** Counts the requests of one endpoint. All of it is a matter of numbers, as each request passes here twice. */
export class EndpointLoad {
  readonly pipeId: string
  /** The name under which it was asked for last. */
  name: string
  limit: EndpointLimit | null = null
  /** Whether its queries leave the processors to others. */
  yields = false
  readonly #now: () => number
  readonly #onError: (load: EndpointLoad) => void
  #concurrency = 0
  #peak = 0
  #refusedCount = 0
  #refusedBefore = 0
  #errorCount = 0
  #successCount = 0
  #threadCount = 0
  #threadsSinceMs: number
  #workMs = 0

  constructor(pipe: { readonly id: string; readonly name: string }, { now, onError }: EndpointLoadDeps) {
    this.pipeId = pipe.id
    this.name = pipe.name
    this.#now = now
    this.#onError = onError
    this.#threadsSinceMs = now()
  }

  get concurrency(): number {
    return this.#concurrency
  }

  /** Requests refused since it is limited. */
  get refusedCount(): number {
    return this.#refusedBefore + this.#refusedCount
  }

  /** @returns how many were refused in this window. */
  refuse(): number {
    this.#refusedCount += 1
    return this.#refusedCount
  }

  enter(): void {
    this.#concurrency += 1
    if (this.#concurrency > this.#peak) this.#peak = this.#concurrency
  }

  /** @param status of the answer; null where its client did not wait for it, which tells nothing of the endpoint. */
  leave(status: number | null): void {
    this.#concurrency -= 1
    if (status === null) return
    if (status === 408 || status === 500) {
      this.#errorCount += 1
      this.#onError(this)
    } else if (status < 300) this.#successCount += 1
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

  /** What the window has brought so far. */
  soFar(): EndpointWindow {
    this.#countWork()
    return {
      peak: this.#peak,
      errorCount: this.#errorCount,
      successCount: this.#successCount,
      refusedCount: this.#refusedCount,
      workMs: this.#workMs,
    }
  }

  /** Ends a window, and begins the next with what is under way. */
  turn(): EndpointWindow {
    const window = this.soFar()
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
