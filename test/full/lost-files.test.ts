// Files of the data directory that are gone or changed between two starts: the next one says so, and changes nothing.

import { copyFileSync, cpSync, existsSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import t from 'tap'
import { openService } from '../../src/service.ts'
import { type LogEntry, TestLog, TestService, testOptions } from '../support/api/test-service.ts'
import { findEnginePid } from '../support/store/engine-pid.ts'
import { createTestDirectory } from '../support/store/test-store.ts'

const directory = await createTestDirectory()
t.teardown(() => directory.remove())
const catalogPath = join(directory.path, 'catalog.lmdb')
const copyPath = join(directory.path, 'catalog.copy')

async function start(): Promise<TestService> {
  const log = new TestLog()
  const service = await openService(testOptions({ dataDir: directory.path }), log)
  return new TestService(service, { log, dataDir: directory.path })
}

t.test('a catalog that is gone, or not as it was written, refuses the start with the reason', async (t) => {
  const first = await start()
  t.match(await first.create('seen', 'n UInt32'), { status: 200 })
  t.match(await first.append('seen', 'csv', '1\n2\n'), { status: 200 })
  await first.close()
  copyFileSync(catalogPath, copyPath)
  const cases: readonly (readonly [name: string, change: () => void, code: string, message: RegExp])[] = [
    [
      'removed',
      () => rmSync(catalogPath),
      'CATALOG_MISSING',
      /the catalog \S+ is missing: the tables of 1 data sources are there, with 2 rows; put it back/,
    ],
    [
      'removed with its lock',
      () => {
        rmSync(catalogPath)
        rmSync(`${catalogPath}-lock`)
      },
      'CATALOG_MISSING',
      /the tables of 1 data sources are there/,
    ],
    ['emptied', () => truncateSync(catalogPath, 0), 'CATALOG_DAMAGED', /it is empty, and the tables of 1 data sources/],
    ['cut', () => truncateSync(catalogPath, 10_000), 'CATALOG_DAMAGED', /it is cut at byte 10000/],
    ['of one page', () => truncateSync(catalogPath, 4_096), 'CATALOG_DAMAGED', /it is cut at byte 4096/],
    ['other text', () => writeFileSync(catalogPath, 'x'.repeat(20_000)), 'CATALOG_DAMAGED', /is not of a catalog/],
  ]
  for (const [name, change, code, message] of cases) {
    copyFileSync(copyPath, catalogPath)
    change()
    const stands = existsSync(catalogPath)
    await t.rejects(start(), { code, message, documentation: `docs/recovery.md#${code.toLowerCase()}` }, name)
    t.equal(existsSync(catalogPath), stands, `${name}: nothing is made in its place`)
  }
  copyFileSync(copyPath, catalogPath)
  const last = await start()
  t.equal(await last.count('seen'), 2, 'put back, all is there')
  await last.close()
})

t.test('a start that was cut off before the catalog was written is a first start', async (t) => {
  const other = await createTestDirectory()
  t.teardown(() => other.remove())
  writeFileSync(join(other.path, 'catalog.lmdb'), '')
  const service = await openService(testOptions({ dataDir: other.path }), new TestLog())
  await service.close()
})

t.test(
  'parts and tables that are gone are told with their rows, and what merges and changes remove is not',
  async (t) => {
    const other = await createTestDirectory()
    t.teardown(() => other.remove())
    const open = () => openIn(other.path)
    const first = await open()
    for (const name of ['cut', 'gone', 'emptied', 'dropped', 'merged']) await first.create(name, 'n UInt32')
    await first.create('short', 'n UInt32, at DateTime', { engine: 'MergeTree', engine_ttl: 'at + INTERVAL 1 YEAR' })
    for (const name of ['cut', 'gone', 'emptied', 'dropped', 'merged']) {
      for (const body of ['1\n2\n', '3\n']) t.match(await first.append(name, 'csv', body), { status: 200 })
    }
    t.match(await first.append('short', 'csv', '1,2100-01-01 00:00:00\n'), { status: 200 })
    const [cut, gone, short] = [await first.idOf('cut'), await first.idOf('gone'), await first.idOf('short')]
    await first.close()

    const second = await open()
    t.match(await second.call('POST', '/v0/datasources/emptied/truncate'), { status: 205 })
    t.match(await second.call('DELETE', '/v0/datasources/dropped'), { status: 204 })
    t.match(await second.call('POST', '/v0/datasources?mode=replace&name=merged&format=csv', { body: '7\n' }), {
      status: 200,
    })
    await second.close()

    const partOf = (id: string, part: string): string => join(tableFolder(other.path, id), part)
    rmSync(partOf(cut, 'all_1_1_0'), { recursive: true })
    rmSync(partOf(short, 'all_1_1_0'), { recursive: true })
    const metadata = join(other.path, 'clickhouse', 'metadata', 'ws_0001', `${gone}.sql`)
    rmSync(tableFolder(other.path, gone), { recursive: true })
    rmSync(metadata)
    const third = await open()
    const told = toldBy(third)
    t.match(
      told.map(({ level, fields }) => [level, fields['dataSource'], fields['rowCount'], fields['parts']]).sort(),
      [
        ['error', 'cut', 2, ['all_1_1_0']],
        ['error', 'gone', 3, undefined],
        ['warn', 'short', 1, ['all_1_1_0']],
      ],
      JSON.stringify(told),
    )
    t.equal(await third.count('cut'), 1)
    t.equal(await third.count('gone'), 0)
    await third.close()
    const fourth = await open()
    t.match(
      toldBy(fourth)
        .map(({ level, fields }) => [level, fields['dataSource'], fields['rowCount']])
        .sort(),
      [
        ['error', 'cut', 2],
        ['error', 'gone', 3],
      ],
      'it is told again, but for what a TTL may have removed',
    )
    t.match(await fourth.call('POST', '/v0/datasources/cut/truncate'), { status: 205 })
    t.match(await fourth.call('DELETE', '/v0/datasources/gone'), { status: 204 })
    await fourth.close()
    const fifth = await open()
    t.same(toldBy(fifth), [], 'until its tables are emptied or dropped')
    await fifth.close()
  },
)

t.test(
  'a part that breaks while the service runs is told when the engine is started again, and at each start',
  async (t) => {
    const other = await createTestDirectory()
    t.teardown(() => other.remove())
    const open = () => openIn(other.path)
    const first = await open()
    for (const name of ['broken', 'whole']) await first.create(name, 'n UInt32')
    for (const name of ['broken', 'whole']) t.match(await first.append(name, 'csv', '1\n2\n3\n'), { status: 200 })
    const id = await first.idOf('broken')
    await first.close()

    const second = await open()
    const part = join(tableFolder(other.path, id), 'all_1_1_0')
    const whole = join(other.path, 'whole-part')
    cpSync(part, whole, { recursive: true })
    truncateSync(join(part, 'data.bin'), 10)
    truncateSync(join(part, 'columns.txt'), 10)
    process.kill(findEnginePid() ?? 0, 'SIGKILL')
    const gone = await second.log.until(
      'Parts of a table that were there are gone with their rows (docs/recovery.md#lost-parts).',
    )
    t.match(gone, { level: 'error', fields: { dataSource: 'broken', rowCount: 3, parts: ['all_1_1_0'] } })
    await second.log.until('The engine runs again.')
    t.equal(await second.count('broken'), 0)
    t.match(await second.append('broken', 'csv', '7\n8\n9\n'), { status: 200 }, 'its number may be given out again')
    t.match(await second.call('POST', '/v0/datasources/whole/truncate'), { status: 205 })
    await second.close()

    const third = await open()
    t.match(
      toldBy(third),
      [{ level: 'error', fields: { dataSource: 'broken', rowCount: 3 } }],
      'a new part is another one',
    )
    await third.close()
    rmSync(part, { recursive: true, force: true })
    cpSync(whole, part, { recursive: true })
    const fourth = await open()
    // The part of the same number was removed for it: that one is gone now.
    t.equal(toldBy(fourth).length, 1, JSON.stringify(toldBy(fourth)))
    await fourth.close()
  },
)

t.test('a truncate of one table leaves the note of the others', async (t) => {
  const other = await createTestDirectory()
  t.teardown(() => other.remove())
  const first = await openIn(other.path)
  for (const name of ['kept', 'emptied']) await first.create(name, 'n UInt32')
  for (const name of ['kept', 'emptied']) t.match(await first.append(name, 'csv', '1\n2\n'), { status: 200 })
  const kept = await first.idOf('kept')
  await first.close()
  const second = await openIn(other.path)
  t.match(await second.call('POST', '/v0/datasources/emptied/truncate'), { status: 205 })
  const copy = await createTestDirectory()
  t.teardown(() => copy.remove())
  // As a kill leaves it, in the moment behind the answer.
  cpSync(join(other.path, 'table-parts'), join(copy.path, 'table-parts'))
  await second.close()
  cpSync(join(copy.path, 'table-parts'), join(other.path, 'table-parts'))
  rmSync(join(tableFolder(other.path, kept), 'all_1_1_0'), { recursive: true })
  const third = await openIn(other.path)
  t.match(toldBy(third), [{ level: 'error', fields: { dataSource: 'kept', rowCount: 2 } }])
  t.equal(toldBy(third).length, 1)
  await third.close()
})

t.test('a part that counts other rows than it had is told, until it is mended', async (t) => {
  const other = await createTestDirectory()
  t.teardown(() => other.remove())
  const first = await openIn(other.path)
  await first.create('counted', 'n UInt32')
  t.match(await first.append('counted', 'csv', '1\n2\n3\n'), { status: 200 })
  const count = join(tableFolder(other.path, await first.idOf('counted')), 'all_1_1_0', 'count.txt')
  await first.close()
  writeFileSync(count, '2')
  for (const start of ['the first start', 'the next one']) {
    const service = await openIn(other.path)
    t.match(
      toldBy(service),
      [{ level: 'error', fields: { dataSource: 'counted', rowCount: 3, foundRowCount: 2 } }],
      start,
    )
    await service.close()
  }
  writeFileSync(count, '3')
  const last = await openIn(other.path)
  t.same(toldBy(last), [])
  t.equal(await last.count('counted'), 3)
  await last.close()
})

t.test('a catalog of pipes alone that is gone with its lock refuses the start', async (t) => {
  const other = await createTestDirectory()
  t.teardown(() => other.remove())
  const first = await openIn(other.path)
  const body = JSON.stringify({ name: 'one', nodes: [{ name: 'n', sql: 'SELECT 1 AS a', type: 'endpoint' }] })
  const headers = { 'content-type': 'application/json' }
  t.equal((await first.call('POST', '/v0/pipes', { body, headers })).status, 200)
  await first.close()
  const path = join(other.path, 'catalog.lmdb')
  cpSync(path, join(other.path, 'kept'))
  rmSync(path)
  rmSync(`${path}-lock`, { force: true })
  await t.rejects(openIn(other.path), { code: 'CATALOG_MISSING', message: /wal is there, which comes after it/ })
  t.notOk(existsSync(path), 'nothing is made in its place')
  cpSync(join(other.path, 'kept'), path)
  const last = await openIn(other.path)
  t.equal((await last.call('GET', '/v0/pipes/one')).status, 200)
  await last.close()
})

async function openIn(dataDir: string): Promise<TestService> {
  const log = new TestLog()
  return new TestService(await openService(testOptions({ dataDir }), log), { log, dataDir })
}

function toldBy({ log }: TestService): readonly LogEntry[] {
  return log.entries.filter(
    ({ message }) => message.includes('lost-parts') || message.includes('its TTL or its engine'),
  )
}

/** The folder of a table's parts, by the identity in its definition. */
function tableFolder(dataDir: string, table: string): string {
  const definition = readFileSync(join(dataDir, 'clickhouse', 'metadata', 'ws_0001', `${table}.sql`), 'utf8')
  const uuid = /UUID '([0-9a-f-]+)'/.exec(definition)?.[1] ?? ''
  return join(dataDir, 'clickhouse', 'store', uuid.slice(0, 3), uuid)
}
