/**
 * Kills a service under load again and again, its engine, or both, and counts what is stored in the end.
 *
 * Producers send events under keys until each request is acknowledged. Behind the table stand three views, one behind the
 * other, made as users make them. In the end every row must be once in the table, or once in the
 * quarantine, and every view must have seen each stored row once.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { freePort } from '../free-port.ts'
import { SeededRandom } from '../seeded-random.ts'
import { createTestDirectory } from '../store/test-store.ts'
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
    await createViews(service)
    const acknowledged = await underFire(service, { kills, producers, seed, lifeMsMax }, random)
    await service.untilStored(dataSource)
    await service.end('SIGTERM')
    // What is counted is what a clean end has left on disk.
    await service.start()
    const stored = await countStored(service, acknowledged)
    await service.end('SIGTERM')
    return { kills, acknowledged, words: service.words, stored, durationMs: Date.now() - startedAtMs }
  } finally {
    await service.end('SIGKILL')
    await directory.remove()
  }
}

/** Lets producers send while the service is killed and started; the last life is left to it. */
async function underFire(service: KillService, options: KillOptions, random: SeededRandom): Promise<Acknowledged> {
  let isOver = false
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

/** A cascade of three, as users make them: each pipe has a node that fills a data source. */
async function createViews(service: KillService): Promise<void> {
  const views = [
    {
      target: 'kill_rows',
      sql: `SELECT id, producer, n FROM ${dataSource}`,
      engine: { engine: 'MergeTree', engine_sorting_key: 'id' },
    },
    {
      target: 'kill_sums',
      sql: 'SELECT producer, count() AS c, sum(id % 1000) AS s FROM kill_rows GROUP BY producer',
      engine: { engine: 'SummingMergeTree', engine_sorting_key: 'producer' },
    },
    {
      target: 'kill_totals',
      sql: 'SELECT 1 AS one, sum(c) AS c, sum(s) AS s FROM kill_sums GROUP BY one',
      engine: { engine: 'SummingMergeTree', engine_sorting_key: 'one' },
    },
  ]
  for (const { target, sql, engine } of views) {
    const node = { name: `make_${target}_view`, sql, type: 'materialized', datasource: target, ...engine }
    await service.call('POST', '/v0/pipes', JSON.stringify({ name: `make_${target}`, nodes: [node] }))
  }
}

interface Counts {
  readonly rows: number | string
  readonly distinct: number | string
}

async function countStored(service: KillService, { rows, quarantined }: Acknowledged): Promise<KillReport['stored']> {
  const count = async (place: string, expected: number, sql: string) => {
    // The format is asked for, and each query names its columns.
    const { data } = (await service.call('POST', '/v0/sql', `${sql} FORMAT JSON`)) as {
      readonly data: readonly Counts[]
    }
    return { place, expected, rows: Number(data[0]?.rows ?? -1), distinct: Number(data[0]?.distinct ?? -1) }
  }
  const counts = 'count() AS rows, uniqExact(id) AS distinct'
  const quarantine = `${dataSource}_quarantine`
  // Ids are given without gaps, so both tables together must hold each id once: then none is missing either.
  const ids = `SELECT id FROM ${dataSource} UNION ALL SELECT toUInt64(assumeNotNull(id)) AS id FROM ${quarantine}`
  const sums = `(SELECT sum(id % 1000) FROM ${dataSource})`
  return [
    await count('table', rows, `SELECT ${counts} FROM ${dataSource}`),
    await count('quarantine', quarantined, `SELECT ${counts} FROM ${quarantine}`),
    await count('both', rows + quarantined, `SELECT ${counts} FROM (${ids})`),
    await count(
      'ids without gaps',
      rows + quarantined,
      `SELECT count() AS rows, toUInt64(sum(span)) AS distinct FROM (${ids}) AS a,
         (SELECT sum(last - first + 1) / (SELECT count() FROM (${ids})) AS span FROM (
            SELECT intDiv(id, 1000000000) AS p, min(id) AS first, max(id) AS last FROM (${ids}) GROUP BY p)) AS b`,
    ),
    await count('view 1', rows, `SELECT ${counts} FROM kill_rows`),
    await count('view 2', rows, 'SELECT sum(c) AS rows, sum(c) AS distinct FROM kill_sums'),
    await count('view 3', rows, 'SELECT sum(c) AS rows, sum(c) AS distinct FROM kill_totals'),
    await count(
      'sums of view 3',
      rows,
      `SELECT if(sum(s) = ${sums}, ${rows}, 0) AS rows, rows AS distinct FROM kill_totals`,
    ),
  ]
}
