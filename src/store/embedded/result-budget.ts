import { StoreError } from '../store-error.ts'

/** What one result takes of the disk, from its first byte until nobody reads it any more. */
export interface ResultShare {
  /** The result has so many bytes by now. @throws StoreError `unread` when there is no room for those that came. */
  growTo(byteCount: number): void
  /** Nothing of it is on the disk any more. */
  release(): void
}

/**
 * The bound of the bytes that results take on disk together: those that are being written, and those that wait for their
 * readers. A result that is the only one has room in any case, as its own limit bounds it.
 */
export class ResultBudget {
  readonly #bytesMax: number
  #usedBytes = 0

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax
  }

  get usedBytes(): number {
    return this.#usedBytes
  }

  open(): ResultShare {
    let shareBytes = 0
    let isOpen = true
    return {
      growTo: (byteCount) => {
        const more = byteCount - shareBytes
        if (!isOpen || more <= 0) return
        const otherBytes = this.#usedBytes - shareBytes
        if (otherBytes > 0 && this.#usedBytes + more > this.#bytesMax) throw this.#fullError(otherBytes)
        shareBytes = byteCount
        this.#usedBytes += more
      },
      release: () => {
        if (isOpen) this.#usedBytes -= shareBytes
        isOpen = false
      },
    }
  }

  #fullError(otherBytes: number): StoreError {
    const message = `answers that are being made or that their clients have not read yet take ${otherBytes} of ${this.#bytesMax} bytes on disk`
    return new StoreError({ kind: 'unread', message })
  }
}
