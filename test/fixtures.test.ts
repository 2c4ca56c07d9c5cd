import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { readOptions } from '../src/config-reader.ts'
import { createLogger } from '../src/observe/logger.ts'
import { openService } from '../src/service.ts'
import type { Fixture } from './support/fixture.types.ts'
import { buildFixtures, readFixture, writeFixtures } from './support/fixture-files.ts'

// Real data through the real HTTP API. Each fixture is loaded into a data source of its own, and what comes of it is
// compared with what other readers made of the same file.
const built = buildFixtures()
if (process.env['UPDATE_FIXTURES'] === '1') writeFixtures(built)

interface ImportAnswer {
  readonly error: string | false
  readonly quarantine_rows: number
  readonly invalid_lines: number
}

const directory = await mkdtemp(join(tmpdir(), 'millrace-fixtures-'))
t.teardown(() => rm(directory, { recursive: true, force: true }))
const reading = readOptions({
  flags: ['--port=0', `--data-dir=${directory}`, '--log-level=silent'],
  environment: {},
  machine: { coreCount: 2, memoryBytes: 4 * 1024 ** 3 },
})
if (reading.kind !== 'options') throw new Error('the options of this test are right')
const service = await openService(reading.options, createLogger({ level: 'silent' }))
t.teardown(() => service.close())

const request = async (method: string, path: string, body?: Uint8Array | string): Promise<string> => {
  const headers = { authorization: `Bearer ${service.adminToken.text}` }
  const response = await fetch(`${service.address}${path}`, {
    method,
    headers,
    ...(body === undefined ? {} : { body }),
  })
  const text = await response.text()
  if (response.status !== 200) throw new Error(`${method} ${path.slice(0, 60)} answered ${response.status}: ${text}`)
  return text
}
const rows = async (sql: string): Promise<readonly Readonly<Record<string, unknown>>[]> => {
  // The engine's JSON format has its rows there.
  const answer = JSON.parse(await request('POST', '/v0/sql', `${sql} FORMAT JSON`)) as {
    data: Record<string, unknown>[]
  }
  return answer.data
}
const load = async (fixture: Fixture, body: Buffer): Promise<ImportAnswer> => {
  const { dataSource: name, schema, format, sortingKey } = fixture
  const create = { name, schema, format, engine: 'MergeTree', engine_sorting_key: sortingKey }
  await request('POST', `/v0/datasources?${new URLSearchParams(create)}`)
  const append = { mode: 'append', name, format, ...fixture.parameters }
  return JSON.parse(await request('POST', `/v0/datasources?${new URLSearchParams(append)}`, body)) as ImportAnswer // An import's answer.
}

for (const source of built) {
  t.test(source.fixture.name, async (t) => {
    const { fixture, body } = readFixture(source)
    t.same(fixture, source.fixture, 'the expected result is what the independent reader gives')
    t.ok(body.equals(Buffer.from(source.inputText)), 'the input is what the package gives')

    const answer = await load(fixture, body)
    t.equal(answer.quarantine_rows, fixture.quarantinedRows, 'rows set aside')
    t.equal(answer.invalid_lines, fixture.invalidLines, 'lines that are no record')
    t.equal(
      answer.error === false,
      fixture.quarantinedRows + fixture.invalidLines === 0,
      'an error only when rows are missing',
    )
    const stored = await rows(`SELECT count() AS count FROM ${fixture.dataSource}`)
    t.equal(String(stored[0]?.['count']), String(fixture.storedRows), 'rows stored')
    t.equal(
      Number(stored[0]?.['count']) + answer.quarantine_rows + answer.invalid_lines - fixture.shortLines,
      fixture.recordCount,
      'rows in are rows stored, set aside or invalid',
    )

    for (const { column, reason, rowCount } of fixture.quarantine) {
      const condition = reason === null ? `has(c__error_column, '${column}')` : `has(c__error, ${sqlText(reason)})`
      const [group] = await rows(`SELECT countIf(${condition}) AS count FROM ${fixture.dataSource}_quarantine`)
      t.equal(String(group?.['count']), String(rowCount), reason ?? `rows set aside because of ${column}`)
    }
    for (const { sql, row } of fixture.checks) {
      const [answered] = await rows(sql)
      const texts = Object.fromEntries(Object.entries(answered ?? {}).map(([name, value]) => [name, String(value)]))
      t.same(texts, row, sql)
    }
  })
}

function sqlText(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`
}
