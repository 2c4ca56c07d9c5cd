// A view that reads what other views fill, and does not take a block: what it lacks is repeated from the data source above, through all of them.

import t, { type Test } from 'tap'
import { type Answer, liveOn, openTestService, type TestService } from '../support/api/test-service.ts'
import { ViewCalls } from '../support/api/view-calls.ts'
import { createTestDirectory } from '../support/store/test-store.ts'

interface Shown {
  readonly view: string | null
  readonly state: string
  readonly blocks: number
}

/** A data source with views behind it, of which those that are said to fail do at 13 and above until they are mended. */
class Cascade {
  readonly service: TestService
  readonly name: string
  readonly #views: ViewCalls

  constructor(service: TestService, name: string) {
    this.service = service
    this.name = name
    this.#views = new ViewCalls(service)
  }

  async create(engine: Readonly<Record<string, string>> = {}): Promise<this> {
    await this.service.create(this.name, 'id UInt32, n UInt32', engine)
    await this.service.create(`${this.name}_mended`, 'n UInt32')
    return this
  }

  /** Fills `<name>_<to>` out of `<name>_<from>`, or of the data source itself. */
  async view(from: string, to: string, { sql = 'id, n', fails = false, engine = {} } = {}): Promise<void> {
    const { name } = this
    const source = from === '' ? name : `${name}_${from}`
    const unlucky = `throwIf(n >= 13 AND (SELECT count() FROM ${name}_mended) = 0, 'unlucky')`
    const where = fails ? ` WHERE ${unlucky} = 0` : ''
    const target = { datasource: `${name}_${to}`, ...engine }
    await this.#views.fill(`${name}_${from || 'top'}_${to}`, `SELECT ${sql} FROM ${source}${where}`, target)
  }

  events(id: number, n = 1): Promise<Answer> {
    return this.service.events(this.name, JSON.stringify({ id, n }), { wait: 'true' })
  }

  import(id: number, n = 1): Promise<Answer> {
    return this.service.append(this.name, 'ndjson', JSON.stringify({ id, n }))
  }

  async park(id: number): Promise<void> {
    await this.service.events(this.name, JSON.stringify({ id, n: 13 }))
    await this.service.untilStored(this.name)
  }

  async mend(): Promise<void> {
    await this.service.events(`${this.name}_mended`, '{"n":1}', { wait: 'true' })
  }

  async catchUp(pipe: string): Promise<unknown> {
    const path = `/v0/pipes/${this.name}_${pipe}/nodes/${this.name}_${pipe}_view/catch_up`
    return (await this.service.call('POST', path)).json
  }

  /** What lacks rows of the data source, as `<from>_<to> <state>`, with the blocks that are kept. */
  async behind(): Promise<readonly string[]> {
    const { json } = await this.service.call('GET', `/v0/datasources/${this.name}`)
    // The shape is what other tests check.
    const { views_behind: behind = [] } = json as { readonly views_behind?: readonly Shown[] }
    const pipeOf = (view: string | null): string => (view ?? '').split('.')[0]?.slice(this.name.length + 1) ?? ''
    return behind.map(({ view, state, blocks }) => `${pipeOf(view)} ${state} ${blocks}`).toSorted()
  }

  /** Fails unless each of these tables has each id below `idCount` so often. */
  async expect(t: Test, idCount: number, tables: readonly string[], times = 1): Promise<void> {
    for (const table of tables) {
      const [counts] = await this.service.rows(`SELECT count(), uniqExact(id) FROM ${this.name}_${table}`)
      t.same(counts, [String(times * idCount), String(idCount)], `${this.name}_${table}`)
    }
  }
}

t.test('views that fail behind other views', async (t) => {
  const service = await openTestService(t)
  const open = (name: string, engine = {}): Promise<Cascade> => new Cascade(service, name).create(engine)

  await t.test('the last of three is parked alone, and catches up through the others while rows come', async (t) => {
    const cascade = await open('deep')
    await cascade.view('', 'a')
    await cascade.view('a', 'b')
    await cascade.view('b', 'c', { fails: true })
    await cascade.view('b', 'beside')
    await cascade.events(0)
    await cascade.park(1)
    t.same(await cascade.behind(), ['b_c parked 1'])
    t.match((await cascade.import(2, 13)).json, { imported_rows: 1, views_behind: { count: 1 } })
    t.match((await cascade.events(3)).json, { successful_rows: 1, views_behind: { count: 1 } })
    await cascade.expect(t, 4, ['a', 'b', 'beside'])
    await cascade.expect(t, 1, ['c'])
    t.match(await cascade.catchUp('b_c'), { behind: { state: 'parked', blocks: 3, error: /unlucky/ } })
    t.same(await cascade.behind(), ['b_c parked 3'], 'those above it go on')

    await cascade.mend()
    let [next, isDone] = [4, false]
    const send = async (): Promise<void> => {
      while (!isDone || next < 12) {
        const id = next
        next += 1
        const { status, text } = await (id % 3 === 0 ? cascade.import(id) : cascade.events(id, 14))
        t.equal(status, 200, text)
      }
    }
    const sent = send()
    t.same(await cascade.catchUp('b_c'), { behind: null })
    isDone = true
    await sent
    await service.untilStored('deep')
    t.same(await cascade.behind(), [])
    await cascade.expect(t, next, ['a', 'b', 'beside', 'c'])
  })

  await t.test('an import parks one, and is kept for it', async (t) => {
    const cascade = await open('imported')
    await cascade.view('', 'a')
    await cascade.view('a', 'b', { fails: true, engine: { engine: 'SummingMergeTree', engine_sorting_key: 'id' } })
    t.equal((await cascade.import(0, 13)).status, 422)
    t.same(await cascade.behind(), ['a_b parked 1'])
    t.equal((await cascade.import(1)).status, 200)
    await cascade.expect(t, 2, ['a'])
    await cascade.mend()
    t.same(await cascade.catchUp('a_b'), { behind: null })
    await cascade.expect(t, 2, ['a', 'b'])
  })

  await t.test('one in the middle, with one behind it', async (t) => {
    const cascade = await open('middle')
    await cascade.view('', 'a')
    await cascade.view('a', 'b', { fails: true })
    await cascade.view('b', 'c', { sql: 'id, n AS m' })
    await cascade.park(0)
    await cascade.import(1)
    t.same(await cascade.behind(), ['a_b parked 2'])
    await cascade.mend()
    t.same(await cascade.catchUp('a_b'), { behind: null })
    await cascade.expect(t, 2, ['a', 'b', 'c'])
  })

  await t.test('one that fails at a later block leaves those above it whole', async (t) => {
    const cascade = await open('later')
    const fails = 'n >= 12 AND (SELECT max(n) FROM later_mended) < n - 11'
    await cascade.view('', 'a')
    await cascade.view('a', 'b', { sql: `id, n + throwIf(${fails}, 'unlucky') AS n` })
    await cascade.view('a', 'beside')
    for (const n of [12, 1, 13, 1]) await cascade.import(n + (n === 1 ? 100 : 0), n)
    t.same(await cascade.behind(), ['a_b parked 4'])
    await cascade.mend()
    t.match(await cascade.catchUp('a_b'), { behind: { state: 'parked', blocks: 2 } })
    t.same(await cascade.behind(), ['a_b parked 2'], 'it has those before, and the one above it has all')
    t.equal(await service.count('later_b'), 2)
    t.equal(await service.count('later_a'), 4)
    await service.events('later_mended', '{"n":2}', { wait: 'true' })
    t.same(await cascade.catchUp('a_b'), { behind: null })
    const [sums] = await service.rows('SELECT count(), sum(n) FROM later_b')
    for (const table of ['a', 'b', 'beside'])
      t.same(await service.rows(`SELECT count(), sum(n) FROM later_${table}`), [sums], table)
    t.equal(sums?.[0], '4')
  })

  await t.test('one that fails at what the one above it catches up with does not hold that up', async (t) => {
    const cascade = await open('above')
    await cascade.view('', 'a', { fails: true })
    await cascade.view('a', 'b', { sql: 'id, n, throwIf(n = 12) AS z' })
    for (const [id, n] of [13, 1, 12, 1].entries()) await cascade.import(id, n)
    t.same(await cascade.behind(), ['top_a parked 4'])
    await cascade.mend()
    t.same(await cascade.catchUp('top_a'), { behind: null })
    t.same(await cascade.behind(), ['a_b incomplete 0'], 'the one above it reads another data source')
    await cascade.expect(t, 4, ['a'])
  })

  await t.test(
    'two on one way that fail at different blocks are kept theirs, and lose them with the SQL of the upper one',
    async (t) => {
      const cascade = await open('twofold')
      await cascade.view('', 'a', { sql: "id, n + throwIf(n = 20, 'unlucky') AS n" })
      await cascade.view('a', 'b', { fails: true })
      await cascade.view('a', 'beside')
      for (const [id, n] of [1, 13, 1, 20, 1].entries()) await cascade.import(id, n)
      t.same(await cascade.behind(), ['a_b parked 4', 'top_a parked 2'])
      await cascade.mend()
      t.match(await cascade.catchUp('a_b'), { behind: { state: 'parked', blocks: 4 } }, 'not before the one above it')
      for (const [table, count] of [
        ['a', 3],
        ['b', 1],
        ['beside', 3],
      ] as const)
        await cascade.expect(t, count, [table])
      const path = '/v0/pipes/twofold_top_a/nodes/twofold_top_a_view'
      const edited = await service.call('PUT', path, { body: 'SELECT id, toUInt64(n) AS n FROM twofold' })
      t.match(edited.json, { warnings: [{}, { text: /or for one that gets them through it, are given up/ }] })
      t.match(await cascade.catchUp('top_a'), { behind: { state: 'incomplete' } })
      t.same(await cascade.behind(), ['a_b incomplete 0', 'top_a incomplete 0'])
    },
  )

  await t.test('two beside each other that fail at one block', async (t) => {
    const cascade = await open('pair')
    await cascade.view('', 'a')
    for (const to of ['b', 'c']) await cascade.view('a', to, { fails: true })
    for (const [id, n] of [1, 13, 1].entries()) await cascade.import(id, n)
    t.same(await cascade.behind(), ['a_b parked 2', 'a_c parked 2'])
    const { json: fresh } = await service.call('GET', '/v0/datasources/pair_b/freshness')
    t.match(fresh, { views_behind: [], lacks_rows_of: [{ view: 'pair_a_b.pair_a_b_view', state: 'parked' }] })
    await cascade.mend()
    for (const pipe of ['a_c', 'a_b']) t.same(await cascade.catchUp(pipe), { behind: null })
    await cascade.events(3, 14)
    await cascade.expect(t, 4, ['a', 'b', 'c'])
  })

  await t.test('one that rows reach by two ways', async (t) => {
    const cascade = await open('diamond')
    await cascade.view('', 'joined', { sql: 'id, n, toUInt8(1) AS way' })
    await cascade.view('', 'u')
    await cascade.view('u', 'joined', { sql: 'id, n, toUInt8(2) AS way' })
    await cascade.view('joined', 'end', { fails: true, sql: 'id, n, way' })
    await cascade.events(0)
    await cascade.park(1)
    await cascade.import(2, 13)
    t.same(await cascade.behind(), ['joined_end parked 2'])
    await cascade.expect(t, 3, ['joined'], 2)
    await cascade.mend()
    t.same(await cascade.catchUp('joined_end'), { behind: null })
    await cascade.import(3)
    await cascade.expect(t, 4, ['joined', 'end'], 2)
    await cascade.expect(t, 4, ['u'])
  })

  await t.test('one behind a data source that keeps no rows', async (t) => {
    const cascade = await open('null', { engine: 'Null' })
    await service.create('null_hands_on', 'id UInt32, n UInt32', { engine: 'Null' })
    await cascade.view('', 'hands_on')
    await cascade.view('hands_on', 'risky', { fails: true })
    await cascade.view('hands_on', 'sound')
    await cascade.events(0)
    await cascade.park(1)
    await cascade.import(2)
    t.same(await cascade.behind(), ['hands_on_risky parked 2'])
    await cascade.expect(t, 3, ['sound'])
    await cascade.mend()
    t.same(await cascade.catchUp('hands_on_risky'), { behind: null })
    await cascade.expect(t, 3, ['sound', 'risky'])
  })

  await t.test('of a block that it has in part it takes the rest', async (t) => {
    const cut = { engine: 'MergeTree', engine_sorting_key: 'id', engine_partition_key: 'id % 40' }
    const cascade = await open('cut', cut)
    await cascade.view('', 'a', { engine: cut })
    await cascade.view('a', 'b', { fails: true })
    const rows = Array.from({ length: 40 }, (_, id) => JSON.stringify({ id, n: id === 39 ? 13 : 1 }))
    t.equal((await service.append('cut', 'ndjson', rows.join('\n'))).status, 422)
    t.same(await cascade.behind(), ['a_b parked 1'])
    await cascade.mend()
    t.same(await cascade.catchUp('a_b'), { behind: null })
    await cascade.expect(t, 40, ['a', 'b'])
  })

  await t.test('what comes in another way leaves it incomplete, and is told', async (t) => {
    const others: readonly (readonly [string, (cascade: Cascade) => Promise<Answer>])[] = [
      ['by_events', ({ name }) => service.events(`${name}_a`, '{"id":9,"n":1}', { wait: 'true' })],
      ['by_import', ({ name }) => service.append(`${name}_a`, 'ndjson', '{"id":9,"n":1}')],
      ['by_truncate', ({ name }) => service.call('POST', `/v0/datasources/${name}_a/truncate`)],
      [
        'by_edit',
        ({ name }) => {
          const path = `/v0/pipes/${name}_top_a/nodes/${name}_top_a_view`
          return service.call('PUT', path, { body: `SELECT id, toUInt32(n + 0) AS n FROM ${name}` })
        },
      ],
      [
        'by_unlink',
        ({ name }) => service.call('DELETE', `/v0/pipes/${name}_top_a/nodes/${name}_top_a_view/materialization`),
      ],
    ]
    for (const [name, change] of others) {
      const cascade = await open(name)
      await cascade.view('', 'a')
      await cascade.view('a', 'b', { fails: true })
      await cascade.import(0, 13)
      t.same(await cascade.behind(), ['a_b parked 1'], name)
      const { status, text } = await change(cascade)
      t.ok(status < 300, text)
      const shown = await service.call('GET', `/v0/datasources/${name}_a`)
      t.match(
        shown.json,
        { views_behind: [{ view: `${name}_a_b.${name}_a_b_view`, state: 'incomplete', blocks: 0 }] },
        name,
      )
    }
  })

  await t.test('behind views that may make something else of a block again it is incomplete', async (t) => {
    for (const [name, sql] of [
      ['timed', 'id, n, now() AS at'],
      ['joined', 'id, n, (SELECT count() FROM joined_mended) AS c'],
      ['limited', 'id, n FROM (SELECT * FROM limited LIMIT 5)'],
    ] as const) {
      const cascade = await open(name)
      await cascade.view('', 'a', { sql: name === 'limited' ? 'id, n' : sql })
      if (name === 'limited') {
        const body = `SELECT ${sql}`
        t.equal((await service.call('PUT', '/v0/pipes/limited_top_a/nodes/limited_top_a_view', { body })).status, 200)
      }
      await cascade.view('a', 'b', { fails: true })
      t.equal((await cascade.import(0, 13)).status, 422)
      t.same(await cascade.behind(), ['a_b incomplete 0'], name)
      const lacking = await service.call('GET', `/v0/datasources/${name}_b`)
      t.match(lacking.json, { lacks_rows_of: [{ state: 'incomplete', remedy: /POST/ }] }, name)
    }
  })

  await t.test('what would bring rows to it twice is refused while it is parked', async (t) => {
    const cascade = await open('refused')
    await cascade.view('', 'a')
    await cascade.view('a', 'b', { fails: true })
    await cascade.import(0, 13)
    const views = new ViewCalls(service)
    for (const answer of [
      await views.tryFill('refused_reading', 'SELECT id FROM refused_a', { datasource: 'refused_other' }),
      await views.tryFill('refused_filling', 'SELECT id, n FROM deep', { datasource: 'refused_a' }),
    ]) {
      t.equal(answer.status, 409, answer.text)
      t.match(answer.text, /refused_a_b_view lacks blocks/)
    }
    t.same(await cascade.behind(), ['a_b parked 1'])
  })
})

t.test('over a restart one behind another view stays parked, with its blocks', async (t) => {
  const directory = await createTestDirectory()
  t.teardown(() => directory.remove())
  const first = await new Cascade(await liveOn(t, directory.path), 'ev').create()
  await first.view('', 'a')
  await first.view('a', 'b', { fails: true })
  await first.events(0)
  await first.park(1)
  await first.import(2, 13)
  await first.events(3)
  await first.service.close()

  const second = new Cascade(await liveOn(t, directory.path), 'ev')
  t.same(await second.behind(), ['a_b parked 3'])
  await second.events(4, 14)
  t.match(await second.catchUp('a_b'), { behind: { state: 'parked', blocks: 4 } })
  await second.mend()
  t.same(await second.catchUp('a_b'), { behind: null })
  await second.expect(t, 5, ['a', 'b'])
})
