// Hostile queries with a few of their parts changed, left out, doubled or exchanged.

// Most of the list is refused whatever is done to it; mutations of these run.
const plain = [
  'SELECT id, tenant, secret FROM ev WHERE id > 0 ORDER BY id LIMIT 10',
  'SELECT e.secret, o.id FROM ev AS e LEFT JOIN other AS o ON e.id = o.id WHERE o.id IN (SELECT id FROM j)',
  'WITH q AS (SELECT * FROM rep FINAL) SELECT secret, count() FROM q GROUP BY secret HAVING count() > 0',
  'SELECT secret FROM pipe1 UNION ALL SELECT secret FROM _ WHERE id IN other',
  "WITH 'a' AS tenant SELECT * FROM ev PREWHERE id = 1 OR 1 WHERE tenant = tenant OR 1",
  'SELECT groupArray(secret) FROM (SELECT * FROM ev ARRAY JOIN [1, 2] AS n) AS x, j WHERE x.id = j.id',
  'SELECT arrayMap(x -> (x, x IN (SELECT secret FROM ev)), [1, 2]), (SELECT max(secret) FROM rep)',
  'SELECT * FROM view(SELECT * FROM ev) AS v ANY LEFT JOIN j USING id SETTINGS join_use_nulls = 1',
]
const pieces =
  `SELECT FROM WITH JOIN UNION_ALL ev priv ws_0001.t_priv other_ws.t_x system.tables file( url( ( ) , * IN IN_( AS x
  ON_1 ARRAY_JOIN FINAL USING_id WHERE 1 OR 'a' \`ev\` "priv" -- /* */ ; APPLY( joinGet('ws_0001.t_priv','secret', SETTINGS
  readonly=0 FORMAT INTO_OUTFILE view( (SELECT secret :: [ ] ' \` PREWHERE LIMIT_1 -> . x.1 INTERVAL CASE`
    .split(/\s+/)
    .map((piece) => piece.replaceAll('_', piece.includes('.') || piece.includes('(') ? '_' : ' '))

/** The same queries for the same seed. */
export class HostileMutations {
  readonly #all: readonly string[]
  #state: number

  /** @param all the queries of the list. */
  constructor(seed: number, all: readonly string[]) {
    this.#state = seed
    this.#all = all
  }

  next(): string {
    return this.#mutated(this.#pick(this.#random(2) === 0 ? this.#all : plain))
  }

  #random(below: number): number {
    this.#state = (Math.imul(this.#state, 1_103_515_245) + 12_345) & 0x7fff_ffff
    return Math.floor((this.#state / 0x8000_0000) * below)
  }

  #pick<Item>(items: readonly Item[]): Item {
    // The index is below the length.
    return items[this.#random(items.length)] as Item
  }

  #mutated(sql: string): string {
    const parts = sql.split(separators).filter((part) => part !== '')
    for (let count = 1 + this.#random(3); count > 0; count -= 1) this.#change(parts)
    return parts.join('')
  }

  #change(parts: string[]): void {
    const at = this.#random(parts.length)
    const change = this.#random(8)
    if (change === 0) parts.splice(at, 1)
    else if (change === 1) parts.splice(at, 0, ` ${this.#pick(pieces)} `)
    else if (change === 2) parts[at] = this.#pick(pieces)
    else if (change === 3) parts.splice(at, 0, parts[this.#random(parts.length)] ?? '')
    else if (change === 4) parts.splice(at, 2, ...parts.slice(at, at + 2).reverse())
    else if (change === 5) parts.splice(at, parts.length, ...this.#pick(this.#all).split(separators))
    else if (change === 6) parts[at] = this.#random(2) === 0 ? (parts[at] ?? '').toUpperCase() : `(${parts[at]})`
    else parts[at] = `${this.#pick(['/**/', '--\n', '\u00a0', '#!x\n', '\t'])}${parts[at]}`
  }
}

const separators = /(\s+|[(),.;'`"])/
