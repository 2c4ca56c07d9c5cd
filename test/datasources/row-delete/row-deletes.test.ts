import t from 'tap'
import type { DataSource } from '../../../src/catalog/data-source.types.ts'
import type { PlannedRowDelete, RowDeleteCheckpoint } from '../../../src/datasources/row-delete/row-delete.types.ts'
import { RowDeletes, type RowDeletesDeps } from '../../../src/datasources/row-delete/row-deletes.ts'
import { createTables } from '../../../src/datasources/tables.ts'
import { ApiError, errors } from '../../../src/shared/errors/errors.ts'
import { openEmbeddedStore } from '../../../src/store/embedded/embedded-store.ts'
import type { RowDeletes as StoredDeletes } from '../../../src/store/row-deletes.types.ts'
import { StoreError } from '../../../src/store/store-error.ts'
import { testDataSource } from '../../support/ingest/fake-store.ts'
import { createTestDirectory, silentLogger, testStoreOptions } from '../../support/store/test-store.ts'

const directory = await createTestDirectory()
const store = await openEmbeddedStore(testStoreOptions(directory.path), silentLogger)
t.teardown(async () => {
  await store.close()
  await directory.remove()
})

const limits = { queryTimeMaxMs: 10_000, resultBytesMax: 1_000_000 }
const noSignal = new AbortController().signal
let runCount = 0

/** A table with the numbers from 0 to 999, and what deletes rows of it. */
async function open(given: Partial<RowDeletesDeps> = {}) {
  const source = testDataSource('n UInt64, text String')
  await createTables(store.tables, source)
  await insert(source, 'number, toString(number) FROM numbers(1000)')
  const find = (id: string): DataSource | undefined => (id === source.id ? source : undefined)
  const deps: RowDeletesDeps = {
    catalog: { find },
    store,
    ingest: { isHeld: () => false, withBarrier: (_barrier, change) => change() },
    logger: silentLogger,
    alone: (_dataSource, change) => change(source),
    whileRemoving: (_ids, change) => change(),
    ...given,
  }
  return { source, deletes: new RowDeletes(deps, limits) }
}

async function insert({ id }: DataSource, select: string): Promise<void> {
  await store.command(`INSERT INTO ws_0001.${id} SELECT ${select}`)
}

async function countOf({ id }: DataSource): Promise<number> {
  return await store.tables.countRows(id)
}

function runOf({ order }: PlannedRowDelete, checkpoint: RowDeleteCheckpoint | null = null) {
  const saved: RowDeleteCheckpoint[] = []
  runCount += 1
  const save = async (next: RowDeleteCheckpoint): Promise<void> => void saved.push(next)
  return { id: `run-${runCount}`, order, checkpoint, signal: noSignal, save, saved }
}

function plan(deletes: RowDeletes, source: DataSource, condition: string, isCounted = false) {
  return deletes.plan(source, { condition, isCounted }, noSignal)
}

/** The deletes of the store, some of them done otherwise. */
function storeWith(given: Partial<StoredDeletes>): RowDeletesDeps['store'] {
  const { rowDeletes } = store
  const own: StoredDeletes = {
    countMatching: rowDeletes.countMatching.bind(rowDeletes),
    judge: rowDeletes.judge.bind(rowDeletes),
    begin: rowDeletes.begin.bind(rowDeletes),
    countJudged: rowDeletes.countJudged.bind(rowDeletes),
    release: rowDeletes.release.bind(rowDeletes),
    find: rowDeletes.find.bind(rowDeletes),
    takeBack: rowDeletes.takeBack.bind(rowDeletes),
    unfinished: rowDeletes.unfinished.bind(rowDeletes),
  }
  return {
    rowDeletes: { ...own, ...given },
    sync: () => store.sync(),
    trials: store.trials,
    views: store.views,
  }
}

t.test('rows that match go, the others stay, and the count is theirs', async (t) => {
  const { source, deletes } = await open()
  const planned = await plan(deletes, source, "n < 100 AND text != '7'", true)
  t.equal(planned.rowCount, 99)
  t.equal(await countOf(source), 1_000, 'a plan deletes nothing')
  const run = runOf(planned)
  t.same(await deletes.run(run), { rowsDeleted: 99 })
  t.same(run.saved, [{ rowCount: null }, { rowCount: 99 }])
  t.equal(await countOf(source), 901)
  t.same(await deletes.run({ ...run, checkpoint: { rowCount: 99 } }), { rowsDeleted: 99 }, 'again it does nothing')
  t.equal(await countOf(source), 901)
})

t.test('a row for which the condition is NULL stays', async (t) => {
  const { source, deletes } = await open()
  t.same(await deletes.run(runOf(await plan(deletes, source, 'nullIf(n, 5) < 10'))), { rowsDeleted: 9 })
  t.equal(await countOf(source), 991)
})

t.test('rows that come once the delete is noted are not touched', async (t) => {
  const { source, deletes } = await open({
    store: storeWith({
      countJudged: async (deleted, parts) => {
        await store.command(`INSERT INTO ws_0001.${deleted.table} SELECT 1, 'late' FROM numbers(10)`)
        return await store.rowDeletes.countJudged(deleted, parts)
      },
    }),
  })
  t.same(await deletes.run(runOf(await plan(deletes, source, 'n = 1'))), { rowsDeleted: 1 })
  t.equal(await store.tables.countRows(source.id), 1_009)
})

t.test('a run that is repeated goes on with what the engine has noted', async (t) => {
  let isDying = true
  const { source, deletes } = await open({
    store: storeWith({
      countJudged: async (deleted, parts) => {
        if (isDying) throw new StoreError({ kind: 'stopped', message: 'The engine stopped' })
        return await store.rowDeletes.countJudged(deleted, parts)
      },
    }),
  })
  const run = runOf(await plan(deletes, source, 'n >= 500'))
  t.same(await deletes.run(run), { rowsDeleted: null }, 'nobody has counted them')
  isDying = false
  await insert(source, "number, 'late' FROM numbers(600)")
  t.same(await deletes.run({ ...run, checkpoint: null }), { rowsDeleted: null }, 'a checkpoint may be lost')
  t.equal(await countOf(source), 1_100)
})

t.test('rows are not counted where the engine has begun meanwhile', async (t) => {
  const { source, deletes } = await open({
    store: storeWith({
      countJudged: async (deleted, parts) => {
        // As an engine does that was started again.
        await store.rowDeletes.release(deleted.table)
        for (;;) if ((await store.rowDeletes.find(deleted))?.isDone === true) break
        return await store.rowDeletes.countJudged(deleted, parts)
      },
    }),
  })
  t.same(await deletes.run(runOf(await plan(deletes, source, 'n < 10'))), { rowsDeleted: null })
  t.equal(await countOf(source), 990)
})

t.test(
  'a delete outlives the end of the engine before it was noted, and tells it when that comes again and again',
  async (t) => {
    let ends = 2
    const { source, deletes } = await open({
      engineEndsMax: 3,
      store: storeWith({
        begin: async (deleted) => {
          ends -= 1
          if (ends >= 0) throw new StoreError({ kind: 'stopped', message: 'The engine stopped' })
          return await store.rowDeletes.begin(deleted)
        },
      }),
    })
    t.same(await deletes.run(runOf(await plan(deletes, source, 'n < 10'))), { rowsDeleted: 10 })
    ends = Number.POSITIVE_INFINITY
    await t.rejects(deletes.run(runOf(await plan(deletes, source, 'n < 20'))), { code: 'ENGINE_RESTARTED' })
    t.equal(await countOf(source), 990)
  },
)

t.test('a delete outlives ends of the engine in each of its steps', async (t) => {
  const { rowDeletes } = store
  // Each step ends the engine so often, before it is taken and behind it.
  const left = new Map([
    ['find', 4],
    ['judge', 2],
    ['begin', 2],
    ['sync', 3],
  ])
  const stopping = async <Result>(step: string, take: () => Promise<Result>): Promise<Result> => {
    const ends = left.get(step) ?? 0
    left.set(step, ends - 1)
    if (ends > 0 && ends % 2 === 0) throw new StoreError({ kind: 'stopped', message: 'The engine stopped' })
    const taken = await take()
    if (ends > 0) throw new StoreError({ kind: 'stopped', message: 'The engine stopped' })
    return taken
  }
  const base = storeWith({
    find: (deleted) => stopping('find', () => rowDeletes.find(deleted)),
    judge: (...given) => stopping('judge', () => rowDeletes.judge(...given)),
    begin: (deleted) => stopping('begin', () => rowDeletes.begin(deleted)),
  })
  const { source, deletes } = await open({
    store: {
      ...base,
      sync: () => stopping('sync', () => store.sync()),
    },
  })
  const run = runOf(await plan(deletes, source, 'n < 10'))
  t.same(await deletes.run(run), { rowsDeleted: null }, 'nobody has counted them')
  t.equal(await countOf(source), 990)
  t.ok([...left.values()].every((ends) => ends <= 0))
})

t.test('a condition that needs more memory than a statement may have is a fault of the condition', async (t) => {
  const { source, deletes } = await open()
  const text = 'length(repeat(text, 900000)) > 1 and length(arrayMap(x -> repeat(text, 900000), range(10000))) > 0'
  await t.rejects(plan(deletes, source, text, true), { code: 'DELETE_CONDITION_INVALID', status: 400 })
  await t.rejects(deletes.run(runOf(await plan(deletes, source, text))), { code: 'DELETE_CONDITION_INVALID' })
  t.equal(await countOf(source), 1_000)
})

t.test('a condition that fails for a row deletes nothing', async (t) => {
  const { source, deletes } = await open()
  await insert(source, "1, 'no number'")
  const run = runOf(await plan(deletes, source, 'toUInt64(text) = 3'))
  await t.rejects(deletes.run(run), { code: 'DELETE_CONDITION_INVALID', message: /Cannot parse string/ })
  t.same(run.saved, [])
  t.equal(await countOf(source), 1_001)
})

t.test('one that fails for a row that came while it began deletes nothing either', async (t) => {
  const { source, deletes } = await open({
    ingest: {
      isHeld: () => false,
      withBarrier: async ({ dataSource }, change) => {
        await insert(dataSource, "1, 'no number'")
        return await change()
      },
    },
  })
  const run = runOf(await plan(deletes, source, 'toUInt64(text) = 3'))
  await t.rejects(deletes.run(run), { code: 'DELETE_CONDITION_INVALID' })
  t.equal(await store.rowDeletes.find({ table: source.id, id: run.id }), null, 'it is taken back')
  t.equal(await countOf(source), 1_001)
})

t.test('one that the engine fails at later is told, and ends', async (t) => {
  const { source, deletes } = await open({
    store: storeWith({
      // As if the process had been ended before the rows were counted.
      countJudged: async () => {
        throw new StoreError({ kind: 'stopped', message: 'The engine stopped' })
      },
    }),
    ingest: {
      isHeld: () => false,
      withBarrier: async ({ dataSource }, change) => {
        await insert(dataSource, "1, 'no number'")
        return await change()
      },
    },
  })
  const run = runOf(await plan(deletes, source, 'toUInt64(text) = 3'))
  await t.rejects(deletes.run(run), { code: 'DELETE_FAILED', message: /Cannot parse string/ })
  t.equal(await store.rowDeletes.find({ table: source.id, id: run.id }), null)
})

t.test('a delete waits while the data source is replaced', async (t) => {
  const looks = [true, true, false]
  let busyCount = 1
  const { source, deletes } = await open({
    ingest: { isHeld: () => looks.shift() ?? false, withBarrier: (_barrier, change) => change() },
    alone: (dataSource, change) => {
      busyCount -= 1
      if (busyCount >= 0) throw errors.DATASOURCE_BUSY({ name: dataSource.name, what: 'replaced' })
      return change(source)
    },
  })
  t.same(await deletes.run(runOf(await plan(deletes, source, 'n = 1'))), { rowsDeleted: 1 })
  t.same(looks, [])
})

t.test('a delete that is stopped leaves the rest to the engine', async (t) => {
  const stop = new AbortController()
  const { source, deletes } = await open({
    store: storeWith({
      find: async (deleted) => {
        const state = await store.rowDeletes.find(deleted)
        if (state?.isDone === true) stop.abort(errors.SHUTTING_DOWN())
        return state === null ? null : { ...state, isDone: false }
      },
    }),
  })
  const run = { ...runOf(await plan(deletes, source, 'n < 10')), signal: stop.signal }
  await t.rejects(deletes.run(run), { code: 'SHUTTING_DOWN' })
  t.equal(await countOf(source), 990)
})

t.test('the deletes of a data source come one after the other', async (t) => {
  const steps: string[] = []
  const { source, deletes } = await open({
    whileRemoving: async (_ids, change) => {
      steps.push('begin')
      const result = await change()
      steps.push('end')
      return result
    },
  })
  const runs = await Promise.all(['n < 10', 'n < 20', 'n < 30'].map((text) => plan(deletes, source, text)))
  const reports = await Promise.all(runs.map((planned) => deletes.run(runOf(planned))))
  t.same(reports, [{ rowsDeleted: 10 }, { rowsDeleted: 10 }, { rowsDeleted: 10 }])
  t.same(steps, ['begin', 'end', 'begin', 'end', 'begin', 'end'])
})

t.test('what goes with its data source is done, and what never began is not found', async (t) => {
  const { source, deletes } = await open()
  const planned = await plan(deletes, source, 'n = 1')
  const gone = { ...planned, order: { ...planned.order, dataSourceId: 't_00000000000000000000000000000000' } }
  await t.rejects(deletes.run(runOf(gone)), { code: 'DATASOURCE_NOT_FOUND' })
  t.same(await deletes.run(runOf(gone, { rowCount: 5 })), { rowsDeleted: 5 })
})

t.test('conditions that are none', async (t) => {
  const { source, deletes } = await open()
  const wrong: readonly (readonly [text: string, said: RegExp])[] = [
    ['', /it is empty; name the rows, or use "truncate"/],
    ['  ', /it is empty/],
    ['m = 1', /[Uu]nknown .*'?`?m/],
    ['n = (SELECT 1)', /delete_condition/],
    ['n IN (SELECT n FROM numbers(3))', /delete_condition/],
    ['(n AS one) = 1', /cannot name a part of itself with AS/],
    ['n = 1; DROP TABLE x', /./],
    ['n = 1) OR (1', /./],
    ['rand() % 2', /it must not call rand\(\)/],
    ["file('/etc/passwd') = 'x'", /file/],
    ['sum(n) > 1', /./],
    ['_part = 1', /_part/],
    ['__rows.n = 1', /__rows/],
    ['currentDatabase() = text', /./],
    ['arrayJoin([n]) = 1', /./],
    ['text', /./],
  ]
  for (const [text, said] of wrong) {
    const refused = await plan(deletes, source, text).catch((error: unknown) => error)
    const isRefused = refused instanceof ApiError && refused.code === 'DELETE_CONDITION_INVALID'
    t.ok(isRefused, text)
    if (isRefused) t.match(refused.message, said, text)
  }
})

t.test('engines that delete no single rows', async (t) => {
  const { source, deletes } = await open()
  for (const [name, said] of [
    ['Null', /its engine Null keeps no rows/],
    ['Join', /its engine Join deletes no single rows; replace it/],
  ] as const) {
    const other = { ...source, engine: { name, options: {} } }
    await t.rejects(plan(deletes, other, 'n = 1'), { code: 'DELETE_UNSUPPORTED', message: said })
  }
})

t.test('views at any depth are told', async (t) => {
  const { source, deletes } = await open()
  for (const name of ['near', 'far']) {
    await store.command(`CREATE TABLE ws_0001.${name} (n UInt64) ENGINE = MergeTree ORDER BY n`)
  }
  await store.command(`CREATE MATERIALIZED VIEW ws_0001.v1 TO ws_0001.near AS SELECT n FROM ws_0001.${source.id}`)
  await store.command('CREATE MATERIALIZED VIEW ws_0001.v2 TO ws_0001.far AS SELECT n FROM ws_0001.near')
  const { views } = await plan(deletes, source, 'n = 1')
  t.same(
    [...views].sort((a, b) => a.name.localeCompare(b.name)),
    [
      { name: 'v1', target: 'near' },
      { name: 'v2', target: 'far' },
    ],
  )
})
