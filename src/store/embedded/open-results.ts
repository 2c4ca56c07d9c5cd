import type { Logger } from '../../observe/logger.ts'
import { StoreError } from '../store-error.ts'
import { ResultBudget } from './result-budget.ts'
import type { OpenResult } from './result-file.ts'

interface OpenResultsOptions {
  readonly openResultsMax: number
  readonly heldResultBytesMax: number
  readonly resultFilesBytesMax: number
}

/** The results that wait for their readers: bounded by their number, by their bytes in memory, and by those on disk. */
export class OpenResults {
  readonly files: ResultBudget
  readonly #options: OpenResultsOptions
  readonly #logger: Logger
  readonly #open = new Set<OpenResult>()
  #heldBytes = 0

  constructor(options: OpenResultsOptions, logger: Logger) {
    this.#options = options
    this.#logger = logger
    this.files = new ResultBudget(options.resultFilesBytesMax)
  }

  /** @throws StoreError `unread` when so many wait that there is no place for another one. */
  throwIfFull(): void {
    const { size } = this.#open
    if (size < this.#options.openResultsMax) return
    throw new StoreError({ kind: 'unread', message: `${size} answers wait for their clients to read them` })
  }

  /** Keeps a result in memory until it is read; one that has no room goes, and its caller is told to come again. */
  hold(result: OpenResult, byteCount: number): void {
    if (this.#heldBytes + byteCount > this.#options.heldResultBytesMax) {
      void result.return()
      const message = `answers of ${this.#heldBytes} bytes in memory wait for their clients to read them, and there is no room for ${byteCount} more`
      throw new StoreError({ kind: 'unread', message })
    }
    this.#heldBytes += byteCount
    void result.closed.finally(() => {
      this.#heldBytes -= byteCount
    })
    this.keep(result)
  }

  keep(result: OpenResult): void {
    this.#open.add(result)
    const forget = (): void => {
      this.#open.delete(result)
    }
    result.closed.then(forget, (err: unknown) => {
      forget()
      this.#logger.warn({ err }, 'The file of a result could not be closed.')
    })
  }

  async close(): Promise<void> {
    await Promise.all([...this.#open].map((result) => result.return()))
  }
}
