/**
 * Kills a service under load again and again, its engine, or both, and counts what is stored in the end.
 *
 * Producers send events under keys until each request is acknowledged. Behind the table stand three views, one behind the
 * other, made through the store's own interface. In the end every row must be once in the table, or once in the
 * quarantine, and every view must have seen each stored row once.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { type OpenedStore, openEmbeddedStore } from '../../../src/store/embedded/embedded-store.ts'
import { freePort } from '../free-port.ts'
import { SeededRandom } from '../seeded-random.ts'
import { createTestDirectory, silentLogger, testStoreOptions } from '../store/test-store.ts'
import { KillService, type ServiceWords, victims } from './kill-service.ts'
import { type Acknowledged, produce } from './producer.ts'

export interface KillOptions {
  readonly kills: number
  readonly producers: number
  readonly seed: number
  /** Longest life between two kills. */
  readonly lifeMsMax: number
}

export interface KillReport {
  readonly kills: number
  readonly acknowledged: Acknowledged
  readonly words: ServiceWords
  /** What is stored, by place; each must be what was acknowledged. */
  readonly stored: readonly {
    readonly place: string
    readonly expected: number
    readonly rows: number
    readonly distinct: number
  }[]
  readonly durationMs: number
}

const dataSource = 'killed'
const schema = 'id UInt64 `json:$.id`, producer UInt16 `json:$.producer`, n UInt32 `json:$.n`, pad String `json:$.pad`'

export async function runKills({ kills, producers, seed, lifeMsMax }: KillOptions): Promise<KillReport> {
  const startedAtMs = Date.now()
  const random = new SeededRandom(seed)
  const directory = await createTestDirectory()
  const service = new KillService(directory.path, await freePort())
  try {
    await service.start()
    const parameters = new URLSearchParams({
      name: dataSource,
      schema,
      engine: 'MergeTree',
      engine_partition_key: 'producer % 3',
      engine_sorting_key: 'id',
    })
    await service.call('POST', `/v0/datasources?${parameters}`)
    // The answer's shape is what other tests check.
    const { id } = (await service.call('GET', `/v0/datasources/${dataSource}`)) as { readonly id: string }
    await service.end('SIGTERM')
    await withStore(directory.path, (store) => createViews(store, id))
    const acknowledged = await underFire(service, { kills, producers, seed, lifeMsMax }, random)
    await service.untilStored(dataSource)
    await service.end('SIGTERM')
    const stored = await withStore(directory.path, (store) => countStored(store, id, acknowledged))
    return { kills, acknowledged, words: service.words, stored, durationMs: Date.now() - startedAtMs }
  } finally {
    await service.end('SIGKILL')
    await directory.remove()
  }
}

/** Lets producers send while the service is killed and started; the last life is left to it. */
async function underFire(service: KillService, options: KillOptions, random: SeededRandom): Promise<Acknowledged> {
  let isOver = false
  await service.start()
  const producing = Array.from({ length: options.producers }, (_, index) => {
    const own = new SeededRandom(options.seed + 1 + index)
    return produce({ number: index + 1, address: service.address, dataSource, random: own, isOver: () => isOver })
  })
  // A producer that fails ends the run, and must not end the process before that.
  const ended = Promise.all(producing)
  ended.catch(() => undefined)
  for (let kill = 0; kill < options.kills; kill += 1) {
    await delay(random.below(options.lifeMsMax))
    await service.kill(victims[kill % victims.length] ?? 'service')
  }
  isOver = true
  const all = await ended
  return {
    rows: sum(all, 'rows'),
    quarantined: sum(all, 'quarantined'),
    requests: sum(all, 'requests'),
    failedTries: sum(all, 'failedTries'),
  }
}

function sum(all: readonly Acknowledged[], key: keyof Acknowledged): number {
  return all.reduce((total, one) => total + one[key], 0)
}

async function withStore<Result>(path: string, work: (store: OpenedStore) => Promise<Result>): Promise<Result> {
  const store = await openEmbeddedStore(testStoreOptions(path), silentLogger)
  try {
    return await work(store)
  } finally {
    await store.close()
  }
}

async function createViews(store: OpenedStore, id: string): Promise<void> {
  const window = 'SETTINGS non_replicated_deduplication_window = 10000'
  const statements = [
    `CREATE TABLE ws_0001.kill_rows (id UInt64, producer UInt16, n UInt32) ENGINE = MergeTree ORDER BY id ${window}`,
    `CREATE TABLE ws_0001.kill_sums (producer UInt16, c UInt64, s UInt64) ENGINE = SummingMergeTree ORDER BY producer ${window}`,
    `CREATE TABLE ws_0001.kill_totals (c UInt64, s UInt64) ENGINE = SummingMergeTree ORDER BY tuple() ${window}`,
    `CREATE MATERIALIZED VIEW ws_0001.kill_view_1 TO ws_0001.kill_rows AS SELECT id, producer, n FROM ws_0001.${id}`,
    `CREATE MATERIALIZED VIEW ws_0001.kill_view_2 TO ws_0001.kill_sums AS
       SELECT producer, count() AS c, sum(id % 1000) AS s FROM ws_0001.kill_rows GROUP BY producer`,
    `CREATE MATERIALIZED VIEW ws_0001.kill_view_3 TO ws_0001.kill_totals AS
       SELECT sum(c) AS c, sum(s) AS s FROM ws_0001.kill_sums`,
  ]
  for (const statement of statements) await store.command(statement)
}

async function countStored(
  store: OpenedStore,
  id: string,
  { rows, quarantined }: Acknowledged,
): Promise<KillReport['stored']> {
  const count = async (place: string, expected: number, sql: string) => {
    const [counts] = await store.rows<{ readonly rows: number; readonly distinct: number }>(sql)
    return { place, expected, rows: counts?.rows ?? -1, distinct: counts?.distinct ?? -1 }
  }
  // Ids are given without gaps, so both tables together must hold each id once: then none is missing either.
  const ids = `SELECT id FROM ws_0001.${id} UNION ALL SELECT toUInt64(assumeNotNull(id)) AS id FROM ws_0001.${id}_quarantine`
  const sums = `(SELECT sum(id % 1000) FROM ws_0001.${id})`
  return [
    await count('table', rows, `SELECT count() AS rows, uniqExact(id) AS distinct FROM ws_0001.${id}`),
    await count(
      'quarantine',
      quarantined,
      `SELECT count() AS rows, uniqExact(id) AS distinct FROM ws_0001.${id}_quarantine`,
    ),
    await count('both', rows + quarantined, `SELECT count() AS rows, uniqExact(id) AS distinct FROM (${ids})`),
    await count(
      'ids without gaps',
      rows + quarantined,
      `SELECT count() AS rows, toUInt64(sum(span)) AS distinct FROM (${ids}) AS a,
         (SELECT sum(last - first + 1) / (SELECT count() FROM (${ids})) AS span FROM (
            SELECT intDiv(id, 1000000000) AS p, min(id) AS first, max(id) AS last FROM (${ids}) GROUP BY p)) AS b`,
    ),
    await count('view 1', rows, 'SELECT count() AS rows, uniqExact(id) AS distinct FROM ws_0001.kill_rows'),
    await count('view 2', rows, 'SELECT sum(c) AS rows, sum(c) AS distinct FROM ws_0001.kill_sums'),
    await count('view 3', rows, 'SELECT sum(c) AS rows, sum(c) AS distinct FROM ws_0001.kill_totals'),
    await count(
      'sums of view 3',
      rows,
      `SELECT if(sum(s) = ${sums}, ${rows}, 0) AS rows, rows AS distinct FROM ws_0001.kill_totals`,
    ),
  ]
}
