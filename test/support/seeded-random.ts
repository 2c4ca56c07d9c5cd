import process from 'node:process'

const seedOfEveryRun = 20_260_101

/** The seed of a random test: `SEED=` from the environment, else always the same, so that a run can be repeated. */
export function testSeed(): number {
  const text = process.env['SEED']
  return text === undefined || text === '' ? seedOfEveryRun : Number(text)
}

/** A small deterministic generator (mulberry32): the same seed gives the same choices on every machine. */
export class SeededRandom {
  #state: number

  constructor(seed: number) {
    this.#state = seed >>> 0
  }

  /** A number from 0 to below 1. */
  fraction(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }

  /** A whole number from 0 to `count` - 1. */
  below(count: number): number {
    return Math.floor(this.fraction() * count)
  }

  pick<Item>(items: readonly [Item, ...Item[]]): Item {
    return items[this.below(items.length)] ?? items[0]
  }

  /** `digitCount` hexadecimal digits. */
  hex(digitCount: number): string {
    let digits = ''
    while (digits.length < digitCount) digits += this.below(0x10000).toString(16).padStart(4, '0')
    return digits.slice(0, digitCount)
  }
}
