/**
 * Who may insert into a table while the views behind it change: INSERTs pass beside one another, and a change of views waits until those
 * under way have ended and lets none begin. So each INSERT is seen by a view wholly or not at all, and it is known by which.
 */

import { assert } from '../shared/assert.ts'
import { within } from '../shared/within.ts'

/** INSERTs into one table that are under way. */
interface Passing {
  count: number
  /** Told when the last one has ended; null where nobody waits for that. */
  onEnd: (() => void) | null
}

export class AppendGate {
  readonly #passing = new Map<string, Passing>()
  /** Resolve when the tables are open again. Never reject. */
  readonly #closed = new Map<string, Promise<void>>()

  /** Whether INSERTs into the table wait now. */
  isClosed(table: string): boolean {
    return this.#closed.has(table)
  }

  /** Resolves when an INSERT into the table may begin; what it gives is to be called, once, when the INSERT has ended. */
  async enter(table: string): Promise<() => void> {
    for (let opened = this.#closed.get(table); opened !== undefined; opened = this.#closed.get(table)) await opened
    const passing = this.#passing.get(table) ?? { count: 0, onEnd: null }
    passing.count += 1
    this.#passing.set(table, passing)
    return () => this.#leave(table, passing)
  }

  /**
   * Runs a change while nothing is inserted into the tables; gives false, and does not run it, when what is under way does not end within
   * `timeMaxMs`. Precondition: none of them is closed.
   */
  async whileClosed(tables: readonly string[], timeMaxMs: number, change: () => Promise<void>): Promise<boolean> {
    let open = (): void => undefined
    const opened = new Promise<void>((resolve) => {
      open = resolve
    })
    for (const table of tables) {
      assert(!this.#closed.has(table), 'one change of the views on a table runs at a time')
      this.#closed.set(table, opened)
    }
    try {
      if (!(await within(timeMaxMs, Promise.all(tables.map((table) => this.#untilEnded(table)))))) return false
      await change()
      return true
    } finally {
      for (const table of tables) this.#closed.delete(table)
      open()
    }
  }

  #untilEnded(table: string): Promise<void> {
    const passing = this.#passing.get(table)
    if (passing === undefined) return Promise.resolve()
    return new Promise((resolve) => {
      passing.onEnd = resolve
    })
  }

  #leave(table: string, passing: Passing): void {
    passing.count -= 1
    if (passing.count > 0) return
    this.#passing.delete(table)
    passing.onEnd?.()
  }
}
