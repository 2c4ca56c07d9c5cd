import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import t from 'tap'
import { openTestService } from '../support/api/test-service.ts'
import { repositoryRoot } from '../support/repository-root.ts'

// Files of other writers than the engine: fixtures/parquet/README.md says which.

const folder = join(repositoryRoot, 'fixtures', 'parquet')
const names = readdirSync(folder).flatMap((name) =>
  name.endsWith('.parquet') ? [name.slice(0, -'.parquet'.length)] : [],
)
const service = await openTestService(t)

function bodyOf(name: string): Buffer {
  return readFileSync(join(folder, `${name}.parquet`))
}

/** Creates a data source of the file, and gives how many rows are stored and set aside. */
async function load(table: string, file: string, schema: string): Promise<{ stored: number; refused: number }> {
  const form = new FormData()
  form.append('schema', schema)
  form.append('rows', new Blob([new Uint8Array(bodyOf(file))]), `${file}.parquet`)
  const { status, text, json } = await service.call('POST', `/v0/datasources?name=${table}&format=parquet`, {
    body: form,
  })
  t.equal(status, 200, `${file}: ${text.slice(0, 300)}`)
  const counts = json as { readonly imported_rows: number; readonly quarantine_rows: number }
  return { stored: counts.imported_rows, refused: counts.quarantine_rows }
}

async function guessedSchema(file: string): Promise<string> {
  const { status, text, json } = await service.call('POST', '/v0/analyze?format=parquet', { body: bodyOf(file) })
  t.equal(status, 200, `${file}: ${text.slice(0, 300)}`)
  return (json as { readonly analysis: { readonly schema: string } }).analysis.schema
}

t.test('a file of each writer is stored as it was written, by its guessed schema', async (t) => {
  t.ok(names.length > 10, 'there are files')
  for (const name of names) {
    const table = name.replaceAll('-', '_')
    const { stored, refused } = await load(table, name, await guessedSchema(name))
    t.equal(refused, name === 'duckdb-days' ? 6 : 0, `rows of ${name} that are set aside`)
    t.equal(stored + refused, name === 'duckdb-days' ? 10 : 40, `rows of ${name}`)
    const text = await service.sql(`SELECT * FROM ${table} ORDER BY id FORMAT TSVWithNames`)
    const path = join(folder, `${name}.tsv`)
    if (process.env['UPDATE_FIXTURES'] === '1') writeFileSync(path, text)
    t.equal(text, readFileSync(path, 'utf8'), name)
  }
})

t.test('decimals that are wider than their precision needs have their values, in columns of any type', async (t) => {
  const [head = ''] = readFileSync(join(folder, 'hyparquet-decimals.tsv'), 'utf8').split('\n')
  const [, ...columns] = head.split('\t')
  const wanted = Array.from({ length: 40 }, (_, id) => (id % 9 === 4 ? '\\N' : String(id * 1.25 - 19.75)))
  for (const [at, type] of ['Decimal(9, 2)', 'Float64', 'String', 'Decimal(76, 2)'].entries()) {
    const schema = ['id Int32', ...columns.map((name) => `${name} Nullable(${type})`)].join(', ')
    const table = `decimals_${at}`
    t.same(await load(table, 'hyparquet-decimals', schema), { stored: 40, refused: 0 })
    for (const name of columns) {
      const rows = await service.rows(`SELECT ${name} FROM ${table} ORDER BY id`)
      t.same(rows.flat(), wanted, `${name} as ${type}`)
    }
  }
})

const days = ['-2147483647', '2147483647', '0001-01-01', '1899-12-31', '1900-01-01', '2299-12-31', '2300-01-01']
const allDays = [...days, '9999-12-31', '\\N', '2024-02-29']

t.test('a day that a column cannot hold sets its row aside, and not the whole file', async (t) => {
  const taken: Readonly<Record<string, readonly string[]>> = {
    'Nullable(Date32)': ['1900-01-01', '2299-12-31', '\\N', '2024-02-29'],
    Date32: ['1900-01-01', '2299-12-31', '2024-02-29'],
    'Nullable(Date)': ['\\N', '2024-02-29'],
    "DateTime('Europe/Madrid')": ['2024-02-29 00:00:00'],
    'Nullable(DateTime64(3))': ['1900-01-01 00:00:00.000', '2299-12-31 00:00:00.000', '\\N', '2024-02-29 00:00:00.000'],
    'Nullable(String)': allDays,
    "String DEFAULT 'none'": allDays.map((day) => (day === '\\N' ? 'none' : day)),
    'Nullable(Int32)': ['\\N'],
  }
  for (const [at, [type, wanted]] of Object.entries(taken).entries()) {
    const table = `days_${at}`
    const counts = await load(table, 'duckdb-days', `id Int32, day ${type}`)
    t.same(counts, { stored: wanted.length, refused: 10 - wanted.length }, type)
    t.same((await service.rows(`SELECT day FROM ${table} ORDER BY id`)).flat(), wanted, type)
    if (counts.refused === 0) continue
    const kept = (await service.rows(`SELECT day FROM ${table}_quarantine ORDER BY toInt32(id)`)).flat()
    const isTaken = (day: string): boolean => wanted.some((one) => one.startsWith(day))
    t.same(
      kept,
      allDays.filter((day) => !isTaken(day)),
      `the quarantine has the days that are no ${type}`,
    )
  }
})

t.test('the whole row as an object, and the preview, have such days too', async (t) => {
  t.same(await load('whole', 'duckdb-days', 'id Int32, r String `json:$`'), { stored: 10, refused: 0 })
  const [row] = await service.rows('SELECT r FROM whole WHERE id = 8')
  t.same(row, ['{"id":8,"day":"9999-12-31"}'])
  const { json } = await service.call('POST', '/v0/analyze?format=parquet', { body: bodyOf('duckdb-days') })
  const { preview } = json as { readonly preview: { readonly data: readonly { readonly day: string | null }[] } }
  t.same(
    preview.data.map(({ day }) => day ?? '\\N'),
    allDays,
  )
})
