import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'csv-parse/sync'
import t, { type Test } from 'tap'
import { openTestService } from '../support/api/test-service.ts'
import { repositoryRoot } from '../support/repository-root.ts'

// A sample of its default size: several of the real files go on behind it.
const service = await openTestService(t, { sampleBytesMax: 262_144 })

function packageFile(name: string): Buffer {
  return readFileSync(join(repositoryRoot, 'node_modules/vega-datasets/data', name))
}

type Parameters = Readonly<Record<string, string>>

interface Counts {
  readonly imported_rows: number
  readonly quarantine_rows: number
  readonly invalid_lines: number
}

async function post(parameters: Parameters, body: Uint8Array): Promise<unknown> {
  const path = `/v0/datasources?${new URLSearchParams(parameters)}`
  const { status, json, text } = await service.call('POST', path, { body, headers: { 'content-type': 'text/csv' } })
  if (status !== 200) throw new Error(`${path} answered ${status}: ${text}`)
  return json
}

interface Expectation {
  readonly rowCount: number
  /** Rows that cannot be rows of the file's own schema, as short ones; told by another reader. */
  readonly shortCount?: number
}

/** Creates a data source by guess, and another by the schema of the dry run: both take every row of the file. */
async function loadBoth(t: Test, what: string, body: Uint8Array, { rowCount, shortCount = 0 }: Expectation) {
  const expected = [rowCount - shortCount, shortCount, shortCount]
  // The answers of a dry run and of an import.
  const { sql_schema } = (await post({ dry: 'true' }, body)) as { readonly sql_schema: string }
  for (const parameters of [{}, { schema: sql_schema }, { schema: sql_schema, mode: 'append' }] as const) {
    const counts = (await post({ name: 'real', format: 'csv', ...parameters }, body)) as Counts
    t.same([counts.imported_rows, counts.quarantine_rows, counts.invalid_lines], expected, `${what}: ${sql_schema}`)
    t.equal(await service.count('real'), rowCount - shortCount)
    await service.call('DELETE', '/v0/datasources/real')
  }
  return sql_schema
}

const regularFiles = [
  ['airports.csv', 'latitude Float64'],
  ['birdstrikes.csv', 'flight_date Date'],
  ['co2-concentration.csv', 'date Date32'],
  ['disasters.csv', 'deaths Int32'],
  ['flights-airport.csv', 'count Int32'],
  ['gapminder-health-income.csv', 'population Int64'],
  ['github.csv', 'time String'],
  ['iowa-electricity.csv', 'source String'],
  ['la-riots.csv', 'age Nullable(Int32)'],
  ['population_engineers_hurricanes.csv', 'state String'],
  ['seattle-weather-hourly-normals.csv', 'date DateTime'],
  ['seattle-weather.csv', 'wind Float64'],
  ['sp500-2000.csv', 'volume Int64'],
  ['species.csv', 'common_name String'],
  ['stocks.csv', 'price Float64'],
  ['unemployment.tsv', 'rate Float64'],
  ['us-employment.csv', 'month Date'],
  ['weather.csv', 'weather String'],
  ['windvectors.csv', 'speed Float64'],
  ['zipcodes.csv', 'zip_code String'],
] as const

t.test('files as people have them are taken by guess, and by the schema of their dry run', async (t) => {
  for (const [file, column] of regularFiles) {
    const body = packageFile(file)
    const rows = parse(body, { delimiter: file.endsWith('.tsv') ? '\t' : ',', bom: true, relax_column_count: true })
    const schema = await loadBoth(t, file, body, { rowCount: rows.length - 1 })
    const [columnName, type] = column.split(' ')
    t.match(schema, `\`${columnName}\` ${type}`, file)
  }
})

const dialects = {
  'semicolons and line feeds': { delimiter: ';', newLine: '\n' },
  'tabs and Windows line ends': { delimiter: '\t', newLine: '\r\n' },
  'bars and carriage returns': { delimiter: '|', newLine: '\r' },
  'commas and Windows line ends': { delimiter: ',', newLine: '\r\n' },
} as const

/** Films have ragged cells: numbers among titles, titles with commas, quotes and other letters, many empty cells. */
const films = JSON.parse(packageFile('movies.json').toString()) as readonly Readonly<Record<string, unknown>>[]

function written(
  records: readonly (readonly unknown[])[],
  { delimiter, newLine }: (typeof dialects)[keyof typeof dialects],
) {
  const cell = (value: unknown): string => {
    const text = value === null || value === undefined ? '' : String(value)
    return /[",;|\t\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
  }
  return Buffer.from(records.map((record) => `${record.map(cell).join(delimiter)}${newLine}`).join(''))
}

t.test('a table with ragged cells is taken in every dialect, and is the same table', async (t) => {
  const names = Object.keys(films[0] ?? {})
  const records = [names, ...films.map((film) => names.map((name) => film[name]))]
  for (const [what, dialect] of Object.entries(dialects)) {
    const body = written(records, dialect)
    const schema = await loadBoth(t, what, body, { rowCount: films.length })
    t.match(schema, '`us_gross` Nullable(Int64)', what)
    await post({ name: 'films' }, body)
    const sums = 'SELECT sum(us_gross), countIf(isNull(imdb_rating)), uniqExact(title) FROM films'
    const number = (name: string) => films.reduce((total, film) => total + Number(film[name] ?? 0), 0)
    // One of them is none, which is NULL.
    const titles = new Set(films.map(({ Title }) => String(Title ?? '')))
    const unrated = films.filter((film) => (film['IMDB Rating'] ?? null) === null).length
    t.same(await service.rows(sums), [[String(number('US Gross')), String(unrated), String(titles.size - 1)]], what)
    await service.call('DELETE', '/v0/datasources/films')
  }
})

t.test('names of any language, quoted line ends and short rows are taken as they are', async (t) => {
  const words = ['größe', 'città, centro', '東京\n都', 'say "hi"', 'ok', '', '"', 'a;b', 'x\ty', '🙂']
  const records = Array.from({ length: 20_000 }, (_, n) => [
    n,
    words[n % words.length],
    words[(n * 7) % words.length],
    `${n}.5`,
  ])
  for (const [what, dialect] of Object.entries(dialects)) {
    // Where lines end with carriage returns alone, a line feed in a cell says that they do not.
    if (dialect.newLine === '\r') continue
    const body = written([['Größe', 'città (centro)', '東京', '2nd value'], ...records], dialect)
    const schema = await loadBoth(t, what, body, { rowCount: records.length })
    t.equal(
      schema,
      '`größe` Int32, `città_centro_` Nullable(String), `東京` Nullable(String), `_2nd_value` Float64',
      what,
    )
  }
  const short = written(
    [['a', 'b', 'c'], ...records.map((record, n) => record.slice(0, n % 1000 === 5 ? 2 : 3))],
    dialects['semicolons and line feeds'],
  )
  await loadBoth(t, 'short rows', short, { rowCount: records.length, shortCount: 20 })
})

t.test('what a body says of itself late is seen as far as it can be held', async (t) => {
  // 3 MB, of which the first megabyte is whole numbers, and in ASCII.
  const rows = Array.from({ length: 200_000 }, (_, n) => (n < 70_000 ? `${n},Koln\n` : `${n}.5,Köln\n`)).join('')
  const body = Buffer.from(`n,stadt\n${rows}`, 'latin1')
  t.equal(await loadBoth(t, 'late', body, { rowCount: 200_000 }), '`n` Float64, `stadt` String')
  await post({ name: 'towns' }, body)
  t.same(await service.rows("SELECT uniqExact(stadt), countIf(stadt = 'Köln') FROM towns"), [['2', '130000']])
})
