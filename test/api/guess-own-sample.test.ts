import t from 'tap'
import { quoteString } from '../../src/shared/text-escapes.ts'
import { openTestService } from '../support/api/test-service.ts'
import { writeParquetFiles } from '../support/parquet-files.ts'
import { SeededRandom, testSeed } from '../support/seeded-random.ts'
import { byTier } from '../support/tier.ts'

// Whatever is missing, null or empty in a file: a data source with the guessed schema takes each of its rows.

const seed = testSeed()
const random = new SeededRandom(seed)
const bodyCount = byTier({ quick: 10, full: 20, soak: 3_000 })

function scalar(): unknown {
  return random.pick([
    () => random.below(3) - 1,
    () => random.pick([0, -0, 2 ** 31, -(2 ** 53), 2 ** 53, 1.5, 1e300, -1e-300, 9.2e18, 1.8e19]),
    () => random.pick([true, false]),
    () =>
      random.pick([
        '',
        ' ',
        'a',
        'ü',
        '"',
        '\\',
        '\n',
        'null',
        '007',
        '+4915112345678',
        '1',
        '1.5',
        '1e5',
        'NaN',
        '\u0000',
      ]),
    () =>
      random.pick([
        '2024-01-15',
        '2024-01-15 10:00:00',
        '2024-01-15T10:00:00.123Z',
        '2024-01-15T10:00:00.123456789+02:00',
      ]),
    () =>
      random.pick([
        '1969-12-31',
        '2024-02-30',
        '2024-01-15 24:00:00',
        '9999-12-31',
        '2024-1-5',
        '2024-01-15T10:00:00+99:00',
      ]),
  ])()
}

/** A kind of values that most of a column has. */
function makerOfValues(depth: number): () => unknown {
  const keys = ['a', 'b', 'c'].slice(0, 1 + random.below(3))
  const inner = depth < 3 ? makerOfValues(depth + 1) : scalar
  const one = scalar()
  return random.pick([
    scalar,
    () => one,
    () => one,
    () => Array.from({ length: random.below(3) }, () => one),
    () => Array.from({ length: random.below(3) }, scalar),
    () => Array.from({ length: random.below(3) }, () => random.pick([null, one])),
    () => Array.from({ length: random.below(3) }, () => ({ k: one })),
    () => Object.fromEntries(keys.filter(() => random.below(4) > 0).map((key) => [key, inner()])),
    () => [{}, [], null, ''][random.below(4)],
  ])
}

/** Records with the same keys, of which some are missing, null or empty in some of them. */
function recordsOf(): readonly Readonly<Record<string, unknown>>[] {
  const makers = new Map(['a', 'b', 'c d', 'e', 'list', '1'].map((key) => [key, makerOfValues(0)]))
  const missing = random.below(4)
  return Array.from({ length: 1 + random.below(8) }, () => {
    const entries = [...makers].flatMap(([key, make]) => {
      const choice = random.below(10)
      if (choice < missing) return []
      if (choice === missing) return [[key, null] as const]
      return [[key, make()] as const]
    })
    return Object.fromEntries(entries)
  })
}

function cell(): string {
  const value = scalar()
  const text = typeof value === 'string' ? value.replaceAll('\u0000', '') : String(value)
  return /[",\n]/.test(text) || random.below(4) === 0 ? `"${text.replaceAll('"', '""')}"` : text
}

function csvOf(): string {
  const columns = Array.from({ length: 2 + random.below(3) }, () => {
    const one = cell()
    const empty = random.pick(['', '', '""', '\\N', one])
    return () => (random.below(3) === 0 ? empty : random.below(6) === 0 ? cell() : one)
  })
  const rows = Array.from({ length: 2 + random.below(8) }, () => columns.map((make) => make()).join(','))
  return `${columns.map((_, index) => `name${index}`).join(',')}\n${rows.join('\n')}\n`
}

const ndjsonBodies = Array.from({ length: bodyCount }, () => recordsOf()).filter((records) =>
  records.some((record) => Object.keys(record).length > 0),
)
const lines = (records: readonly unknown[]): string => records.map((record) => `${JSON.stringify(record)}\n`).join('')

/** Rows of a file with types of its own. */
function parquetQuery(): string {
  const types = [
    'Nullable(Int64)',
    'Nullable(String)',
    'Array(String)',
    'Array(Nullable(Int32))',
    'Map(String, Nullable(Int8))',
    'Nullable(Decimal(9, 2))',
    "Nullable(DateTime64(3, 'UTC'))",
    'Tuple(a Nullable(String), b Array(Int8))',
    'Date32',
    'Nullable(Bool)',
    'FixedString(3)',
    'Array(Array(Float64))',
    'LowCardinality(Nullable(String))',
    'UUID',
    'UInt64',
    'Array(Tuple(k String, v Nullable(Int64)))',
  ]
  const count = 1 + random.below(6)
  const chosen = Array.from({ length: count }, (_, index) => `c${index} ${types[random.below(types.length)]}`)
  const text = quoteString(chosen.join(', '))
  const [generated, nothing] = [
    `generateRandom(${text}, ${random.below(10 ** 6)}, 4, 2)`,
    chosen.map((_, index) => `c${index}`),
  ]
  const readable = nothing.map((name) => `${name}`).join(', ')
  return `SELECT ${readable} FROM ${generated} LIMIT ${random.below(20)}`
}

const parquetNames = Array.from({ length: bodyCount }, (_, index) => `p${index}`)
const parquetFile = await writeParquetFiles(
  Object.fromEntries(parquetNames.map((name) => [name, { sql: parquetQuery() }])),
)
const service = await openTestService(t, { eventsCreatesPerMinuteMax: 0 })

/** Analyses the body, creates what that says, and loads the body. */
async function loadAsGuessed(format: 'csv' | 'ndjson' | 'parquet', body: string | Uint8Array) {
  const analysis = await service.call('POST', `/v0/analyze?format=${format}`, { body })
  // What is wrong with the answer, the load below tells.
  const schema = (analysis.json as { readonly analysis?: { readonly schema?: string } }).analysis?.schema ?? ''
  const created = await service.create('guessed', schema)
  const path = `/v0/datasources?mode=append&name=guessed&format=${format}`
  const loaded = await service.call('POST', path, { body })
  const reasons = await service.rows('SELECT c__error FROM guessed_quarantine').catch(() => [])
  const stored = created.status === 200 ? await service.count('guessed') : -1
  await service.call('DELETE', '/v0/datasources/guessed')
  return { schema, created, loaded, stored, reasons }
}

t.test(`a schema guessed of NDJSON takes all of it (seed ${seed})`, async (t) => {
  for (const records of ndjsonBodies) {
    const { created, loaded, stored, ...rest } = await loadAsGuessed('ndjson', lines(records))
    const told = JSON.stringify({ ...rest, body: lines(records), created: created.text.slice(0, 200) })
    t.match(loaded.json, { error: false, quarantine_rows: 0, invalid_lines: 0 }, told)
    t.equal(stored, records.length, told)
  }
})

t.test(`a data source that events create takes these events (seed ${seed})`, async (t) => {
  for (const records of ndjsonBodies) {
    const answer = await service.events('from_events', lines(records), { wait: 'true' })
    const reasons = await service.rows('SELECT c__error FROM from_events_quarantine').catch(() => [])
    const told = `${answer.text} ${lines(records)} ${JSON.stringify(reasons)}`
    t.match(answer.json, { successful_rows: records.length, quarantined_rows: 0 }, told)
    await service.call('DELETE', '/v0/datasources/from_events')
  }
})

t.test(`a schema guessed of CSV takes all of it (seed ${seed})`, async (t) => {
  for (let at = 0; at < bodyCount; at += 1) {
    const body = csvOf()
    const { created, loaded, ...rest } = await loadAsGuessed('csv', body)
    const told = JSON.stringify({ ...rest, body, created: created.text.slice(0, 200), loaded: loaded.text })
    t.match(loaded.json, { error: false, quarantine_rows: 0, invalid_lines: 0 }, told)
  }
})

t.test(`a schema guessed of Parquet takes all of it (seed ${seed})`, async (t) => {
  for (const name of parquetNames) {
    const { created, loaded, ...rest } = await loadAsGuessed('parquet', parquetFile(name))
    const told = JSON.stringify({ ...rest, created: created.text.slice(0, 200), loaded: loaded.text })
    t.match(loaded.json, { error: false, quarantine_rows: 0 }, told)
  }
})

t.test('a list that is missing or null in some records is empty there', async (t) => {
  const body = '{"id":1,"tags":["a"],"o":{"l":[1]}}\n{"id":2,"tags":null}\n{"id":3}\n'
  t.match(await service.events('lists', body, { wait: 'true' }), { json: { successful_rows: 3, quarantined_rows: 0 } })
  t.same(await service.rows('SELECT tags, o_l FROM lists ORDER BY id'), [
    ["['a']", '[1]'],
    ['[]', '[]'],
    ['[]', '[]'],
  ])
})
