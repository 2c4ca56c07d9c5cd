// Rows that a data source must have, as queries over shadow tables of what was sent to its sources.

/** What a term reads in the place of its source. */
const place = 'SENT_ROWS'

/**
 * A multiset of rows: for each query over sent rows, how often it is taken of which batches. Batches are numbered through by source, and
 * the shadow of a source has `batch` beside the columns of its rows.
 */
export class RowTerms {
  /** By the query, which has `place` behind FROM, and the shadow that it reads. */
  readonly #times = new Map<string, { readonly shadow: string; readonly batches: Map<number, number> }>()

  static of(shadow: string, batch: number): RowTerms {
    const terms = new RowTerms()
    terms.#times.set(`SELECT id, g, n FROM ${place}/*${shadow}*/`, { shadow, batches: new Map([[batch, 1]]) })
    return terms
  }

  static sum(all: readonly RowTerms[]): RowTerms {
    const terms = new RowTerms()
    for (const one of all) terms.add(one)
    return terms
  }

  /** How many queries it has; each costs a part of the statement that asks for all. */
  get queryCount(): number {
    return this.#times.size
  }

  add(other: RowTerms): void {
    for (const [query, { shadow, batches }] of other.#times) {
      const own = this.#times.get(query) ?? { shadow, batches: new Map<number, number>() }
      for (const [batch, times] of batches) own.batches.set(batch, (own.batches.get(batch) ?? 0) + times)
      this.#times.set(query, own)
    }
  }

  /** What a query gives of these rows. @param sql has `SOURCE` behind FROM, and gives `id`, `g` and `n`. */
  through(sql: string): RowTerms {
    const terms = new RowTerms()
    for (const [query, { shadow, batches }] of this.#times) {
      terms.#times.set(`SELECT id, g, n FROM (${sql.replace('SOURCE', `(${query})`)})`, {
        shadow,
        batches: new Map(batches),
      })
    }
    return terms
  }

  /** What stands behind FROM for all of them. */
  text(): string {
    const parts = [...this.#times].flatMap(([query, { shadow, batches }]) =>
      [...byTimes(batches)].map(([times, numbers]) =>
        query.replace(/SENT_ROWS\/\*\w+\*\//, rowsText(shadow, numbers, times)),
      ),
    )
    return parts.length === 0 ? '(SELECT id, g, n FROM shadow_s0 WHERE 0)' : `(${parts.join(' UNION ALL ')})`
  }
}

function byTimes(batches: ReadonlyMap<number, number>): ReadonlyMap<number, readonly number[]> {
  const found = new Map<number, number[]>()
  for (const [batch, times] of batches) found.set(times, [...(found.get(times) ?? []), batch])
  return found
}

function rowsText(shadow: string, batches: readonly number[], times: number): string {
  const where = rangesOf(batches)
    .map(([from, to]) => (from === to ? `batch = ${from}` : `batch >= ${from} AND batch <= ${to}`))
    .join(' OR ')
  const rows = times === 1 ? shadow : `${shadow} ARRAY JOIN range(${times}) AS time`
  return `(SELECT id, g, n FROM ${rows} WHERE ${where})`
}

function rangesOf(numbers: readonly number[]): readonly (readonly [from: number, to: number])[] {
  const ranges: [number, number][] = []
  for (const number of numbers.toSorted((a, b) => a - b)) {
    const last = ranges.at(-1)
    if (last?.[1] === number - 1) last[1] = number
    else ranges.push([number, number])
  }
  return ranges
}
