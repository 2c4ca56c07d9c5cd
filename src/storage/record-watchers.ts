import type { RecordChange, RecordKind, RecordWrite } from './storage.types.ts'

type Tell = (changes: readonly RecordChange[]) => void

/** Who watches which kind of record. */
export class RecordWatchers {
  readonly #tellsByKind = new Map<RecordKind, Set<Tell>>()

  /** Gives what ends the watch. */
  add(kind: RecordKind, tell: Tell): () => void {
    const tells = this.#tellsByKind.get(kind) ?? new Set()
    this.#tellsByKind.set(kind, tells)
    // A function of its own, so that one that watches twice is told twice.
    const own: Tell = (changes) => tell(changes)
    tells.add(own)
    return () => tells.delete(own)
  }

  /** Tells a batch in a microtask of its own: what a watcher throws is no fault of the writer. */
  tell(writes: readonly RecordWrite[], version: number): void {
    for (const [kind, tells] of this.#tellsByKind) {
      const changes = writes.filter((write) => write.kind === kind).map(({ key, value }) => ({ key, value, version }))
      if (changes.length === 0) continue
      for (const tell of tells) queueMicrotask(() => tells.has(tell) && tell(changes))
    }
  }
}
