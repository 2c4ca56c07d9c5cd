/** Places of a body, as ranges: what is stored of it is few ranges, however long it is. */

export interface PlaceRange {
  readonly start: number
  /** Behind the last one. */
  readonly end: number
}

export class RangeSet {
  /** In order; no two of them touch. */
  #ranges: PlaceRange[]

  constructor(ranges: readonly PlaceRange[] = []) {
    this.#ranges = []
    for (const range of ranges) this.add(range)
  }

  get ranges(): readonly PlaceRange[] {
    return this.#ranges
  }

  add(range: PlaceRange): void {
    if (range.end <= range.start) return
    const apart = this.#ranges.filter(({ start, end }) => end < range.start || start > range.end)
    const touching = this.#ranges.filter(({ start, end }) => end >= range.start && start <= range.end)
    const joined = {
      start: Math.min(range.start, ...touching.map(({ start }) => start)),
      end: Math.max(range.end, ...touching.map(({ end }) => end)),
    }
    this.#ranges = [...apart, joined].sort((a, b) => a.start - b.start)
  }

  /** Whether all of the range is in it. */
  covers({ start, end }: PlaceRange): boolean {
    return this.#ranges.some((range) => range.start <= start && range.end >= end)
  }

  /** Where the range that has this place ends; the place itself when none has it. */
  endAt(place: number): number {
    return this.#ranges.find(({ start, end }) => start <= place && place < end)?.end ?? place
  }

  /** What is in both. */
  common(other: RangeSet): RangeSet {
    const both = this.#ranges.flatMap((a) =>
      other.#ranges.map((b) => ({ start: Math.max(a.start, b.start), end: Math.min(a.end, b.end) })),
    )
    return new RangeSet(both)
  }
}
