// A graph of data sources and views at random, and what each data source must have after what was done to them.

import type { SeededRandom } from '../seeded-random.ts'
import { RowTerms } from './row-terms.ts'

export type LeafKind = 'aggregating' | 'collapsing' | 'replacing' | 'summing'

export interface ModelTable {
  readonly name: string
  /** 0 for those that rows are sent to. */
  readonly level: number
  /** `engine` and `engine_…`; empty is a MergeTree. */
  readonly engine: Readonly<Record<string, string>>
  /** Null for a table of rows as they come. */
  readonly leaf: LeafKind | null
}

export interface ModelView {
  readonly pipe: string
  readonly source: string
  readonly target: string
  /** What it gives of rows `FROM SOURCE`, as rows again. */
  readonly rowsSql: string
  /** Of its node. */
  readonly sql: string
}

const rowQueries = [
  'SELECT id, g, n + 1 AS n FROM SOURCE',
  'SELECT id, g, n FROM SOURCE WHERE n % 3 != 0',
  "SELECT id, concat(g, '_') AS g, n * 2 AS n FROM SOURCE WHERE id % 2 = 0",
  'SELECT id + k AS id, g, n FROM SOURCE ARRAY JOIN [1, 2] AS k',
] as const
const unchanged = 'SELECT id, g, n FROM SOURCE'

interface Leaf {
  readonly sql: string
  readonly engine: Readonly<Record<string, string>>
  /** Over the data source. */
  readonly found: string
  /** Over the rows that came to its view. */
  readonly expected: string
}

const digest = 'count(), sum(n), sum(cityHash64(id, g, n))'

/** Each at the end of a way: what they have depends on merges, but for what is asked of them. */
export const leaves: Readonly<Record<LeafKind, Leaf>> = {
  aggregating: {
    sql: 'SELECT g, countState() AS c, sumSimpleState(n) AS total, uniqExactState(id) AS ids FROM SOURCE GROUP BY g',
    engine: {},
    found: 'SELECT g, countMerge(c), sum(total), uniqExactMerge(ids) FROM TARGET GROUP BY g ORDER BY g',
    expected: 'SELECT g, count(), sum(n), uniqExact(id) FROM ROWS GROUP BY g ORDER BY g',
  },
  summing: {
    sql: 'SELECT g, count() AS c, sum(n) AS total FROM SOURCE GROUP BY g',
    engine: { engine: 'SummingMergeTree', engine_sorting_key: 'g' },
    found: 'SELECT g, sum(c), sum(total) FROM TARGET GROUP BY g ORDER BY g',
    expected: 'SELECT g, count(), sum(n) FROM ROWS GROUP BY g ORDER BY g',
  },
  replacing: {
    sql: unchanged,
    engine: { engine: 'ReplacingMergeTree', engine_sorting_key: 'id, g, n' },
    found: `SELECT ${digest} FROM TARGET FINAL`,
    expected: `SELECT ${digest} FROM (SELECT DISTINCT id, g, n FROM ROWS)`,
  },
  // A row with an even n is taken back in the block that brings it.
  collapsing: {
    sql: 'SELECT id, g, n, toInt8(s) AS sign FROM SOURCE ARRAY JOIN if(n % 2 = 0, [1, -1], [1]) AS s',
    engine: { engine: 'CollapsingMergeTree', engine_sorting_key: 'id, g, n', engine_sign: 'sign' },
    found: `SELECT ${digest} FROM (SELECT id, g, n FROM TARGET FINAL GROUP BY id, g, n HAVING sum(sign) = 1)`,
    expected: `SELECT ${digest} FROM (SELECT DISTINCT id, g, n FROM ROWS WHERE n % 2 != 0)`,
  },
}

/** Rows that are sent have ids of their own and no n of 0, so that none of these makes one of two. */
const sourceEngines: readonly Readonly<Record<string, string>>[] = [
  { engine: 'ReplacingMergeTree', engine_sorting_key: 'id' },
  { engine: 'SummingMergeTree', engine_sorting_key: 'id, g' },
  { engine: 'AggregatingMergeTree', engine_sorting_key: 'id, g, n' },
  { engine: 'CollapsingMergeTree', engine_sorting_key: 'id', engine_sign: 'sign' },
  { engine: 'Null' },
]

export class ViewModel {
  readonly tables: ModelTable[] = []
  readonly views: ModelView[] = []
  readonly #random: SeededRandom
  readonly #contents = new Map<string, RowTerms>()

  /** @param depth how many levels of data sources stand between those that rows are sent to and the last ones. */
  constructor(random: SeededRandom, depth: number) {
    this.#random = random
    this.#addTable({ name: 's0', level: 0, engine: {}, leaf: null })
    for (const name of ['s1', 's2']) this.#addTable({ name, level: 0, engine: this.#pick(sourceEngines), leaf: null })
    for (let level = 1; level <= depth; level += 1) this.#addLevel(level)
    const kinds: readonly LeafKind[] = ['aggregating', 'summing', 'replacing', 'collapsing', 'aggregating']
    for (const [index, kind] of kinds.entries()) this.#addLeaf(`leaf_${index}`, kind, index === 0 ? depth : null)
  }

  table(name: string): ModelTable {
    const found = this.tables.find((table) => table.name === name)
    if (found === undefined) throw new Error(`there is no ${name}`)
    return found
  }

  keepsRows({ engine }: ModelTable): boolean {
    return engine['engine'] !== 'Null'
  }

  contentOf(name: string): RowTerms {
    return this.#contents.get(name) ?? new RowTerms()
  }

  /** Rows come to a data source, and pass its views. */
  insert(name: string, rows: RowTerms): void {
    if (this.keepsRows(this.table(name))) this.#contents.set(name, RowTerms.sum([this.contentOf(name), rows]))
    for (const view of this.views) if (view.source === name) this.insert(view.target, rows.through(view.rowsSql))
  }

  truncate(name: string): void {
    this.#contents.delete(name)
  }

  delete(name: string, condition: string): void {
    this.#contents.set(name, this.contentOf(name).through(`SELECT id, g, n FROM SOURCE WHERE NOT (${condition})`))
  }

  /** All behind it is computed anew, of what each source has then: what passed a data source that keeps nothing is gone. */
  replace(name: string, rows: RowTerms): void {
    const fresh = new Map([[name, rows]])
    for (const table of this.tables) {
      const into = this.views.filter(({ target }) => target === table.name)
      if (!into.some(({ source }) => fresh.has(source))) continue
      const parts = into.map(({ source, rowsSql }) => (fresh.get(source) ?? this.contentOf(source)).through(rowsSql))
      fresh.set(table.name, RowTerms.sum(parts))
    }
    for (const [table, terms] of fresh) if (this.keepsRows(this.table(table))) this.#contents.set(table, terms)
  }

  /** @param condition over the rows of the source, or null. */
  populate(
    view: ModelView,
    { truncates, condition }: { readonly truncates: boolean; readonly condition: string | null },
  ): void {
    const all = this.contentOf(view.source)
    const chosen = condition === null ? all : all.through(`SELECT id, g, n FROM SOURCE WHERE ${condition}`)
    if (truncates) this.truncate(view.target)
    this.insert(view.target, chosen.through(view.rowsSql))
  }

  /** Whether nothing else fills the target of a view, or reads it. */
  isAlone({ pipe, target }: ModelView): boolean {
    return !this.views.some((other) => other.source === target || (other.target === target && other.pipe !== pipe))
  }

  /** Queries that must give the same. */
  checkOf({ name, leaf }: ModelTable): { readonly found: string; readonly expected: string } {
    const rows = this.contentOf(name).text()
    if (leaf === null) return { found: `SELECT ${digest} FROM ${name}`, expected: `SELECT ${digest} FROM ${rows}` }
    const { found, expected } = leaves[leaf]
    return { found: found.replace('TARGET', name), expected: expected.replace('ROWS', rows) }
  }

  #addTable(table: ModelTable): void {
    this.tables.push(table)
  }

  /** One of its views is behind the level before, so that ways become as long as they may; others go past levels, and meet again. */
  #addLevel(level: number): void {
    const earlier = this.tables.filter((table) => table.level < level)
    const before = earlier.filter((table) => table.level === level - 1)
    for (let index = 0; index <= this.#random.below(2); index += 1) {
      const table = {
        name: `l${level}_${index}`,
        level,
        engine: this.#random.below(3) === 0 ? { engine: 'Null' } : {},
        leaf: null,
      }
      this.#addRowView(this.#pick(before).name, table.name)
      if (this.#random.below(2) === 0) this.#addRowView(this.#pick(earlier).name, table.name)
      this.#addTable(table)
    }
  }

  #addRowView(source: string, target: string): void {
    const rowsSql = this.#pick(rowQueries)
    const sql = `SELECT toUInt64(id) AS id, g, toInt64(n) AS n FROM (${rowsSql.replace('SOURCE', source)})`
    this.views.push({ pipe: `p${this.views.length}`, source, target, rowsSql, sql })
  }

  #addLeaf(name: string, leaf: LeafKind, level: number | null): void {
    const sources = this.tables.filter((table) => table.leaf === null && (level === null || table.level === level))
    const source = this.#pick(sources).name
    const { sql, engine } = leaves[leaf]
    this.views.push({
      pipe: `p${this.views.length}`,
      source,
      target: name,
      rowsSql: unchanged,
      sql: sql.replace('SOURCE', source),
    })
    this.#addTable({ name, level: 9, engine, leaf })
  }

  #pick<Item>(items: readonly Item[]): Item {
    const item = items[this.#random.below(items.length)]
    if (item === undefined) throw new Error('there is nothing to pick from')
    return item
  }
}
