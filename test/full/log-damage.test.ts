import { cp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { openEmbeddedStore } from '../../src/store/embedded/embedded-store.ts'
import { diskFileLayer } from '../../src/wal/file-layer.ts'
import { readMark } from '../../src/wal/log-mark.ts'
import { liveOn, type TestService } from '../support/api/test-service.ts'
import { createTestDirectory, silentLogger, type TestDirectory, testStoreOptions } from '../support/store/test-store.ts'
import { failureOf } from '../support/wal/test-wal.ts'

/** The directory as a kill would leave it now, when so many rows wait in the log. */
async function killedCopy(t: Test, { dataDir }: TestService, waitingRows: number): Promise<TestDirectory> {
  while ((await readMark(diskFileLayer, join(dataDir, 'log-mark')))?.waitingRows !== waitingRows) await turn()
  const copy = await createTestDirectory()
  t.teardown(() => copy.remove())
  await cp(dataDir, copy.path, { recursive: true })
  return copy
}

function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}

const patient = { eventsFlushIdleMs: 60_000, eventsFlushAgeMs: 60_000 }

async function directoryOf(t: Test): Promise<string> {
  const directory = await createTestDirectory()
  t.teardown(() => directory.remove())
  return directory.path
}

t.test('a log that is deleted with 2,400 acknowledged rows refuses the start, which says how many', async (t) => {
  const first = await liveOn(t, await directoryOf(t), patient)
  await first.create('visits', 'n UInt32')
  for (let body = 0; body < 24; body += 1) {
    const lines = Array.from({ length: 100 }, (_, n) => `{"n":${body * 100 + n}}`).join('\n')
    t.match(await first.events('visits', lines), { status: 202 })
  }
  const copy = await killedCopy(t, first, 2400)
  await first.close()
  await rm(join(copy.path, 'wal'), { recursive: true })
  t.match(await failureOf(liveOn(t, copy.path)), {
    code: 'LOG_MISSING',
    message: /entries 1 to 24; at most 2400 rows waited in it.*keep-aside/,
  })
  const second = await liveOn(t, copy.path, { eventsLogOnDamage: 'keep-aside' })
  await second.log.until('A file of the log is gone.', ({ firstLost, lastLost }) => firstLost === 1 && lastLost === 24)
  t.match(await second.events('visits', '{"n":1}', { wait: 'true' }), { status: 200 })
  t.equal(await second.count('visits'), 1)
  await second.close()
  const third = await liveOn(t, copy.path)
  t.equal(await third.count('visits'), 1)
  await third.close()
})

/** Runs statements on the engine while no service is open. */
async function runStatements(directory: string, ...statements: readonly string[]): Promise<void> {
  const store = await openEmbeddedStore(testStoreOptions(directory), silentLogger)
  for (const statement of statements) await store.command(statement)
  await store.close()
}

t.test('a data source whose sealed block lost an entry goes on: events, alter, truncate and replace', async (t) => {
  const directory = await directoryOf(t)
  const first = await liveOn(t, directory)
  await first.create('visits', 'n UInt32')
  // The shape is what other tests check.
  const { id } = (await first.call('GET', '/v0/datasources/visits')).json as { readonly id: string }
  await first.close()
  const refusing = "SELECT throwIf(count() > 0, 'not yet') AS c FROM"
  await runStatements(
    directory,
    'CREATE TABLE ws_0001.refused (c UInt8) ENGINE = MergeTree ORDER BY c SETTINGS non_replicated_deduplication_window = 100',
    `CREATE MATERIALIZED VIEW ws_0001.refusing TO ws_0001.refused AS ${refusing} ws_0001.${id}`,
  )
  const second = await liveOn(t, directory, { ...patient, eventsFlushRowsMax: 3 })
  for (const n of [111, 222, 333]) t.match(await second.events('visits', `{"n":${n}}`), { status: 202 })
  await second.log.until('Events of a data source cannot be stored: they stay in the log, and are tried again.')
  const copy = await killedCopy(t, second, 3)
  await second.close()
  const segment = (await readdir(join(copy.path, 'wal'))).find((name) => name.endsWith('.wal')) ?? ''
  const path = join(copy.path, 'wal', segment)
  const content = await readFile(path)
  content.write('9', content.indexOf('{"n":222}') + 5)
  await writeFile(path, content)
  t.match(await failureOf(liveOn(t, copy.path)), { code: 'LOG_DAMAGED' })
  await runStatements(copy.path, 'DROP TABLE ws_0001.refusing SYNC', 'DROP TABLE ws_0001.refused SYNC')
  const third = await liveOn(t, copy.path, { eventsLogOnDamage: 'keep-aside' })
  const told = await third.log.until('Events of a data source are lost to damage of the log; its others are stored.')
  t.match(told.fields, { dataSource: 'visits', entryCount: 1, rowCount: 1 })
  t.match(await third.events('visits', '{"n":444}', { wait: 'true' }), { status: 200 })
  // The table had taken the whole block before its view failed.
  t.same(await third.rows('SELECT n FROM visits ORDER BY n'), [['111'], ['222'], ['333'], ['444']])
  const alter = new URLSearchParams({ schema: 'n UInt32, m Nullable(UInt32)' })
  t.match(await third.call('POST', `/v0/datasources/visits/alter?${alter}`), { status: 200 })
  t.match(await third.call('POST', '/v0/datasources/visits/truncate'), { status: 205 })
  t.match(await third.events('visits', '{"n":5}', { wait: 'true' }), { status: 200 })
  t.same(await third.rows('SELECT n FROM visits'), [['5']])
  const replace = new URLSearchParams({ mode: 'replace', name: 'visits', format: 'csv' })
  t.match(await third.call('POST', `/v0/datasources?${replace}`, { body: '7,8\n' }), { status: 200 })
  t.same(await third.rows('SELECT n, m FROM visits'), [['7', '8']])
  await third.close()
})
