// Files of the data directory that are gone or changed between two starts: the next one says so, and changes nothing.

import { copyFileSync, existsSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { openService } from '../../src/service.ts'
import { TestLog, TestService, testOptions } from '../api/test-service.ts'
import { createTestDirectory } from '../store/test-store.ts'

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
    ['other text', () => writeFileSync(catalogPath, 'x'.repeat(20_000)), 'CATALOG_DAMAGED', /is none of a catalog/],
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
    const open = async (): Promise<TestService> => {
      const log = new TestLog()
      return new TestService(await openService(testOptions({ dataDir: other.path }), log), { log, dataDir: other.path })
    }
    const first = await open()
    for (const name of ['cut', 'gone', 'emptied', 'dropped', 'merged']) await first.create(name, 'n UInt32')
    await first.create('short', 'n UInt32, at DateTime', { engine: 'MergeTree', engine_ttl: 'at + INTERVAL 1 YEAR' })
    for (const name of ['cut', 'gone', 'emptied', 'dropped', 'merged']) {
      for (const body of ['1\n2\n', '3\n']) t.match(await first.append(name, 'csv', body), { status: 200 })
    }
    t.match(await first.append('short', 'csv', '1,2100-01-01 00:00:00\n'), { status: 200 })
    const idOf = async (name: string) => {
      const { json } = await first.call('GET', `/v0/datasources/${name}`)
      // The shape is what other tests check.
      return (json as { readonly id: string }).id
    }
    const [cut, gone, short] = [await idOf('cut'), await idOf('gone'), await idOf('short')]
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
    const told = third.log.entries.filter(({ message }) => /were there are gone|was there is gone/.test(message))
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
    t.same(
      fourth.log.entries.filter(({ message }) => /were there are gone|was there is gone/.test(message)),
      [],
      'it is told once',
    )
    await fourth.close()
  },
)

/** The folder of a table's parts, by the identity in its definition. */
function tableFolder(dataDir: string, table: string): string {
  const definition = readFileSync(join(dataDir, 'clickhouse', 'metadata', 'ws_0001', `${table}.sql`), 'utf8')
  const uuid = /UUID '([0-9a-f-]+)'/.exec(definition)?.[1] ?? ''
  return join(dataDir, 'clickhouse', 'store', uuid.slice(0, 3), uuid)
}
