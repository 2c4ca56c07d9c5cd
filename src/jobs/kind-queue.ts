import type { JobKind } from './jobs.types.ts'

/** Jobs of one kind that are to be run, in their order, and how many of them may work. */
export class KindQueue {
  readonly kind: JobKind
  readonly #ids = new Set<string>()
  #workingCount = 0

  constructor(kind: JobKind) {
    this.kind = kind
  }

  push(id: string): void {
    this.#ids.add(id)
  }

  /** Whether it was there. */
  remove(id: string): boolean {
    return this.#ids.delete(id)
  }

  /** The next that may work, which has a place from now on; undefined where none waits or none may. */
  take(): string | undefined {
    if (this.#workingCount >= this.kind.workingMax) return undefined
    const [id] = this.#ids
    if (id === undefined) return undefined
    this.#ids.delete(id)
    this.#workingCount += 1
    return id
  }

  /** Gives a place back. */
  leave(): void {
    this.#workingCount -= 1
  }
}
