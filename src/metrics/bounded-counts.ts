/** What stands for all that have no label of their own; no name of a resource has a bracket. */
export const otherLabel = '(other)'

/**
 * Counts by what they are about, such as data sources, by their ids. As many as `labelsMax` have their own; those that come later
 * share one, as each is a series that somebody else has to keep.
 */
export class BoundedCounts<Counts> {
  readonly #labelsMax: number
  readonly #create: () => Counts
  readonly #own = new Map<string, Counts>()
  #others: Counts | null = null

  constructor(labelsMax: number, create: () => Counts) {
    this.#labelsMax = labelsMax
    this.#create = create
  }

  /** To be kept by whoever counts often. */
  of(id: string): Counts {
    const known = this.#own.get(id)
    if (known !== undefined) return known
    if (this.#own.size >= this.#labelsMax) {
      this.#others ??= this.#create()
      return this.#others
    }
    const counts = this.#create()
    this.#own.set(id, counts)
    return counts
  }

  /** By label; what `nameOf` knows no more is forgotten, and leaves its place to others. */
  *entries(nameOf: (id: string) => string | undefined): Generator<readonly [label: string, counts: Counts]> {
    for (const [id, counts] of this.#own) {
      const name = nameOf(id)
      if (name === undefined) this.#own.delete(id)
      else yield [name, counts]
    }
    if (this.#others !== null) yield [otherLabel, this.#others]
  }
}

/** Names of our own code, such as limits and errors: there are few, and a mistake makes no more of them than this. */
const namesMax = 500

/** Counts by name, for what happens seldom. */
export class NamedCounts {
  readonly #counts = new Map<string, number>()

  add(name: string): void {
    const known = this.#counts.get(name)
    if (known !== undefined) this.#counts.set(name, known + 1)
    else if (this.#counts.size < namesMax) this.#counts.set(name, 1)
  }

  entries(): Iterable<readonly [name: string, count: number]> {
    return this.#counts
  }
}
