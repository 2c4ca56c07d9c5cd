import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import type { Options } from '../../src/config.ts'
import { openService } from '../../src/service.ts'
import { openEmbeddedStore } from '../../src/store/embedded/embedded-store.ts'
import { TestLog, TestService, testOptions } from '../support/api/test-service.ts'
import { createTestDirectory, silentLogger, testStoreOptions } from '../support/store/test-store.ts'

const directory = await createTestDirectory()
t.teardown(() => directory.remove())

const kibibyte = 1024
/** Segments of 128 KiB. */
const logBytes = 2048 * kibibyte
const stuckBytes = 16 * kibibyte
const options = { eventsLogBytesMax: logBytes, eventsFlushIdleMs: 1, eventsFlushAgeMs: 5 }

async function live(t: Test, given: Partial<Options> = {}): Promise<TestService> {
  const log = new TestLog()
  const service = await openService(testOptions({ dataDir: directory.path, ...options, ...given }), log)
  t.teardown(() => service.close())
  return new TestService(service, { log, dataDir: directory.path })
}

const keyOf = (key: string) => ({ headers: { 'idempotency-key': key } })

async function runStatements(...statements: readonly string[]): Promise<void> {
  const store = await openEmbeddedStore(testStoreOptions(directory.path), silentLogger)
  for (const statement of statements) await store.command(statement)
  await store.close()
}

async function walBytes(): Promise<number> {
  const names = (await readdir(join(directory.path, 'wal'))).filter((name) => name.endsWith('.wal'))
  const sizes = await Promise.all(names.map(async (name) => (await stat(join(directory.path, 'wal', name))).size))
  return sizes.reduce((total, size) => total + size, 0)
}

t.test('a data source whose view fails for long holds up nobody, and has all of its events in the end', async (t) => {
  const first = await live(t)
  await first.create('stuck', 'n UInt32, pad String')
  await first.create('beside', 'n UInt32, pad String')
  const { json } = await first.call('GET', '/v0/datasources/stuck')
  const { id } = json as { readonly id: string }
  await first.close()
  const window = 'SETTINGS non_replicated_deduplication_window = 10000'
  await runStatements(
    `CREATE TABLE ws_0001.stuck_sums (n UInt32) ENGINE = MergeTree ORDER BY n ${window}`,
    `CREATE MATERIALIZED VIEW ws_0001.stuck_view TO ws_0001.stuck_sums AS
       SELECT n + throwIf(1, 'broken') AS n FROM ws_0001.${id}`,
  )
  let stuckTaken = 0
  let besideTaken = 0
  let isStuckRefused = false
  let refusals = 0
  /** Sends many times what the log holds to one, and a little to the other; both under keys. */
  const load = async (service: TestService): Promise<void> => {
    for (let round = 0; round < 90; round += 1) {
      const rows = Array.from({ length: 100 }, () => {
        besideTaken += 1
        return JSON.stringify({ n: besideTaken, pad: 'x'.repeat(kibibyte) })
      })
      // On a slow disk a sync may take longer than the log has room for: then it is sent again, as senders do.
      const isTaken = async () =>
        (await service.events('beside', rows.join('\n'), { wait: 'true' }, keyOf(`b${besideTaken}`))).status < 300
      while (!(await isTaken())) refusals += 1
      if (round % 2 === 1) continue
      const record = JSON.stringify({ n: stuckTaken + 1, pad: 'y'.repeat(stuckBytes) })
      const { status, headers } = await service.events('stuck', record, {}, keyOf(`k${stuckTaken + 1}`))
      if (status === 202) stuckTaken += 1
      else {
        t.match({ status, retryAfter: headers.get('retry-after') }, { status: 503, retryAfter: /^\d+$/ })
        isStuckRefused = true
      }
    }
  }
  const second = await live(t)
  await load(second)
  t.comment(`${refusals} requests were sent again`)
  t.ok(besideTaken * kibibyte > 4 * logBytes, `${besideTaken} KiB went through a log of ${logBytes / kibibyte} KiB`)
  t.ok(
    isStuckRefused && stuckTaken > 10,
    `the one that fails had ${stuckTaken} events taken, and then its share is full`,
  )
  t.match(await second.call('GET', '/v0/datasources/stuck'), {
    json: { events: { waiting_rows: stuckTaken, error: /broken/ } },
  })
  t.ok((await walBytes()) <= logBytes * 1.07, `${await walBytes()} bytes`)
  const takenBefore = stuckTaken
  await second.close()
  const third = await live(t, { eventsLogBytesMax: 2 * logBytes })
  await third.log.until('Events of a data source cannot be stored: they stay in the log, and are tried again.')
  await load(third)
  t.ok(stuckTaken > takenBefore, 'a larger log has room for more')
  const repeated = JSON.stringify({ n: 1, pad: 'y'.repeat(stuckBytes) })
  t.match(
    await third.events('stuck', repeated, {}, keyOf('k1')),
    { status: 202 },
    'a repeat is known, and no event more',
  )
  await third.close()
  await runStatements(
    'DROP TABLE ws_0001.stuck_view SYNC',
    `CREATE MATERIALIZED VIEW ws_0001.stuck_view TO ws_0001.stuck_sums AS SELECT n FROM ws_0001.${id}`,
  )
  const fourth = await live(t)
  await fourth.untilStored('stuck')
  await fourth.untilStored('beside')
  const counts = 'count(), uniqExact(n), max(n)'
  const texts = (n: number) => [[`${n}`, `${n}`, `${n}`]]
  t.same(await fourth.rows(`SELECT ${counts} FROM stuck`), texts(stuckTaken))
  t.same(await fourth.rows(`SELECT ${counts} FROM beside`), texts(besideTaken))
  // The log is smaller than the one that was filled: it has room when what is stored has left it.
  const isTaken = async () =>
    (await fourth.events('stuck', JSON.stringify({ n: stuckTaken + 1, pad: '' }), { wait: 'true' })).status === 200
  while (!(await isTaken()));
  await fourth.close()
  const store = await openEmbeddedStore(testStoreOptions(directory.path), silentLogger)
  t.same(await store.rows('SELECT count() AS c, uniqExact(n) AS d FROM ws_0001.stuck_sums'), [
    { c: stuckTaken + 1, d: stuckTaken + 1 },
  ])
  await store.close()
})
