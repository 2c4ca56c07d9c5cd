import type { Sequence } from '../../wal/sequence.ts'

/** Batches of so little time share a mark, while there are few. */
const spacingMs = 5
/** Beyond it every second mark goes, and marks come half as often: what waits for hours is told to a minute. */
const marksMax = 1_024

interface Mark {
  readonly place: Sequence
  readonly atMs: number
}

/** When the events of one data source were acknowledged, as closely as bounded memory tells it. */
export class PlaceTimes {
  /** In the order of the log: what stands behind one and before the next was acknowledged at its time or soon after. */
  #marks: Mark[] = []
  #spacingMs = spacingMs
  #acknowledgedAtMs: number | null = null
  #queryableAtMs: number | null = null

  /** Of the newest events. */
  get acknowledgedAtMs(): number | null {
    return this.#acknowledgedAtMs
  }

  /** Of the newest events that queries see. */
  get queryableAtMs(): number | null {
    return this.#queryableAtMs
  }

  /** Takes over what an earlier process left waiting, from a place on. */
  recover(place: Sequence, { first, last }: { readonly first: number; readonly last: number }): void {
    this.note(place, first)
    this.#acknowledgedAtMs = last
  }

  /** Events were acknowledged, behind all that are noted. */
  note(place: Sequence, atMs: number): void {
    this.#acknowledgedAtMs = atMs
    const last = this.#marks.at(-1)
    if (last !== undefined && atMs - last.atMs < this.#spacingMs) return
    this.#marks.push({ place, atMs })
    if (this.#marks.length <= marksMax) return
    this.#marks = this.#marks.filter((_mark, index) => index % 2 === 0)
    this.#spacingMs *= 2
  }

  /** About when the events at a place were acknowledged; null where nothing is noted before it. */
  timeOf(place: Sequence): number | null {
    return this.#marks[this.#indexOf(place)]?.atMs ?? null
  }

  /** Queries see everything up to `last`; `isAll`: there is nothing behind it. */
  noteQueryable(last: Sequence, isAll: boolean): void {
    const index = this.#indexOf(last)
    this.#queryableAtMs = isAll ? this.#acknowledgedAtMs : (this.#marks[index]?.atMs ?? this.#queryableAtMs)
    if (isAll) {
      this.#marks = []
      this.#spacingMs = spacingMs
      return
    }
    // What comes next may share this mark.
    if (index > 0) this.#marks.splice(0, index)
  }

  /** The last mark at or before a place; -1 for none. */
  #indexOf(place: Sequence): number {
    for (let index = this.#marks.length - 1; index >= 0; index -= 1) {
      if ((this.#marks[index]?.place ?? 0) <= place) return index
    }
    return -1
  }
}
