// Graphs of views at random, filled by events, imports and replaces: each data source must have what the queries of the views into it
// give over all rows that its sources have taken. Those lie in shadow tables besides, which no view reads.

import t from 'tap'
import { openTestService, type TestService } from '../support/api/test-service.ts'
import { ViewCalls } from '../support/api/view-calls.ts'
import { SeededRandom, testSeed } from '../support/seeded-random.ts'
import { byTier } from '../support/tier.ts'

const columns = 'id UInt64, g String, n Int64'
const csvColumns = 'id,g,n'

interface ModelView {
  readonly source: string
  readonly target: string
  /** Over rows `FROM SOURCE`. */
  readonly sql: string
}

class ViewModel {
  readonly #service: TestService
  readonly #views: ViewCalls
  readonly #random: SeededRandom
  readonly #modelled: ModelView[] = []
  /** By level: sources first. */
  readonly #levels: string[][] = [[]]
  readonly #sums: ModelView[] = []
  #rowCount = 0

  constructor(service: TestService, random: SeededRandom) {
    this.#service = service
    this.#views = new ViewCalls(service)
    this.#random = random
  }

  async build({ hasNull }: { readonly hasNull: boolean }): Promise<void> {
    for (let index = 0; index < 3; index += 1) {
      const engine = hasNull && index === 0 ? { engine: 'Null' } : {}
      await this.#service.create(`s${index}`, columns, engine)
      await this.#service.create(`shadow_s${index}`, columns)
      this.#levels[0]?.push(`s${index}`)
    }
    for (let level = 1; level <= 4; level += 1) {
      const names = [`l${level}_a`, `l${level}_b`]
      for (const name of names) {
        const isNull = hasNull && level < 4 && this.#pick([true, false])
        await this.#service.create(name, columns, isNull ? { engine: 'Null' } : {})
        // Two views into one data source, of any earlier ones: rows come to it by several ways.
        for (let count = 0; count < 2; count += 1) await this.#addView(name, this.#pick(this.#levels.flat()))
      }
      this.#levels.push(names)
    }
    for (const [index, source] of this.#levels.flat().entries()) await this.#addSum(`sum_${index}`, source)
  }

  /** One change of the rows of a source, the same for its shadow. */
  async step(kinds: readonly ('events' | 'import' | 'replace')[]): Promise<void> {
    const source = this.#pick(this.#levels[0] ?? [])
    const kind = this.#pick(kinds)
    const rows = Array.from({ length: 1 + this.#random.below(40) }, () => this.#row())
    if (kind === 'events') {
      const bad = this.#pick([true, false]) ? [{ id: 'no number', g: 'x', n: 'none' }] : []
      await this.#views.send(source, [...rows, ...bad])
      await this.#views.send(`shadow_${source}`, rows)
      return
    }
    const body = [csvColumns, ...rows.map(({ id, g, n }) => `${id},${g},${n}`)].join('\n')
    for (const name of [source, `shadow_${source}`]) {
      const mode = kind === 'replace' ? 'replace' : 'append'
      const { status, text } = await this.#service.call(
        'POST',
        `/v0/datasources?mode=${mode}&name=${name}&format=csv`,
        { body },
      )
      if (status !== 200) throw new Error(`${mode} of ${name} answered ${status}: ${text}`)
    }
  }

  /** Names of what has other rows than the model. */
  async differences(isKept: (name: string) => Promise<boolean>): Promise<readonly string[]> {
    const wrong: string[] = []
    const digest = 'count(), sum(n), sum(cityHash64(id, g, n))'
    for (const name of this.#levels.slice(1).flat()) {
      if (!(await isKept(name))) continue
      const found = await this.#service.rows(`SELECT ${digest} FROM ${name}`)
      const expected = await this.#service.rows(`SELECT ${digest} FROM ${this.#contentOf(name)}`)
      if (String(found) !== String(expected)) wrong.push(`${name}: ${found} instead of ${expected}`)
    }
    for (const { source, target } of this.#sums) {
      const found = await this.#service.rows(
        `SELECT g, countMerge(c), sum(total), uniqExactMerge(ids) FROM ${target} GROUP BY g ORDER BY g`,
      )
      const expected = await this.#service.rows(
        `SELECT g, count(), sum(n), uniqExact(id) FROM ${this.#contentOf(source)} GROUP BY g ORDER BY g`,
      )
      if (String(found) !== String(expected)) wrong.push(`${target}: ${found} instead of ${expected}`)
    }
    return wrong
  }

  async #addView(target: string, source: string): Promise<void> {
    const sql = this.#pick([
      'SELECT id, g, n + 1 AS n FROM SOURCE',
      'SELECT id, g, n FROM SOURCE WHERE n % 3 != 0',
      "SELECT id, concat(g, '_') AS g, n * 2 AS n FROM SOURCE WHERE id % 2 = 0",
      'SELECT id + k AS id, g, n FROM SOURCE ARRAY JOIN [1, 2] AS k',
    ])
    this.#modelled.push({ source, target, sql })
    const pipe = `p${this.#modelled.length}`
    const cast = `SELECT toUInt64(id) AS id, g, toInt64(n) AS n FROM (${sql})`
    await this.#views.fill(pipe, cast.replace('SOURCE', source), { datasource: target })
  }

  async #addSum(target: string, source: string): Promise<void> {
    const sql = `SELECT g, countState() AS c, sumSimpleState(n) AS total, uniqExactState(id) AS ids FROM ${source} GROUP BY g`
    await this.#views.fill(`p_${target}`, sql, { datasource: target })
    this.#sums.push({ source, target, sql })
  }

  /** What stands behind FROM for all rows that a data source has taken. */
  #contentOf(name: string): string {
    if (this.#levels[0]?.includes(name)) return `shadow_${name}`
    const into = this.#modelled.filter(({ target }) => target === name)
    const parts = into.map(
      ({ source, sql }) => `SELECT id, g, n FROM (${sql.replace('SOURCE', this.#contentOf(source))})`,
    )
    return `(${parts.join(' UNION ALL ')})`
  }

  #row() {
    this.#rowCount += 1
    return { id: this.#rowCount, g: `g${this.#random.below(5)}`, n: this.#random.below(100) - 50 }
  }

  #pick<Item>(items: readonly Item[]): Item {
    const item = items[this.#random.below(items.length)]
    if (item === undefined) throw new Error('there is nothing to pick from')
    return item
  }
}

const seed = testSeed()
t.comment(`SEED=${seed}`)
t.setTimeout(1_200_000)

for (const hasNull of [true, false]) {
  t.test(
    hasNull ? 'graphs with landings that keep no rows' : 'graphs with replaces',
    { timeout: 1_200_000 },
    async (t) => {
      const service = await openTestService(t)
      const model = new ViewModel(service, new SeededRandom(seed + Number(hasNull)))
      await model.build({ hasNull })
      const kinds = hasNull ? (['events', 'import'] as const) : (['events', 'import', 'import', 'replace'] as const)
      const steps = byTier({ quick: 12, full: 36, soak: 1_000 })
      for (let count = 0; count < steps; count += 1) {
        await model.step(kinds)
        if (count % 12 !== 11) continue
        const isKept = async (name: string): Promise<boolean> => {
          const { json } = await service.call('GET', `/v0/datasources/${name}`)
          // The shape is what other tests check.
          return (json as { readonly engine: { readonly engine: string } }).engine.engine !== 'Null'
        }
        const wrong = await model.differences(isKept)
        t.same(wrong, [], `after ${count + 1} steps, SEED=${seed}`)
        if (wrong.length > 0) return
      }
    },
  )
}
