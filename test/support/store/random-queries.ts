// Random queries whose answers are determined: every list of rows is ordered by a key of its own, sums are of integers.
//
// Conditions come from a small pool, so that one query asks again what another one has asked before: that is when what an
// engine keeps of the first can spoil the second.

import type { SeededRandom } from '../seeded-random.ts'

/** A table of the database under test. */
export interface RandomTable {
  readonly name: string
  readonly engine: string
  /** An order of all rows that begins with its sorting key. */
  readonly order: string
  readonly settings?: string
  /** Indexes and projections, as they stand behind the columns. */
  readonly extras?: readonly string[]
  /** Whether rows of one key become one; then it is read with FINAL alone. */
  readonly isReplacing?: boolean
}

/** The columns that every table has. */
export const columns = `id UInt64, tenant LowCardinality(String), k UInt32, v Int64, s String, n Nullable(Int32),
  d DateTime('UTC'), a Array(UInt8), m Map(String, UInt32)`

export const tables: readonly [RandomTable, ...RandomTable[]] = [
  { name: 't_plain', engine: 'MergeTree ORDER BY id', order: 'id' },
  {
    name: 't_small',
    engine: 'MergeTree ORDER BY (tenant, id)',
    order: 'tenant, id',
    settings: 'index_granularity = 128',
  },
  {
    name: 't_parts',
    engine: 'MergeTree PARTITION BY toYYYYMM(d) ORDER BY (k, id)',
    order: 'k, id',
    settings: 'index_granularity = 256, min_bytes_for_wide_part = 0',
    extras: [
      'INDEX i_v v TYPE minmax GRANULARITY 1',
      'INDEX i_s s TYPE bloom_filter GRANULARITY 2',
      'INDEX i_t (tenant, k) TYPE set(50) GRANULARITY 1',
      'INDEX i_a a TYPE bloom_filter GRANULARITY 1',
    ],
  },
  {
    name: 't_shown',
    engine: 'MergeTree ORDER BY d',
    order: 'd, id',
    settings: 'index_granularity = 512',
    extras: [
      'PROJECTION p_sums (SELECT tenant, k % 10, count(), sum(v), min(id), max(id) GROUP BY tenant, k % 10)',
      'PROJECTION p_order (SELECT * ORDER BY v)',
    ],
  },
  {
    name: 't_newest',
    engine: 'ReplacingMergeTree(v) PARTITION BY tenant ORDER BY (tenant, k)',
    order: 'tenant, k, id',
    settings: 'index_granularity = 128',
    extras: ['INDEX i_v v TYPE minmax GRANULARITY 1'],
    isReplacing: true,
  },
]

/** SELECT for `count` rows from `first` on; the same for the same numbers. */
export function rowsQuery(first: number, count: number): string {
  return `SELECT number AS id, ['a', 'b', 'c', ''][1 + intDiv(number, 5000) % 4] AS tenant, intHash32(number * 7) % 500 AS k,
    toInt64(intHash64(number)) % 10000 + intDiv(number, 8) AS v, concat('s', toString(intHash32(number + 1) % 300)) AS s,
    if(number % 11 = 0, NULL, toInt32(number % 40) - 20) AS n,
    toDateTime('2026-01-01 00:00:00', 'UTC') + intDiv(number, 9) * 600 AS d,
    arrayMap(i -> toUInt8((number + i) % 13), range(number % 4)) AS a, map('x', toUInt32(number % 5)) AS m
    FROM numbers(${first}, ${count})`
}

/** The query over the tables of a database. */
export function overTables(query: string, database: string): string {
  return query
    .replaceAll('{PREWHERE}', 'PREWHERE')
    .replaceAll('{AND}', 'WHERE')
    .replaceAll(/\{(\w+)\}/g, `${database}.$1`)
}

/** The same over copies in memory, which have neither keys nor granules and no rows to be merged. */
export function overCopies(query: string, database: string): string {
  const plain = query.replaceAll('{PREWHERE}', 'WHERE').replaceAll('{AND}', 'AND')
  return plain.replaceAll(/\{(\w+)\}(?: FINAL)?/g, `${database}.$1`)
}

/**
 * Queries that share their table and their conditions, for `overTables` and `overCopies`: what the engine keeps of one of them
 * may be asked for by the next one.
 */
export function randomSequence(random: SeededRandom): readonly string[] {
  const maker = new QueryMaker(random)
  return [...Array.from({ length: sequenceLength }, () => maker.query()), ...maker.counts()]
}

const sequenceLength = 4

type Form = (maker: QueryMaker) => string

const orders = [
  'id',
  'id DESC',
  'v, id',
  'v DESC, id DESC',
  'd DESC, id',
  'tenant, k, id',
  'k DESC, id',
  's, id',
  'n, id',
  'n DESC NULLS FIRST, id',
] as const
const limits = ['1', '5', '10', '100', '3 OFFSET 4', '1000', '20000'] as const
const keys = ['tenant', 'k % 10', 's', 'toYYYYMM(d)', 'n', 'tenant, n', 'length(a)', 'toDate(d)'] as const
const sums = [
  'count()',
  'sum(v)',
  'min(id)',
  'max(id)',
  'uniqExact(k)',
  'countIf(v > 5000)',
  'max(d)',
  'sum(n)',
  'min(s)',
  'count(n)',
  'sum(length(a))',
  'countIf(has(a, 3))',
  'any(1)',
  "sum(m['x'])",
] as const
const joins = ['INNER', 'LEFT', 'RIGHT', 'FULL', 'SEMI LEFT', 'ANTI LEFT', 'SEMI RIGHT', 'ANTI RIGHT'] as const

class QueryMaker {
  readonly random: SeededRandom
  readonly #table: RandomTable
  readonly #conditions: readonly [string, ...string[]]

  constructor(random: SeededRandom) {
    this.random = random
    this.#table = random.pick(tables)
    this.#conditions = [this.#newCondition(2), this.#newCondition(2), this.#newCondition(1)]
  }

  query(): string {
    return this.random.pick(forms)(this)
  }

  /** How many rows each of the conditions has by itself. */
  counts(): readonly string[] {
    const { name, isReplacing = false } = this.#table
    return this.#conditions.map(
      (condition) => `SELECT count() AS c FROM {${name}}${isReplacing ? ' FINAL' : ''} WHERE ${condition}`,
    )
  }

  /** What stands behind FROM: a table, one with a row filter, or rows of one in an order. */
  source(name = this.tableName()): string {
    const { random } = this
    const final = name.final
    const draw = random.below(10)
    if (draw < 5) return `{${name.table}}${final}`
    if (draw < 7) return `(SELECT * FROM {${name.table}}${final} WHERE (${this.condition()}))`
    if (name.final !== '') return `{${name.table}}${final}`
    if (draw < 9) return `(SELECT * FROM {${name.table}} {PREWHERE} (${this.condition()}))`
    return `(SELECT * FROM {${name.table}} {PREWHERE} (${this.condition()}) ORDER BY ${this.order()} LIMIT ${random.pick(limits)})`
  }

  /** The order in which the table of the sequence is stored, or the other way round, in every second case. */
  order(): string {
    const draw = this.random.below(4)
    if (draw === 0) return this.#table.order
    if (draw === 1) return `${this.#table.order.replaceAll(',', ' DESC,')} DESC`
    return this.random.pick(orders)
  }

  tableName(): { readonly table: string; readonly final: string } {
    const { name, isReplacing = false } = this.random.below(4) === 0 ? this.random.pick(tables) : this.#table
    return { table: name, final: isReplacing ? ' FINAL' : '' }
  }

  where(): string {
    return this.random.below(5) === 0 ? '' : ` WHERE ${this.condition()}`
  }

  /** One that the sequence has, in five of six cases. */
  condition(): string {
    const { random } = this
    return random.below(6) === 0 ? this.#newCondition(0) : random.pick(this.#conditions)
  }

  #newCondition(depth: number): string {
    const { random } = this
    const draw = random.below(depth > 2 ? 6 : depth > 0 ? 9 : 10)
    const inner = (): string => this.#newCondition(depth + 1)
    if (draw === 6) return `(${inner()} AND ${inner()})`
    if (draw === 7) return `(${inner()} OR ${inner()})`
    if (draw === 8) return `NOT (${inner()})`
    if (draw === 9) return this.memberCondition()
    return this.plainCondition()
  }

  plainCondition(): string {
    const { random } = this
    const number = random.pick([0, 1, 10, 100, 499, 5_000, 9_000, 20_000, 40_000])
    const text = random.pick(['a', 'b', 'c', '', 's1', 's17', 's299', 'none'])
    const comparison = random.pick(['=', '!=', '<', '>', '<=', '>='])
    return random.pick([
      `tenant = '${text}'`,
      `id ${comparison} ${number}`,
      `v ${comparison} ${number}`,
      `k ${comparison} ${number}`,
      `s ${comparison} '${text}'`,
      `s LIKE '${text}%'`,
      `n ${comparison} ${number - 10}`,
      'n IS NULL',
      `k % 7 = ${number % 7}`,
      `has(a, ${number % 13})`,
      `hasAny(a, [1, ${number % 13}])`,
      `m['x'] = ${number % 5}`,
      `toYYYYMM(d) = ${random.pick([202_601, 202_602, 202_603])}`,
      `d >= '2026-01-${10 + random.below(20)} 00:00:00'`,
      `toDate(d) = '2026-01-${10 + random.below(20)}'`,
      `k IN (${number}, 3, 77)`,
      `(tenant, k) IN (('a', ${number}), ('b', 5))`,
      `k BETWEEN ${number} AND ${number + 50}`,
      `tenant IN ('a', '${text}')`,
      `empty(a)`,
    ])
  }

  memberCondition(): string {
    const { random } = this
    const column = random.pick(['k', 'id', 's', 'v'])
    const limit = random.below(2) === 0 ? '' : ` ORDER BY ${this.order()} LIMIT ${random.pick(limits)}`
    return `${column} ${random.pick(['IN', 'NOT IN'])} (SELECT ${column} FROM ${this.source()} WHERE ${this.plainCondition()}${limit})`
  }

  aggregates(): string {
    const count = 1 + this.random.below(3)
    return Array.from({ length: count }, (_, index) => `${this.random.pick(sums)} AS r${index}`).join(', ')
  }
}

/** What lies behind a limit is read in part, and then a condition is put on it. */
const limited: Form = (make) => {
  const { random } = make
  const { table, final } = make.tableName()
  const from = final === '' ? `{${table}} {PREWHERE} (${make.condition()})` : `{${table}}${final}${make.where()}`
  const inner = `SELECT ${random.pick(['*', 'id', 'id, v, k'])} FROM ${from} ORDER BY ${make.order()} LIMIT ${random.pick(limits)}`
  const outer =
    random.below(3) === 0 ? '' : ` WHERE id ${random.pick(['<', '>'])} ${random.pick([0, 100, 20_000, 1_000_000])}`
  return `SELECT count() AS c, max(id) AS i FROM (${inner})${outer}`
}

const forms: readonly [Form, ...Form[]] = [
  (make) => `SELECT ${make.aggregates()} FROM ${make.source()}${make.where()}`,
  (make) => `SELECT count() AS c FROM ${make.source()}${make.where()}`,
  (make) => {
    const { table, final } = make.tableName()
    const { random } = make
    const second = random.below(3) === 0 ? '' : ` {AND} (${make.condition()})`
    const where = final === '' ? ` {PREWHERE} (${make.condition()})${second}` : make.where()
    return `SELECT id, k, s, v, n FROM {${table}}${final}${where} ORDER BY ${make.order()} LIMIT ${random.pick(limits)}`
  },
  (make) => {
    const { random } = make
    return `SELECT * FROM ${make.source()}${make.where()} ORDER BY ${make.order()} LIMIT ${random.pick(['1', '5', '10', '100'])}`
  },
  (make) => {
    const { random } = make
    const key = random.pick(keys)
    const having = random.below(4) === 0 ? ' HAVING count() > 3' : ''
    const limit = random.below(2) === 0 ? '' : ` LIMIT ${random.pick(limits)}`
    return `SELECT ${key}, ${make.aggregates()} FROM ${make.source()}${make.where()} GROUP BY ${key}${having} ORDER BY ${key}${limit}`
  },
  limited,
  limited,
  limited,
  (make) => {
    const { random } = make
    const kind = random.pick(joins)
    const side = kind.endsWith('RIGHT') ? 'y' : 'x'
    const on = random.pick(['x.id = y.id', 'x.k = y.k AND x.tenant = y.tenant', 'x.s = y.s AND x.d = y.d'])
    const left = `(SELECT * FROM ${make.source()} WHERE ${make.plainCondition()})`
    const right = `(SELECT * FROM ${make.source()} WHERE ${make.plainCondition()} AND id < 3000)`
    const where =
      random.below(2) === 0
        ? ''
        : ` WHERE ${side}.${random.pick(['v > 3000', 'k < 100', "tenant = 'a'", 'id % 3 = 0'])}`
    const list = random.below(2) === 0
    return list
      ? `SELECT ${side}.id AS i, ${side}.v AS w FROM ${left} AS x ${kind} JOIN ${right} AS y ON ${on}${where} ORDER BY i, w LIMIT 50`
      : `SELECT count() AS c, sum(${side}.v) AS w FROM ${left} AS x ${kind} JOIN ${right} AS y ON ${on}${where}`
  },
  (make) => {
    const { random } = make
    const key = random.pick(['tenant', 'k', 's', 'n', 'tenant, k'])
    return `SELECT DISTINCT ${key} FROM ${make.source()}${make.where()} ORDER BY ${key} LIMIT ${random.pick(limits)}`
  },
  (make) =>
    `SELECT tenant, id FROM ${make.source()}${make.where()} ORDER BY tenant, v DESC, id LIMIT ${1 + make.random.below(5)} BY tenant`,
  (make) =>
    `SELECT count() AS c, sum(u) AS w FROM (SELECT id, sum(v) OVER (PARTITION BY tenant ORDER BY d, id) AS u FROM ${make.source()}${make.where()})${make.random.below(2) === 0 ? '' : ' WHERE u % 2 = 0'}`,
  (make) =>
    `SELECT sum(c) AS c FROM (SELECT count() AS c FROM ${make.source()}${make.where()} UNION ALL SELECT count() FROM ${make.source()}${make.where()})`,
  (make) =>
    `WITH (SELECT max(id) FROM ${make.source()}${make.where()}) AS top SELECT count() AS c, max(id) AS i FROM ${make.source()} WHERE id >= ifNull(top, 0) - 500 AND ${make.condition()}`,
  (make) =>
    `SELECT ${make.random.pick(['min(d)', 'max(id), min(id)', 'min(k)', 'max(v)', 'count()'])} FROM ${make.source()}${make.where()}`,
]
