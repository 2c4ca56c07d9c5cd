// Random reads whose answers are determined: rows in a total order, aggregates that are exact. In texts `@` stands behind the names
// of data sources and pipes.

import type { ParameterValues } from '../../../src/query/rendering.ts'
import type { SeededRandom } from '../seeded-random.ts'

export interface Read {
  /** The pipe that is entered; null for a query by itself. */
  readonly pipe: string | null
  /** Null reads all of the pipe. */
  readonly sql: string | null
  readonly format: string
  readonly parameters: ParameterValues
  /** Whether what is read may follow from values that the reader's scope sets. */
  readonly usesFixed: boolean
}

const sources = [
  'ev@',
  'ev@',
  'rep@ FINAL',
  'joined@',
  'open@',
  'rows@',
  'rows@',
  'over@',
  'inner@',
  'fixed@',
  'under@',
] as const
const pipes = ['rows@', 'over@', 'inner@', 'fixed@', 'under@'] as const
const formats = [
  'CSV',
  'CSV',
  'JSON',
  'JSONEachRow',
  'Parquet',
  'JSONCompact',
  'Native',
  'XML',
  'PrettyCompact',
] as const
/** Some raise for hidden rows, and for none that is seen. */
const values = [
  'id',
  'n',
  's',
  'tenant',
  'upper(tenant)',
  'length(tags)',
  'toUInt64(s)',
  'toFixedString(tenant, 1)',
  'tags[1]',
  'n * 2 - 1',
  'intDiv(100, n + 3)',
  'toYYYYMM(d)',
  "dateDiff('day', d, toDate('2030-01-01'))",
  "throwIf(startsWith(s, 'S'), s)",
  'toFixedString(tags[1], 1)',
  'toDate(d)',
  'cityHash64(s, tenant)',
] as const
const failing = [
  'toUInt8(concat(s, tenant))',
  'nosuch',
  'intDiv(1, n - 3)',
  'toDate(tenant)',
  "throwIf(n = 5, 'five')",
] as const
const sums = [
  'count()',
  'sum(n)',
  'max(s)',
  'min(id)',
  'uniqExact(tenant)',
  'sum(toUInt64(s))',
  'arraySort(groupUniqArray(tags[1]))',
  'max(d)',
  'countIf(n > 3)',
] as const
const keys = ['tenant', 'n % 5', 'toYYYYMM(d)', 'tags[1]', 'toUInt64(s) % 3'] as const

export class RandomReads {
  readonly #random: SeededRandom
  #count = 0

  constructor(random: SeededRandom) {
    this.#random = random
  }

  /** Undefined behind the last of them. */
  next(countMax: number): Read | undefined {
    if (this.#count >= countMax) return undefined
    this.#count += 1
    const random = this.#random
    const parameters = this.#parameters()
    const draw = random.below(10)
    if (draw === 0) return this.#read({ pipe: random.pick(pipes), sql: null, parameters })
    if (draw < 3) {
      const pipe = random.pick(pipes)
      return this.#read({ pipe, sql: this.#query(random.below(3) === 0 ? 1 : 0, '_'), parameters })
    }
    if (draw === 3) {
      const value = random.pick(['count()', 'sum(n)', 'max(id)'])
      const sql = `SELECT 'x' AS name, toFloat64(${value}) AS value FROM ${this.#source(1)}${this.#where(1)}`
      return { ...this.#read({ pipe: null, sql, parameters }), format: 'Prometheus' }
    }
    if (draw === 4) {
      const sql = `SELECT * FROM ${random.pick(['open@_quarantine', 'ev@_quarantine', 'outs@_quarantine', 'outs@', 'nosuch@'])} ORDER BY ALL`
      return this.#read({ pipe: null, sql, parameters })
    }
    return this.#read({ pipe: null, sql: this.#query(2), parameters })
  }

  #read({ pipe, sql, parameters }: Pick<Read, 'pipe' | 'sql' | 'parameters'>): Read {
    const usesFixed = /fixed|under/.test(`${pipe} ${sql}`) && parameters.has('tenant')
    return { pipe, sql, format: this.#random.pick(formats), parameters, usesFixed }
  }

  #parameters(): ParameterValues {
    const random = this.#random
    const given = new Map<string, string>()
    if (random.below(2) === 0) given.set('tenant', random.pick(['SECRETT', 'b', '', 'a', "x' OR 1 = 1 --"]))
    if (random.below(3) === 0) given.set('low', random.pick(['-9', '3', '-1000']))
    if (random.below(3) === 0) given.set('high', random.pick(['9', '0', '1000']))
    return given
  }

  #query(depth: number, source?: string): string {
    const random = this.#random
    const from = source ?? this.#source(depth)
    const where = this.#where(depth)
    const draw = random.below(8)
    if (draw < 3) {
      const list = Array.from({ length: 1 + random.below(3) }, (_, index) => `${this.#value()} AS c${index}`).join(', ')
      const limit = random.pick(['', '', ' LIMIT 5', ' LIMIT 3 OFFSET 2'])
      return `SELECT ${list} FROM ${from}${where} ORDER BY ALL${limit}`
    }
    if (draw === 3) return `SELECT * FROM ${from}${where} ORDER BY id, tenant, n, s LIMIT ${random.pick([1, 7, 1000])}`
    if (draw < 6) {
      const key = random.pick(keys)
      const having = random.pick(['', '', ' HAVING count() > 1'])
      return `SELECT ${key} AS k, ${random.pick(sums)} AS a, ${random.pick(sums)} AS b FROM ${from}${where} GROUP BY k${having} ORDER BY ALL`
    }
    if (draw === 6) return `SELECT ${random.pick(sums)} AS a, ${random.pick(sums)} AS b FROM ${from}${where}`
    return `SELECT id, sum(n) OVER (ORDER BY id, s) AS w FROM ${from}${where} ORDER BY ALL LIMIT 20`
  }

  #value(): string {
    return this.#random.below(25) === 0 ? this.#random.pick(failing) : this.#random.pick(values)
  }

  #source(depth: number): string {
    const random = this.#random
    const draw = depth > 0 ? random.below(12) : 11
    const inner = (): string => random.pick(sources)
    if (draw === 0) return `(SELECT * FROM ${this.#source(depth - 1)}${this.#where(0)})`
    if (draw === 1)
      return `(SELECT id, tenant, n, s, tags, d FROM ${inner()} UNION ALL SELECT id, tenant, n, s, tags, d FROM ${inner()})`
    if (draw === 2) {
      const kind = random.pick(['INNER', 'LEFT', 'SEMI LEFT', 'ANTI LEFT'])
      return `(SELECT l.id AS id, l.tenant AS tenant, l.n AS n, l.s AS s, l.tags AS tags, l.d AS d FROM ${inner().replace(' FINAL', '')} AS l ${kind} JOIN (SELECT * FROM ${inner()}) AS r ON l.id = r.id)`
    }
    if (draw === 3) return `view(SELECT * FROM ${inner()}${this.#where(0)})`
    return inner()
  }

  #where(depth: number): string {
    const random = this.#random
    const draw = random.below(12)
    const number = random.pick([-500, -3, 0, 3, 7, 12, 39, 1000])
    if (draw < 3) return ''
    if (draw === 3)
      return ` WHERE ${random.pick(values)} != ${random.pick(["''", '0'])}`.replace(
        /(?:tenant|s|tags\[1\]|tenant\)|1\)|s\)) != 0$/,
        's != 1',
      )
    if (draw === 4 && depth > 0)
      return ` WHERE id ${random.pick(['IN', 'NOT IN'])} (SELECT id FROM ${random.pick(sources)}${this.#where(0)})`
    if (draw === 5 && depth > 0) return ` WHERE n <= (SELECT max(n) FROM ${random.pick(sources)})`
    if (draw === 6) return ` WHERE toUInt64(s) > ${Math.abs(number)}`
    if (draw === 7) return ` WHERE throwIf(startsWith(tenant, 'SECRET')) = 0 AND n > ${number}`
    if (draw === 8) return ` WHERE tenant LIKE '%${random.pick(['a', 'b', 'SECRET', 'T'])}%' OR 1`
    if (draw === 9) return ` WHERE intDiv(1000, n + 3) > ${number}`
    if (draw === 10) return ` WHERE has(tags, '${random.pick(['a', '7', 'SECRETA'])}')`
    return ` WHERE n ${random.pick(['<', '>', '=', '!='])} ${number}`
  }
}
