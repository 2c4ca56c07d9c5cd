import type { Sequence } from '../../wal/sequence.ts'

interface Mark {
  readonly sequence: Sequence
  readonly atMs: number
}

/** A mark for each of these, so that few are kept while many events come. */
const intervalMs = 5
/** While more than these wait, the newest stand for those behind them too: their lag is told as longer than it is. */
const marksMax = 1_000

/** When entries of the log were acknowledged, as far as it takes to tell how long the oldest of a block has waited. */
export class LagMarks {
  #marks: Mark[] = []

  /** Precondition: sequences and times only grow. */
  note(sequence: Sequence, nowMs: number): void {
    const last = this.#marks.at(-1)
    if (last !== undefined && (nowMs - last.atMs < intervalMs || this.#marks.length >= marksMax)) return
    this.#marks.push({ sequence, atMs: nowMs })
  }

  /** Everything up to an entry is stored: gives when the oldest of it was acknowledged, or null when that is not known. */
  take(last: Sequence): number | null {
    const [oldest] = this.#marks
    if (oldest === undefined || oldest.sequence > last) return null
    const left = this.#marks.findIndex(({ sequence }) => sequence > last)
    this.#marks = left < 0 ? [] : this.#marks.slice(left)
    return oldest.atMs
  }
}
