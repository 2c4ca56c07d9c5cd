import t from 'tap'
import { openEmbeddedStore } from '../../src/store/embedded/embedded-store.ts'
import { liveOn, type TestService } from '../support/api/test-service.ts'
import { writeParquetFiles } from '../support/parquet-files.ts'
import { createTestDirectory, silentLogger, testStoreOptions } from '../support/store/test-store.ts'

const fileOf = await writeParquetFiles({
  unlucky: { sql: 'SELECT toUInt32(number + 13) AS n FROM numbers(2)' },
})
const directory = await createTestDirectory()
t.teardown(() => directory.remove())

function live(): Promise<TestService> {
  return liveOn(t, directory.path)
}

t.test('an import that a view does not take counts what is stored, and other views have it once', async (t) => {
  const first = await live()
  await first.create('seen', 'n UInt32 `json:$.n`')
  const sums = { engine: 'SummingMergeTree', engine_sorting_key: 'one' }
  await first.create('strict_sums', 'one UInt8, n UInt64', sums)
  await first.create('plain_sums', 'one UInt8, n UInt64', sums)
  const [seen, strict, plain] = await Promise.all(['seen', 'strict_sums', 'plain_sums'].map((name) => first.idOf(name)))
  await first.close()
  const store = await openEmbeddedStore(testStoreOptions(directory.path), silentLogger)
  const sum = `SELECT 1 AS one, sum(n) AS n FROM ws_0001.${seen}`
  await store.command(`CREATE MATERIALIZED VIEW ws_0001.v_plain TO ws_0001.${plain} AS ${sum}`)
  await store.command(
    `CREATE MATERIALIZED VIEW ws_0001.v_strict TO ws_0001.${strict} AS
       SELECT 1 AS one, sum(n) + throwIf(countIf(n = 13) > 0, 'unlucky') AS n FROM ws_0001.${seen}`,
  )
  await store.close()
  const service = await live()
  t.match(await service.append('seen', 'csv', '1\n2\n'), { status: 200, json: { imported_rows: 2 } })
  const bodies: readonly (readonly [format: string, body: string | Uint8Array, quarantined: number])[] = [
    ['csv', '13\n14\n', 0],
    ['ndjson', '{"n":13}\n{"n":14}\n{"n":"x"}\n', 1],
    ['parquet', fileOf('unlucky'), 0],
  ]
  for (const [format, body, quarantined] of bodies) {
    const before = await service.count('seen')
    const failed = await service.call('POST', `/v0/datasources?mode=append&name=seen&format=${format}`, { body })
    t.match(failed, {
      status: 422,
      json: {
        error: /^A Materialized View failed, so the import ended early; .*: unlucky.* while pushing to view v_strict/,
        imported_rows: 2,
        quarantine_rows: quarantined,
      },
    })
    t.notMatch(failed.text, /ws_0001/)
    t.equal(await service.count('seen'), before + 2, `${format}: rows counted are rows stored`)
  }
  t.match(await service.append('seen', 'csv', '5\n'), { status: 200 }, 'the import after it is none the worse')
  t.same(await service.rows('SELECT sum(n) FROM seen'), [['89']])
  t.same(await service.rows('SELECT sum(n) FROM plain_sums'), [['89']])
  t.same(await service.rows('SELECT sum(n) FROM strict_sums'), [['8']])
  await service.append('seen', 'csv', 'x13\nx6\n')
  const fixes = { n: 'substring(n, 2)' }
  const replayed = await service.call('POST', '/v0/datasources/seen/quarantine/replay', {
    body: JSON.stringify({ fixes, condition: "n LIKE 'x_%'" }),
  })
  t.match(replayed, {
    status: 200,
    json: { replayed_rows: 2, failed_rows: 0, view_failure: /unlucky.* while pushing to view v_strict/ },
  })
  t.notMatch(replayed.text, /ws_0001/)
  t.same(await service.rows("SELECT count() FROM seen_quarantine WHERE n LIKE 'x_%'"), [['0']])
  for (const name of ['seen', 'plain_sums']) {
    t.same(await service.rows(`SELECT sum(n) FROM ${name}`), [['108']], 'rows of a replay are there once')
  }
  t.same(await service.rows('SELECT sum(n) FROM strict_sums'), [['8']])
  t.match(await service.call('POST', '/v0/datasources/seen/truncate'), { status: 205 }, 'nothing is left to be done')
  await service.close()
})

t.test('rows that the database refuses are set aside with its reason', async (t) => {
  const service = await live()
  await service.create('defaults', 's String, n UInt8 DEFAULT toUInt8(s)')
  t.match(await service.append('defaults', 'csv', 's\n1\nmany\n3\n'), {
    status: 200,
    json: {
      warnings: [/header/, /^The database refused 1 row, which is in quarantine: Cannot parse string 'many' as UInt8/],
      imported_rows: 2,
      quarantine_rows: 1,
    },
  })
  await service.create('signed', 'id UInt8, sign Int8', {
    engine: 'CollapsingMergeTree',
    engine_sign: 'sign',
    engine_sorting_key: 'id',
  })
  t.match(await service.append('signed', 'csv', '1,5\n'), {
    status: 200,
    json: { warnings: [/^The database refused 1 row, .*sign/i], imported_rows: 0, quarantine_rows: 1 },
  })
  t.same([await service.count('defaults'), await service.count('signed')], [2, 0])
  t.match(await service.append('signed', 'csv', '1,1\n'), { status: 200, json: { imported_rows: 1 } })
})
