import { SeededRandom } from '../../seeded-random.ts'

/** Choices for the generators of random tests. The same seed makes the same choices. */
export class TestRandom extends SeededRandom {
  /** True in `percent` of 100 cases. */
  chance(percent: number): boolean {
    return this.below(10_000) < percent * 100
  }

  /** A whole number from `first` to `last`. */
  between(first: number, last: number): number {
    return first + this.below(last - first + 1)
  }

  /** `count` decimal digits; the first is not 0 unless it is the only one. */
  digits(count: number): string {
    let digits = String(count === 1 ? this.below(10) : this.between(1, 9))
    while (digits.length < count) digits += this.below(10)
    return digits
  }

  /** The items in another order. */
  shuffled<Item>(items: readonly Item[]): Item[] {
    const left = [...items]
    const mixed: Item[] = []
    while (left.length > 0) mixed.push(...left.splice(this.below(left.length), 1))
    return mixed
  }
}
