// Imports whose rows a view does not take: they are kept as files, and the view catches up with them and with events, each once.

import { readdir, rm, stat, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import type { LogFields } from '../../src/observe/logger.ts'
import { openLmdbStorage } from '../../src/storage/lmdb-storage.ts'
import { openEmbeddedStore } from '../../src/store/embedded/embedded-store.ts'
import { endedJob, jobIdOf } from '../support/api/job-calls.ts'
import { RiskySource } from '../support/api/risky-source.ts'
import { type Answer, liveOn } from '../support/api/test-service.ts'
import { openUrlService } from '../support/imports/url-imports.ts'
import { writeParquetFiles } from '../support/parquet-files.ts'
import { createTestDirectory, silentLogger, testStoreOptions } from '../support/store/test-store.ts'

const filesName = 'views-backlog'
/** What is kept of one row takes two files, each of one block of the disk. */
const blockBytes = 2 * 4096
const blocksMax = 10
const incomplete = 'A Materialized View is incomplete: what it lacks is not kept any more.'
const parquetOf = await writeParquetFiles({
  good: { sql: 'SELECT toUInt32(200 + number) AS id, toUInt32(1) AS n FROM numbers(20)' },
  mixed: { sql: "SELECT if(number = 3, 'x', toString(300 + number)) AS id, toUInt32(1) AS n FROM numbers(20)" },
  unlucky: { sql: 'SELECT toUInt32(400 + number) AS id, toUInt32(13) AS n FROM numbers(20)' },
})

function ndjson(ids: readonly number[], n = 1): string {
  return ids.map((id) => JSON.stringify({ id, n })).join('\n')
}

function parquet({ service, name }: RiskySource, file: string): Promise<Answer> {
  const body = parquetOf(file)
  return service.call('POST', `/v0/datasources?mode=append&name=${name}&format=parquet`, { body })
}

async function keptFiles({ service }: RiskySource): Promise<readonly string[]> {
  return await readdir(join(service.dataDir, filesName))
}

async function catchUpWholly(t: Test, source: RiskySource, idCount: number): Promise<void> {
  await source.mend()
  const answer = await source.catchUp()
  t.same(answer.json, { behind: null }, answer.text)
  t.same(await source.faults(idCount), [])
  t.same(await source.behind(), [])
  t.same(await keptFiles(source), [])
}

t.test('imports beside a view that is parked', async (t) => {
  const { service, files, run } = await openUrlService(t, { viewsBacklogImportBytesMax: blocksMax * blockBytes })
  const open = (name: string, engine = {}): Promise<RiskySource> => new RiskySource(service, name).create(engine)

  await t.test('one is parked by an import, and catches up with imports of each format and events', async (t) => {
    const source = await open('one')
    const refused = await service.append('one', 'ndjson', ndjson([1, 2], 13))
    t.equal(refused.status, 422, refused.text)
    t.match(refused.json, { error: /one_risky\.one_risky_view/ })
    t.match(await source.faults(2), [['one_risky_rows', ['0', '0']]], 'the others have its rows')
    t.match(await source.behind(), [{ state: 'parked', takes_new_rows: false, blocks: 1 }])
    const views = { views_behind: { count: 1, views: ['one_risky.one_risky_view'] } }
    t.match((await service.append('one', 'csv', 'id,n\n3,13\n4,1\n')).json, { imported_rows: 2, ...views })
    t.match((await source.send([5], 14)).json, { successful_rows: 1, ...views })
    t.match((await service.append('one', 'ndjson', ndjson([6, 7]))).json, { imported_rows: 2, ...views })
    t.match((await parquet(source, 'good')).json, { imported_rows: 20, ...views })
    t.match((await parquet(source, 'mixed')).json, { imported_rows: 19, quarantine_rows: 1, ...views })
    t.match((await source.send([8])).json, { successful_rows: 1, ...views })
    const [shown] = await source.behind()
    t.match(shown, { state: 'parked', blocks: 7 })
    t.ok((shown?.bytes ?? 0) > 5 * 4096, `${shown?.bytes} bytes`)
    t.match((await source.catchUp()).json, { behind: { state: 'parked', blocks: 7 } })
    await catchUpWholly(t, source, 47)
    t.match((await service.append('one', 'ndjson', ndjson([9]))).json, { imported_rows: 1 })
    t.same(await source.faults(48), [])
  })

  await t.test('a Parquet file parks one too', async (t) => {
    const source = await open('two')
    t.equal((await parquet(source, 'unlucky')).status, 422)
    t.equal((await parquet(source, 'good')).status, 200)
    t.match(await source.behind(), [{ state: 'parked', blocks: 2 }])
    await catchUpWholly(t, source, 40)
  })

  await t.test('what it lacks comes in the order in which it came', async (t) => {
    const source = await open('three')
    const target = { datasource: 'last_rows', engine: 'ReplacingMergeTree', engine_sorting_key: 'id' }
    const fails = 'n >= 13 AND (SELECT count() FROM three_mended) = 0'
    await source.views.fill('last', `SELECT id, n + throwIf(${fails}) AS n FROM three`, target)
    await service.append('three', 'ndjson', ndjson([1, 2, 3], 13))
    for (let n = 14; n < 24; n += 1) {
      if (n % 3 === 0) await source.send([1], n)
      else await service.append('three', 'ndjson', ndjson([n % 2 === 0 ? 1 : 2], n))
    }
    await source.mend()
    for (const pipe of ['three_risky', 'last']) t.same((await source.catchUp(pipe)).json, { behind: null })
    const last = await service.rows('SELECT id, argMax(n, n) AS n FROM last_rows GROUP BY id ORDER BY id')
    t.same(await service.rows('SELECT id, max(n) AS n FROM three GROUP BY id ORDER BY id'), last)
    t.same(await service.rows('SELECT id, n FROM last_rows FINAL ORDER BY id'), last)
  })

  await t.test('of a block that it has in part it takes the rest', async (t) => {
    const engine = { engine: 'MergeTree', engine_sorting_key: 'id', engine_partition_key: 'id % 40' }
    const source = await open('four', engine)
    const rows = Array.from({ length: 40 }, (_, id) => JSON.stringify({ id, n: id === 39 ? 13 : 1 }))
    t.equal((await service.append('four', 'ndjson', rows.join('\n'))).status, 422)
    t.equal((await service.append('four', 'ndjson', ndjson([40, 41]))).status, 200)
    await catchUpWholly(t, source, 42)
  })

  await t.test('two fail at one import, and one behind a view that fills another', async (t) => {
    const source = await open('five')
    await source.addRisky('also')
    const unlucky = 'n >= 20 AND (SELECT count() FROM five_mended) = 0'
    const deep = `SELECT id, n + throwIf(${unlucky}) AS n FROM five_sound_rows`
    await source.views.fill('deep', deep, { datasource: 'deep_rows' })
    await source.views.fill('next', 'SELECT id, n FROM five_risky_rows', { datasource: 'next_rows' })
    t.equal((await service.append('five', 'ndjson', ndjson([1, 2], 20))).status, 422)
    t.match(await service.append('five', 'ndjson', ndjson([3])), { status: 200, json: { views_behind: { count: 3 } } })
    const behind = (await source.behind()).map(({ view, state }) => [view, state])
    t.same(behind.toSorted(), [
      ['also.also_view', 'parked'],
      ['deep.deep_view', 'parked'],
      ['five_risky.five_risky_view', 'parked'],
    ])
    await source.mend()
    t.same((await source.catchUp('also')).json, { behind: null })
    t.same((await source.catchUp()).json, { behind: null })
    t.same((await source.catchUp('deep')).json, { behind: null })
    t.same(await source.faults(3), [])
    for (const table of ['also_rows', 'next_rows', 'deep_rows']) t.equal(await service.count(table), 3, table)
    t.same(await keptFiles(source), [])
  })

  await t.test('a block of which the database refuses rows is kept without them', async (t) => {
    const computed = 'id UInt32 `json:$.id`, n UInt32 `json:$.n`, part UInt32 DEFAULT intDiv(1000, n)'
    const fails = 'n >= 13 AND (SELECT count() FROM lone_mended) = 0'
    await service.create('lone_mended', 'n UInt32')
    for (const [name, engine, state] of [
      ['lone', {}, 'parked'],
      ['lone_cut', { engine: 'MergeTree', engine_sorting_key: 'id', engine_partition_key: 'id % 3' }, 'incomplete'],
    ] as const) {
      await service.create(name, computed, engine)
      const source = new RiskySource(service, name)
      const sql = `SELECT id, n, part + throwIf(${fails}) AS part FROM ${name}`
      await source.views.fill(`${name}_only`, sql, { datasource: `${name}_only_rows` })
      t.equal((await service.append(name, 'ndjson', ndjson([1], 13))).status, 422)
      const mixed = [ndjson([2], 1), ndjson([3], 0), ndjson([4], 5), ndjson([5], 0), ndjson([6], 7)].join('\n')
      const answer = await service.append(name, 'ndjson', mixed)
      t.match(answer.json, { imported_rows: 3, quarantine_rows: 2, views_behind: { count: 1 } }, answer.text)
      t.match(await source.behind(), [{ state, blocks: state === 'parked' ? 2 : 0 }], name)
    }
    await service.events('lone_mended', '{"n":1}', { wait: 'true' })
    const caughtUp = await new RiskySource(service, 'lone').catchUp('lone_only')
    t.same(caughtUp.json, { behind: null }, caughtUp.text)
    const rows = [
      ['1', '13', '76'],
      ['2', '1', '1000'],
      ['4', '5', '200'],
      ['6', '7', '142'],
    ]
    for (const table of ['lone', 'lone_only_rows'])
      t.same(await service.rows(`SELECT id, n, part FROM ${table} ORDER BY id`), rows, table)
  })

  await t.test('two that come at once, at each of which another view fails', async (t) => {
    await service.create('pair', 'id UInt32 `json:$.id`, n UInt32 `json:$.n`')
    await service.create('pair_mended', 'n UInt32')
    const source = new RiskySource(service, 'pair')
    for (const n of [13, 14]) {
      const sql = `SELECT id, n + throwIf(n = ${n} AND (SELECT count() FROM pair_mended) = 0) AS n FROM pair`
      await source.views.fill(`pair_${n}`, sql, { datasource: `pair_${n}_rows` })
    }
    const answers = await Promise.all([13, 14].map((n) => service.append('pair', 'ndjson', ndjson([n], n))))
    for (const { status, text } of answers) t.equal(status, 422, text)
    await source.mend()
    for (const n of [13, 14]) {
      const caughtUp = await source.catchUp(`pair_${n}`)
      t.same(caughtUp.json, { behind: null }, caughtUp.text)
      t.same(await service.rows(`SELECT id FROM pair_${n}_rows ORDER BY id`), [['13'], ['14']], `pair_${n}_rows`)
    }
  })

  await t.test('one SELECT of a UNION ALL is parked by itself', async (t) => {
    const source = await open('nine')
    await service.create('beside', 'id UInt32, n UInt32')
    const fails = 'n >= 13 AND (SELECT count() FROM nine_mended) = 0'
    const sql = `SELECT id, n FROM beside UNION ALL SELECT id, n + throwIf(${fails}) AS n FROM nine`
    await source.views.fill('united', sql, { datasource: 'united_rows' })
    t.equal((await service.append('nine', 'ndjson', ndjson([1], 13))).status, 422)
    t.notMatch((await service.append('beside', 'ndjson', ndjson([2]))).json, { views_behind: {} })
    t.match((await service.append('nine', 'ndjson', ndjson([3]))).json, { views_behind: { count: 2 } })
    t.equal(await service.count('united_rows'), 1)
    await source.mend()
    t.same((await source.catchUp('united')).json, { behind: null })
    t.same(await service.rows('SELECT id FROM united_rows ORDER BY id'), [['1'], ['2'], ['3']])
    t.same((await source.catchUp()).json, { behind: null })
    t.same(await keptFiles(source), [])
  })

  await t.test('rows of a data source that keeps none are kept too', async (t) => {
    const source = await open('six', { engine: 'Null' })
    t.equal((await service.append('six', 'ndjson', ndjson([1], 13))).status, 422)
    t.equal((await service.append('six', 'ndjson', ndjson([2]))).status, 200)
    await source.mend()
    t.same((await source.catchUp()).json, { behind: null })
    t.match(await source.faults(2), [['six', ['0', '0']]])
  })

  await t.test('what changes the rows of its source lets go of them', async (t) => {
    const changes = {
      truncate: (name: string) => service.call('POST', `/v0/datasources/${name}/truncate`),
      delete: (name: string) => service.call('POST', `/v0/datasources/${name}/delete?delete_condition=id%3D1`),
      replace: (name: string) =>
        service.call('POST', `/v0/datasources?mode=replace&name=${name}&format=ndjson`, { body: ndjson([7]) }),
      alter: (name: string) => service.call('POST', `/v0/datasources/${name}/alter?schema=id+UInt32,n+UInt32,m+UInt32`),
    }
    for (const [change, run] of Object.entries(changes)) {
      const source = await open(`by_${change}`)
      t.equal((await service.append(source.name, 'ndjson', ndjson([1, 2], 13))).status, 422)
      if (change === 'replace') await source.mend()
      const answer = await run(source.name)
      t.ok(answer.status < 300, answer.text)
      if (change === 'delete') await endedJob(service, jobIdOf(answer))
      const left = change === 'replace' ? [] : [{ state: 'incomplete', blocks: 0, bytes: 0 }]
      t.match(await source.behind(), left, change)
      t.same(await keptFiles(source), [], change)
      if (change === 'replace') t.same(await source.faults(1), [])
    }
  })

  await t.test('they go with the view, and with its source', async (t) => {
    for (const path of ['/v0/pipes/gone_risky', '/v0/datasources/gone?force=true']) {
      const source = await open('gone')
      t.equal((await service.append('gone', 'ndjson', ndjson([1], 13))).status, 422)
      t.ok((await keptFiles(source)).length > 0)
      const { status, text } = await service.call('DELETE', path)
      t.ok(status < 300, text)
      t.same(await keptFiles(source), [], path)
      for (const pipe of ['gone_risky', 'gone_sound']) await service.call('DELETE', `/v0/pipes/${pipe}?force=true`)
      for (const name of ['gone', 'gone_mended', 'gone_sound_rows', 'gone_risky_rows'])
        await service.call('DELETE', `/v0/datasources/${name}?force=true`)
    }
  })

  await t.test('an import by URL', async (t) => {
    const source = await open('by_url')
    files.set('/unlucky', (_request, response) => response.end(ndjson([1, 2], 13)))
    files.set('/good', (_request, response) => response.end(ndjson([3, 4])))
    const parameters = { mode: 'append', name: 'by_url', format: 'ndjson' }
    t.match(await run(parameters, '/unlucky'), { status: 'error', imported_rows: 2 })
    t.match(await source.behind(), [{ state: 'parked', blocks: 1 }])
    t.match(await run(parameters, '/good'), { status: 'done', imported_rows: 2 })
    t.match(await source.behind(), [{ state: 'parked', blocks: 2 }])
    await catchUpWholly(t, source, 4)
  })

  await t.test('more than may be kept leaves the view that needs the most incomplete; a repair fills it', async (t) => {
    const small = await open('small')
    const large = await open('large')
    await service.append('small', 'ndjson', ndjson([1], 13))
    await service.append('large', 'ndjson', ndjson([1], 13))
    for (let id = 2; id < blocksMax; id += 1) await service.append('large', 'ndjson', ndjson([id]))
    t.match(await large.behind(), [{ state: 'parked', blocks: blocksMax - 1, bytes: (blocksMax - 1) * blockBytes }])
    t.equal((await service.append('small', 'ndjson', ndjson([2]))).status, 200)
    const ofLarge = ({ node }: LogFields): boolean => node === 'large_risky.large_risky_view'
    t.match(await service.log.until(incomplete, ofLarge), {
      fields: { reason: 'more waits for it than may be kept' },
    })
    t.match(await small.behind(), [{ state: 'parked', blocks: 2, bytes: 2 * blockBytes }])
    t.match(await large.behind(), [{ state: 'incomplete', blocks: 0, bytes: 0 }])
    t.equal((await service.append('large', 'ndjson', ndjson([blocksMax]))).status, 200)
    await large.mend()
    t.match((await large.catchUp()).json, { behind: { state: 'incomplete', takes_new_rows: true } })
    const repair = await service.call('POST', '/v0/pipes/large_risky/nodes/large_risky_view/repair?force=true')
    t.match(await endedJob(service, jobIdOf(repair)), { status: 'done' })
    t.same(await large.faults(blocksMax), [])
    await catchUpWholly(t, small, 2)
  })

  await t.test('an import that may never be kept leaves its views incomplete, and no others', async (t) => {
    const other = await open('other')
    const source = await open('eight')
    await other.park(1)
    await service.append('other', 'ndjson', ndjson([2]))
    await source.park(0)
    const ids = Array.from({ length: 20_000 }, (_, id) => id + 1)
    t.match(await service.append('eight', 'ndjson', ndjson(ids)), { status: 200, json: { imported_rows: 20_000 } })
    t.match(await source.behind(), [{ state: 'incomplete' }])
    t.match(await other.behind(), [{ state: 'parked', blocks: 2 }])
    await catchUpWholly(t, other, 2)
  })

  await t.test('where nothing can be kept it is incomplete, and the import goes on', async (t) => {
    const source = await open('seven')
    await source.park(1)
    const directory = join(service.dataDir, filesName)
    await rm(directory, { recursive: true })
    await writeFile(directory, 'no directory')
    t.match(await service.append('seven', 'ndjson', ndjson([2])), { status: 200, json: { imported_rows: 1 } })
    t.match(await source.behind(), [{ state: 'incomplete', blocks: 0, bytes: 0 }])
    t.match((await service.append('seven', 'ndjson', ndjson([3]))).json, { imported_rows: 1 })
    t.equal(await service.count('seven_sound_rows'), 3)
  })
})

/** What the process before may have left of the import that it kept last for a view, and what a start makes of it. */
const leftCases = {
  whole: { state: 'parked', leave: async () => undefined },
  doubtful: { state: 'parked', leave: ({ dataDir, key }) => changeNote(dataDir, key, { isStored: false }) },
  missing: { state: 'incomplete', leave: ({ part }) => rm(part) },
  cut: { state: 'incomplete', leave: ({ part }) => truncate(part, 10) },
  damaged: {
    state: 'incomplete',
    leave: async ({ part }) => writeFile(part, Buffer.alloc((await stat(part)).size, 1)),
  },
} satisfies Readonly<Record<string, LeftCase>>

interface LeftCase {
  readonly state: 'incomplete' | 'parked'
  readonly leave: (left: { readonly dataDir: string; readonly key: string; readonly part: string }) => Promise<void>
}

t.test('a start', async (t) => {
  const directory = await createTestDirectory()
  t.teardown(() => directory.remove())
  const { path: dataDir } = directory
  const first = await liveOn(t, dataDir)
  const ids = new Map<string, string>()
  for (const name of [...Object.keys(leftCases), 'unstored']) {
    const source = await new RiskySource(first, name).create()
    await first.append(name, 'ndjson', ndjson([1, 2], 13))
    await source.send([3])
    await first.append(name, 'ndjson', ndjson([4]))
    ids.set(name, await first.idOf(name))
    if (name === 'unstored') ids.set('unstored_sound_rows', await first.idOf('unstored_sound_rows'))
  }
  await first.close()
  for (const [name, { leave }] of Object.entries(leftCases)) {
    const key = await lastKept(dataDir, ids.get(name))
    await leave({ dataDir, key, part: join(dataDir, filesName, `${Number(key)}.1`) })
  }
  for (const name of ['999.0', '999.1', 'other']) await writeFile(join(dataDir, filesName, name), 'of nothing')
  // The process ended before anything of the last import had come to the tables.
  await changeNote(dataDir, await lastKept(dataDir, ids.get('unstored')), { isStored: false })
  const store = await openEmbeddedStore(testStoreOptions(dataDir), silentLogger)
  for (const name of ['unstored', 'unstored_sound_rows']) await store.command(`TRUNCATE TABLE ws_0001.${ids.get(name)}`)
  await store.close()

  const second = await liveOn(t, dataDir)
  for (const [name, { state }] of Object.entries(leftCases)) {
    const source = new RiskySource(second, name)
    await second.append(name, 'ndjson', ndjson([5]))
    await source.mend()
    const caughtUp = await source.catchUp()
    if (state === 'parked') {
      t.same(caughtUp.json, { behind: null }, `${name}: ${caughtUp.text}`)
      t.same(await source.faults(5), [], name)
    } else {
      t.match(caughtUp.json, { behind: { state: 'incomplete' } }, `${name}: ${caughtUp.text}`)
      const ofIt = ({ node }: LogFields): boolean => node === `${name}_risky.${name}_risky_view`
      t.match(await second.log.until(incomplete, ofIt), { fields: { reason: /missing or damaged/ } })
      t.match(await source.faults(5), [[`${name}_risky_rows`]], `${name}: the others have all`)
    }
  }
  const source = new RiskySource(second, 'unstored')
  for (const table of ['unstored', 'unstored_sound_rows']) {
    t.same(await second.rows(`SELECT id FROM ${table}`), [['4']], 'it is stored by the start')
  }
  await source.mend()
  t.same((await source.catchUp()).json, { behind: null })
  t.same(await second.rows('SELECT id FROM unstored_risky_rows ORDER BY id'), [['1'], ['2'], ['3'], ['4']])
  t.same(await keptFiles(source), [])
})

/** The key of the import of a data source that was kept last. */
async function lastKept(dataDir: string, id: string | undefined): Promise<string> {
  const storage = await openLmdbStorage(join(dataDir, 'catalog.lmdb'))
  const all = await storage.list('kept_imports')
  await storage.close()
  return all.findLast(({ value }) => JSON.stringify(value).includes(id ?? ''))?.key ?? ''
}

async function changeNote(dataDir: string, key: string, fields: object): Promise<void> {
  const storage = await openLmdbStorage(join(dataDir, 'catalog.lmdb'))
  const note = await storage.get('kept_imports', key)
  const value = { ...(note?.value as object), ...fields }
  await storage.commit([{ kind: 'kept_imports', key, value, version: note?.version ?? null }])
  await storage.close()
}

/** A service that the test may close, and open again on the same directory. */
