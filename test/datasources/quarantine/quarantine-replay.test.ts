import { join } from 'node:path'
import t from 'tap'
import { openDataSources } from '../../../src/datasources/datasources.ts'
import { QuarantineReplay, type ReplayDeps } from '../../../src/datasources/quarantine/quarantine-replay.ts'
import type { ReplayRowsRequest } from '../../../src/ingest/ingest.types.ts'
import { openLmdbStorage } from '../../../src/storage/lmdb-storage.ts'
import { openEmbeddedStore } from '../../../src/store/embedded/embedded-store.ts'
import { catalogOver } from '../../support/catalog/test-catalog.ts'
import { openTestIngest } from '../../support/ingest/test-ingest.ts'
import { SeededRandom, testSeed } from '../../support/seeded-random.ts'
import { storeVerbs } from '../../support/store/store-verbs.ts'
import { createTestDirectory, silentLogger, testStoreOptions } from '../../support/store/test-store.ts'
import { byTier } from '../../support/tier.ts'

const directory = await createTestDirectory()
const store = await openEmbeddedStore(testStoreOptions(directory.path), silentLogger)
const storage = await openLmdbStorage(join(directory.path, 'catalog.mdb'))
const catalog = await catalogOver(storage, { now: Date.now })
const limits = { queryTimeMaxMs: 20_000, resultBytesMax: 1_000_000 }
const options = {
  columnsMax: 5,
  missingDataSource: 'create',
  eventsCreatesPerMinuteMax: 2,
  now: Date.now,
  ...limits,
} as const
const dataSource = await (
  await openDataSources(options, {
    ...{ catalog, store, logger: silentLogger },
    ingest: {
      withBarrier: (_, change) => change(),
      withHold: (_, change) => change(),
      replayRows: async () => ({ viewFailure: null }),
      isHeld: () => false,
      refuseHeld: () => undefined,
    },
  })
).create({
  name: 'rows',
  description: '',
  schema: 'a Int32, b Int32 DEFAULT intDiv(10, a), s String',
  engine: { name: 'MergeTree', options: { partition_key: 's', sorting_key: 'a' } },
  type: 'csv',
})
const { id } = dataSource
const ingest = await openTestIngest({ store, dataSources: [dataSource] })
ingest.start()
await store.command(
  'CREATE TABLE ws_0001.sums (s String, n UInt64) ENGINE = MergeTree ORDER BY s SETTINGS non_replicated_deduplication_window = 10000',
)
await store.command(
  `CREATE MATERIALIZED VIEW ws_0001.summing TO ws_0001.sums AS SELECT s, toUInt64(a) AS n FROM ws_0001.${id}`,
)
t.teardown(async () => {
  await ingest.close()
  await catalog.close()
  await storage.close()
  await store.close()
  await directory.remove()
})

const deps: ReplayDeps = { catalog, store, ingest, logger: silentLogger }
const signal = new AbortController().signal
/** Two rows a piece. */
const sizes = { pieceRowsMax: 2 }
/** Of the eighty and more that there are, before or behind each; other seeds try others. */
const stepsTried = byTier({ quick: 2, full: 6, soak: 400 })
const order = { condition: undefined, fixes: new Map([['a', "replaceAll(a, '#', '')"]]) }

/** Seven rows: four fit once they are repaired, two never, and one is refused by its DEFAULT. */
async function fill(): Promise<void> {
  await store.command(`TRUNCATE TABLE ws_0001.${id}`)
  await store.command(`TRUNCATE TABLE ws_0001.${id}_quarantine`)
  await store.command('TRUNCATE TABLE ws_0001.sums')
  const rows = ['#1', '#2', 'x', '#0', '#3', 'y', '#4'].map((a) => `('${a}', NULL, 's${a}', ['a'], ['bad'])`)
  await store.command(
    `INSERT INTO ws_0001.${id}_quarantine (a, b, s, c__error_column, c__error) VALUES ${rows.join(', ')}`,
  )
}

async function texts(sql: string): Promise<readonly unknown[]> {
  return (await store.rows<{ v: unknown }>(`SELECT ${sql}`)).map(({ v }) => v)
}

async function stored() {
  return {
    rows: await texts(`(a, b) AS v FROM ws_0001.${id} ORDER BY a`),
    seenByTheView: await texts(`n AS v FROM merge('ws_0001', '^(sums|away)$') ORDER BY n`),
    quarantined: await texts(`a AS v FROM ws_0001.${id}_quarantine ORDER BY a`),
    left: await texts(`name AS v FROM system.tables WHERE database = 'ws_0001' AND name LIKE '%replay%'`),
    note: catalog.replayOf(id),
  }
}

const pairs = [1, 2, 3, 4].map((a) => [a, Math.trunc(10 / a)])
const done = { rows: pairs, seenByTheView: [1, 2, 3, 4], quarantined: ['#0', 'x', 'y'], left: [], note: null }
const undone = {
  rows: [],
  seenByTheView: [],
  quarantined: ['#0', '#1', '#2', '#3', '#4', 'x', 'y'],
  left: [],
  note: null,
}

class Died extends Error {}

/** Deps that stop at their `count`th call, before it is made or behind it, and answer nothing from then on. */
function dyingDeps(count: number, isMade: boolean): { readonly deps: ReplayDeps; readonly callCount: () => number } {
  let calls = 0
  const dying = <Dep extends object>(dep: Dep): Dep =>
    new Proxy(dep, {
      get: (target, name) => {
        const value: unknown = Reflect.get(target, name, target)
        if (typeof value !== 'function') return value
        return (...given: unknown[]) => {
          if (name === 'replayOf') return value.apply(target, given)
          calls += 1
          if (calls < count) return value.apply(target, given)
          if (calls > count || !isMade) return Promise.reject(new Died())
          return Promise.resolve(value.apply(target, given)).then(() => Promise.reject(new Died()))
        }
      },
    })
  const over = dying(store)
  const dyingStore = { ...storeVerbs(over, over), sync: () => over.sync() }
  return {
    callCount: () => calls,
    deps: { catalog: dying(catalog), store: dyingStore, ingest: dying(ingest), logger: silentLogger },
  }
}

t.test('a replay stores what fits once, tells the rest, and leaves nothing behind', async (t) => {
  await fill()
  const report = await new QuarantineReplay(deps, limits, sizes).run(dataSource, order, signal)
  t.match(report, {
    ...{ selectedRows: 7, replayedRows: 4, failedRows: 3, leftRows: 0 },
    failures: [
      { column: 'a', reason: "value on column 'a' is not Int32", rowCount: 2 },
      { column: '', reason: 'the database refused the row', rowCount: 1 },
    ],
  })
  t.same(await stored(), done)
})

t.test('a replay that dies at any step is as if it had not been, or is ended by the next start', async (t) => {
  const seed = testSeed()
  const random = new SeededRandom(seed)
  t.comment(`SEED=${seed}`)
  await fill()
  const living = dyingDeps(Number.POSITIVE_INFINITY, false)
  await new QuarantineReplay(living.deps, limits, sizes).run(dataSource, order, signal)
  const total = living.callCount()
  t.ok(total > 30, `${total} calls`)
  for (let tried = 0; tried < stepsTried; tried += 1) {
    const count = 1 + random.below(total)
    const isMade = random.below(2) === 1
    await fill()
    const dying = dyingDeps(count, isMade)
    const replay = new QuarantineReplay(dying.deps, limits, sizes)
    const outcome = await replay.run(dataSource, order, signal).catch((error: unknown) => error)
    t.ok(outcome instanceof Error, `it died at call ${count}`)
    const wasNoted = catalog.replayOf(id) !== null
    const room = await openDataSources(options, { catalog, store, logger: silentLogger, ingest })
    room.resume()
    // It waits behind what is resumed.
    await room.revise('rows', { name: undefined, description: `try ${tried}` })
    const after = await stored()
    const isDone = wasNoted || after.rows.length > 0
    t.strictSame(after, isDone ? done : undone, `${isMade ? 'behind' : 'before'} call ${count}`)
  }
})

t.test('a view that fails is passed over, and its reason told: nothing waits for it', async (t) => {
  await fill()
  const replay = new QuarantineReplay(deps, limits, sizes)
  await store.command('RENAME TABLE ws_0001.sums TO ws_0001.away')
  const report = await replay.run(dataSource, order, signal)
  t.match(report, { replayedRows: 4, failedRows: 3, viewFailure: /sums/ })
  await store.command('RENAME TABLE ws_0001.away TO ws_0001.sums')
  t.same(await stored(), { ...done, seenByTheView: [] })
})

t.test('a replay takes so many rows at most, and tells how many it left', async (t) => {
  await fill()
  const replay = new QuarantineReplay(deps, limits, { rowsMax: 3 })
  const first = await replay.run(dataSource, order, signal)
  t.match(first, { selectedRows: 7, leftRows: 4 })
  t.equal(first.replayedRows + first.failedRows, 3)
  const rest = { ...order, condition: "a NOT IN ('x', 'y', '#0')" }
  for (let replayed = first.replayedRows; replayed < 4; ) {
    const report = await replay.run(dataSource, rest, signal)
    t.equal(report.selectedRows, report.replayedRows + report.leftRows)
    replayed += report.replayedRows
  }
  t.same(await stored(), done)
})

t.test('an interrupted replay goes on by itself, as often as it takes', async (t) => {
  await fill()
  let failCount = 3
  const failing = {
    withBarrier: ingest.withBarrier.bind(ingest),
    withHold: ingest.withHold.bind(ingest),
    isHeld: () => false,
    refuseHeld: () => undefined,
    replayRows: async (request: ReplayRowsRequest) => {
      failCount -= 1
      if (failCount >= 0) throw new Died()
      return await ingest.replayRows(request)
    },
  }
  const replayRetryTimes = { firstMs: 1, longestMs: 2 }
  const room = await openDataSources(
    { ...options, replayRetryTimes },
    { catalog, store, logger: silentLogger, ingest: failing },
  )
  await t.rejects(room.replayQuarantine('rows', order, signal), { code: 'REPLAY_INTERRUPTED', status: 503 })
  while (catalog.replayOf(id) !== null) await new Promise((resolve) => setImmediate(resolve))
  t.equal(failCount, -1, 'it was tried until it went')
  await room.close()
  t.same(await stored(), done)
})

t.test(
  'a replay ends at the close, also while it looks for rows that are refused, and goes on at the next start',
  async (t) => {
    for (const closedAt of [1, 2, 3]) {
      await fill()
      let pieces = 0
      const closing = {
        withBarrier: ingest.withBarrier.bind(ingest),
        replayRows: async (request: ReplayRowsRequest) => {
          pieces += 1
          if (pieces === closedAt) replay.close()
          return await ingest.replayRows(request)
        },
      }
      const replays = { catalog, store, logger: silentLogger, ingest: closing }
      const replay = new QuarantineReplay(replays, limits, sizes)
      await t.rejects(replay.run(dataSource, order, signal), { code: 'REPLAY_INTERRUPTED', status: 503 })
      t.equal(pieces, closedAt, 'no further piece is begun')
      const trial = `name AS v FROM system.tables WHERE database = 'ws_0001' AND name LIKE '%_replay_trial'`
      t.same(await texts(trial), [])
      await new QuarantineReplay(deps, limits, sizes).finish(dataSource)
      t.same(await stored(), done)
    }
  },
)

t.test('a change waits for the replay that was left, and a drop takes it along', async (t) => {
  await fill()
  const interrupted = new QuarantineReplay(
    { ...deps, ingest: { ...deps.ingest, replayRows: async () => await Promise.reject(new Died()) } },
    limits,
  )
  await t.rejects(interrupted.run(dataSource, order, signal), { code: 'REPLAY_INTERRUPTED', status: 503 })
  t.ok(catalog.replayOf(id))
  const room = await openDataSources(options, { catalog, store, logger: silentLogger, ingest })
  await room.truncate('rows_quarantine')
  t.same(await stored(), { ...done, quarantined: [] }, 'what was chosen went in before the rest was deleted')
  await fill()
  await t.rejects(interrupted.run(dataSource, order, signal), { code: 'REPLAY_INTERRUPTED' })
  await room.endReplay('rows')
  t.same(await stored(), done, 'and before the content is replaced')
  await fill()
  await t.rejects(interrupted.run(dataSource, order, signal), { code: 'REPLAY_INTERRUPTED' })
  await room.drop('rows', { isForced: true })
  t.same(await texts(`name AS v FROM system.tables WHERE database = 'ws_0001'`), ['sums'])
})
