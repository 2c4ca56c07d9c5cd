// A kill in the middle of an INSERT of an import may leave its rows in the data source and not in what views fill: the next start brings them there.

import { link, mkdir, readdir, rename } from 'node:fs/promises'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { readBootId } from '../../src/directory/boot-id.ts'
import { openEmbeddedStore } from '../../src/store/embedded/embedded-store.ts'
import { endedJob, jobIdOf } from '../support/api/job-calls.ts'
import { liveOn, type TestService } from '../support/api/test-service.ts'
import { ViewCalls } from '../support/api/view-calls.ts'
import { urlOptions } from '../support/imports/url-imports.ts'
import { writeParquetFiles } from '../support/parquet-files.ts'
import { openRemoteServer } from '../support/remote-server.ts'
import { createTestDirectory, silentLogger, testStoreOptions } from '../support/store/test-store.ts'

const rowCount = 30
const parquet = (
  await writeParquetFiles({
    rows: { sql: `SELECT toUInt32(number) AS id, toUInt32(1) AS n FROM numbers(${rowCount})` },
  })
)('rows')
const ids = Array.from({ length: rowCount }, (_, id) => id)
const ndjson = ids.map((id) => `{"id":${id},"n":1}\n`).join('')
const csv = ids.map((id) => `${id},1\n`).join('')
const partitioned = { engine: 'MergeTree', engine_sorting_key: 'id', engine_partition_key: 'id % 3' }

/** Collects the files of INSERTs that are under way, as a kill would leave them. */
class LeftFiles {
  readonly #directory: string
  readonly #own: string
  #isWatching = true
  #watching: Promise<void> = Promise.resolve()

  constructor(dataDir: string, bootId: string) {
    this.#own = join(dataDir, 'inserts-under-way', bootId)
    this.#directory = join(dataDir, 'left')
  }

  async start(): Promise<void> {
    await mkdir(this.#directory)
    this.#watching = this.#watch()
  }

  async stop(): Promise<readonly string[]> {
    this.#isWatching = false
    await this.#watching
    return await readdir(this.#directory)
  }

  /** Precondition: no service is open. */
  async putBack(): Promise<void> {
    for (const name of await readdir(this.#directory)) await rename(join(this.#directory, name), join(this.#own, name))
  }

  async now(): Promise<readonly string[]> {
    return await readdir(this.#own)
  }

  async #watch(): Promise<void> {
    while (this.#isWatching) {
      for (const name of await readdir(this.#own)) {
        await link(join(this.#own, name), join(this.#directory, name)).catch((error: NodeJS.ErrnoException) => {
          // It has ended by now, or is known already.
          if (error.code !== 'ENOENT' && error.code !== 'EEXIST') throw error
        })
      }
    }
  }
}

interface Way {
  readonly name: string
  readonly engine?: Readonly<Record<string, string>>
  readonly run: (t: Test, service: TestService, name: string) => Promise<void>
}

function waysOf(origin: string): readonly Way[] {
  const byUrl = async (t: Test, service: TestService, name: string): Promise<void> => {
    const query = new URLSearchParams({ mode: 'append', name, format: 'ndjson', url: `${origin}/rows.ndjson` })
    const job = await endedJob(service, jobIdOf(await service.call('POST', `/v0/datasources?${query}`)))
    t.match(job, { status: 'done', imported_rows: rowCount })
  }
  const byBody = (format: 'csv' | 'ndjson', body: string) => async (t: Test, service: TestService, name: string) => {
    t.match((await service.append(name, format, body)).json, { imported_rows: rowCount })
  }
  const replay = async (t: Test, service: TestService, name: string): Promise<void> => {
    await service.append(name, 'ndjson', ndjson.replaceAll('"n":1', '"n":"bad"'))
    const body = new URLSearchParams({ 'fixes.n': "'1'" }).toString()
    const answer = await service.call('POST', `/v0/datasources/${name}/quarantine/replay`, { body })
    t.match(answer, { status: 200, json: { replayed_rows: rowCount } }, answer.text)
  }
  const byParquet = async (t: Test, service: TestService, name: string): Promise<void> => {
    const path = `/v0/datasources?mode=append&name=${name}&format=parquet`
    t.match((await service.call('POST', path, { body: parquet })).json, { imported_rows: rowCount })
  }
  return [
    { name: 'as_ndjson', run: byBody('ndjson', ndjson) },
    { name: 'as_csv', run: byBody('csv', csv) },
    { name: 'cut', engine: partitioned, run: byBody('ndjson', ndjson) },
    { name: 'kept_nowhere', engine: { engine: 'Null' }, run: byBody('ndjson', ndjson) },
    { name: 'by_url', run: byUrl },
    { name: 'as_parquet', run: byParquet },
    { name: 'replayed', run: replay },
  ]
}

t.test('a start brings a block that a kill came into to its table and to all views, once', async (t) => {
  const directory = await createTestDirectory()
  t.teardown(() => directory.remove())
  const { path: dataDir } = directory
  const server = await openRemoteServer(t, (_request, response) => response.end(ndjson))
  const options = urlOptions
  const first = await liveOn(t, dataDir, options)
  const left = new LeftFiles(dataDir, (await readBootId()) ?? '')
  await left.start()
  const tables: string[] = []
  for (const { name, engine, run } of waysOf(server.origin)) {
    const views = new ViewCalls(first)
    await first.create(name, 'id UInt32 `json:$.id`, n UInt32 `json:$.n`', engine ?? {})
    await views.fill(`of_${name}`, `SELECT id, n FROM ${name}`, { datasource: `${name}_rows` })
    await views.fill(`behind_${name}`, `SELECT id, n FROM ${name}_rows`, { datasource: `${name}_ends` })
    await run(t, first, name)
    t.equal(await first.count(`${name}_ends`), rowCount)
    tables.push(await first.idOf(`${name}_rows`), await first.idOf(`${name}_ends`))
    // Of one neither the data source nor its views have got the rows.
    if (name === 'as_csv') tables.push(await first.idOf(name))
  }
  t.ok((await left.stop()).length > 0)
  t.same(await left.now(), [], 'nothing is left of what has ended')
  await first.close()
  const store = await openEmbeddedStore(testStoreOptions(dataDir), silentLogger)
  for (const table of tables) await store.command(`TRUNCATE TABLE ws_0001.${table}`)
  await store.close()
  await left.putBack()

  for (const start of ['the first', 'the next']) {
    const service = await liveOn(t, dataDir, options)
    for (const { name } of waysOf(server.origin)) {
      for (const table of [name, `${name}_rows`, `${name}_ends`]) {
        const [counts] = await service.rows(`SELECT count(), uniqExact(id) FROM ${table}`)
        const expected = table === 'kept_nowhere' ? '0' : String(rowCount)
        t.same(counts, [expected, expected], `${table} behind ${start} start`)
      }
    }
    t.same(await left.now(), [])
    await service.close()
  }
})
