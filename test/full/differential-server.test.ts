import { join } from 'node:path'
import t from 'tap'
import type { RawValue } from '../../src/codec/cell.types.ts'
import { valueTypeOf } from '../../src/schema/types/column-type.ts'
import type { ColumnType } from '../../src/schema/types/column-type.types.ts'
import { quoteString } from '../../src/shared/text-escapes.ts'
import { openTestService } from '../support/api/test-service.ts'
import { type Canonical, withReason } from '../support/canonical.ts'
import { canonicalOf } from '../support/canonical-values.ts'
import { startClickHouseServer } from '../support/clickhouse-server.ts'
import { referenceJson } from '../support/codec/reference/exact-json.ts'
import { columnOf } from '../support/codec/reference/random-schema.ts'
import { anyValue, randomValue } from '../support/codec/reference/random-values.ts'
import { jsonOf, type Spelling } from '../support/codec/reference/spelling.ts'
import { TestRandom } from '../support/codec/reference/test-random.ts'
import { textMakers } from '../support/codec/value-texts.ts'
import { testSeed } from '../support/seeded-random.ts'
import { ServerReads, valuesOf } from '../support/server-reads.ts'
import { createTestDirectory } from '../support/store/test-store.ts'
import { byTier } from '../support/tier.ts'

// Random rows are loaded from NDJSON, CSV and Parquet. What is stored and what is set aside must be what a ClickHouse server
// makes of the same texts, or differ from it for a reason of docs/values.md: `canonicalOf` tells those rules a second time,
// and what it says a value is taken for is given to the server, which has to read it as what is stored.

const rowsMin = byTier({ quick: 1_500, full: 5_000, soak: 500_000 })
const rowsPerTable = byTier({ quick: 500, full: 1_000, soak: 5_000 })
const columnsPerTable = 5
const refused = 'set aside'
const textsBeyond =
  'A text of Parquet whose digits lie beyond what a column has is set aside, whatever its offset says.'
const offsetBeyond = /(?:1899|1969|2106|2149|2262|2300)-.*[+-]\d\d/
const nearLimit = 'A local time within a day of what a column has may lie beyond it in its zone, and is set aside then.'
const yearBeyond = /(?:^|\D)(?:0\d{3}|1[0-8]\d\d|2[3-9]\d\d|[3-9]\d{3})-\d\d-\d\d/
const escapes = 'An escape in a text of JSON is what it stands for, in numbers and times too.'

const typeTexts = [
  ...['Int8', 'Int16', 'Int32', 'Int64', 'Int128', 'Int256', 'UInt8', 'UInt16', 'UInt32', 'UInt64', 'UInt128'],
  ...['UInt256', 'Float32', 'Float64', 'Decimal(9, 2)', 'Decimal(18, 0)', 'Decimal(38, 10)', 'Decimal(76, 20)'],
  ...['Bool', 'String', 'FixedString(5)', 'UUID', 'IPv4', 'IPv6', 'Date', 'Date32', 'DateTime'],
  ...["DateTime('Europe/Madrid')", 'DateTime64(0)', 'DateTime64(3)', "DateTime64(6, 'Asia/Kolkata')", 'DateTime64(9)'],
  ...["Enum8('a' = 1, 'b c' = -2, '7' = 4)", "Enum16('ä' = 1000, 'it''s' = -1000)"],
  ...['LowCardinality(String)', 'LowCardinality(Nullable(String))', 'Nullable(Int32)', 'Nullable(Float64)'],
  ...['Nullable(String)', 'Nullable(DateTime64(3))', 'Nullable(Decimal(18, 4))', 'Nullable(UUID)', 'Nullable(Date)'],
  ...['Array(Int32)', 'Array(String)', 'Array(Nullable(Float64))', 'Array(Array(UInt8))', 'Array(DateTime64(3))'],
  ...['Map(String, Int32)', 'Map(LowCardinality(String), Nullable(Float64))', 'Map(UInt16, Array(Int8))'],
  ...['Tuple(Int8, Nullable(String))', 'Tuple(a Int32, b Nullable(DateTime64(3)), c Array(String))', 'JSON'],
] as const

interface Column {
  readonly name: string
  readonly typeText: string
  readonly type: ColumnType
  /** As JSON has them, by row. */
  readonly values: readonly string[]
}

const seed = testSeed()
const random = new TestRandom(seed)
const directory = await createTestDirectory()
t.teardown(() => directory.remove())
const server = await startClickHouseServer({ directory: join(directory.path, 'server') })
t.teardown(() => server.close())
const reads = new ServerReads(server, directory.path)
const service = await openTestService(t)

const counts = { rows: 0, stored: 0, quarantined: 0, invalid: 0, values: 0, same: 0 }
const reasonCounts = new Map<string, number>()
const unexplained: string[] = []

function told(reason: string): void {
  reasonCounts.set(reason, (reasonCounts.get(reason) ?? 0) + 1)
}

/** Halves of surrogate pairs make no UTF-8, and become U+FFFD. */
function wellFormed({ text, isText }: Spelling): Spelling {
  return { text: Buffer.from(text).toString(), isText }
}

function randomSpelling(type: ColumnType, typeText: string): Spelling {
  if (random.chance(90)) return randomValue(random, type)
  const inner = typeText.replace(/^(?:LowCardinality|Nullable)\((.*)\)$/, '$1')
  const makers = textMakers.filter(({ types }) => types.includes(inner))
  const maker = makers[random.below(makers.length)]
  if (maker === undefined || random.chance(20)) return anyValue(random)
  return { text: maker.make(random), isText: true }
}

function randomJson(type: ColumnType, typeText: string): string {
  for (;;) {
    const json = jsonOf(random, wellFormed(randomSpelling(type, typeText)))
    const value = referenceJson(json)
    // What is no JSON, holds halves of pairs in escapes, or escapes in lists of ClickHouse's spelling, is for other tests.
    const isEscapedList = value?.kind === 'string' && /^\s*[[{(].*\\/.test(value.text)
    if (value !== undefined && !isEscapedList && !/\\ud[89a-f]/i.test(json)) return json.replaceAll(/[\r\n\t]/g, ' ')
  }
}

function randomColumn(name: string): Column {
  const typeText = random.pick(typeTexts)
  const { type } = columnOf(`${name} ${typeText}`)
  return { name, typeText, type, values: Array.from({ length: rowsPerTable }, () => randomJson(type, typeText)) }
}

type Way = 'csv' | 'ndjson' | 'texts'

/** The field of CSV for a value of JSON: a text its characters, else as it is written; null is a field without anything. */
function fieldOf(json: string, isString: boolean): { readonly field: string; readonly text: string | null } {
  const value = referenceJson(json)
  if (value === undefined || value.kind === 'null') return { field: '', text: null }
  const text = isString ? (value.text ?? '') : textOf(value, json).replaceAll(/[\r\n]/g, ' ')
  const mustQuote = text === '' || /[",\n\r\\']|^\s|\s$/.test(text) || text.length % 5 === 0
  return { field: mustQuote ? `"${text.replaceAll('"', '""')}"` : text, text }
}

function textOf(value: RawValue, json: string): string {
  return value.kind === 'string' ? value.text : json.trim()
}

interface Outcome {
  /** What the column of a row holds; null for rows that another column has set aside. */
  at(column: string, id: number): string | null
}

async function outcomeOf(table: string, columns: readonly Column[]): Promise<Outcome> {
  const stored = new Map<string, Map<number, string>>()
  for (const { name } of columns) {
    stored.set(name, valuesOf(await service.sql(`SELECT id, ${name} FROM ${table} FORMAT TSV`)))
  }
  const asideText = await service.sql(
    `SELECT toUInt32OrZero(id), arrayStringConcat(c__error_column, ' ') FROM ${table}_quarantine WHERE id IS NOT NULL FORMAT TSV`,
  )
  const aside = new Map([...valuesOf(asideText)].map(([id, names]) => [id, names.split(' ')]))
  return {
    at(column, id) {
      const names = aside.get(id)
      if (names !== undefined) return names.includes(column) ? refused : null
      return stored.get(column)?.get(id) ?? 'nowhere'
    },
  }
}

interface Body {
  readonly format: 'csv' | 'ndjson' | 'parquet'
  readonly bytes: string | Uint8Array
  readonly rowCount: number
}

/** Imports the rows into a new table; each of them has to be counted. */
async function load(table: string, schema: string, { format, bytes: body, rowCount }: Body): Promise<void> {
  await service.create(table, schema, { format: 'ndjson' })
  const { status, text, json } = await service.call(
    'POST',
    `/v0/datasources?name=${table}&mode=append&format=${format}`,
    { body },
  )
  t.equal(status, 200, text.slice(0, 300))
  const answer = json as { readonly imported_rows: number; readonly quarantine_rows: number; invalid_lines: number }
  const { imported_rows: stored, quarantine_rows: aside, invalid_lines: invalid = 0 } = answer
  t.equal(stored + aside + invalid, rowCount, `${table}: rows are stored, set aside, or invalid lines`)
  counts.rows += rowCount
  counts.stored += stored
  counts.quarantined += aside
  counts.invalid += invalid
}

/** One value with what became of it here, and in each reading of the server. */
interface Difference {
  readonly id: number
  readonly shown: string
  readonly ours: string
  /** What the last reading of the server makes of it. */
  readonly theirs: string
  readonly canonical: Canonical
}

/** Compares a column of one way in; `lineOf` and `rawValueOf` say how each row is written there. */
async function compare(
  way: Way,
  { name, typeText, type, values }: Column,
  {
    outcome,
    theirs,
    rawValueOf,
  }: {
    readonly outcome: Outcome
    readonly theirs: readonly ReadonlyMap<number, string>[]
    readonly rawValueOf: (json: string) => RawValue
  },
): Promise<void> {
  const differences: Difference[] = []
  for (const [id, json] of values.entries()) {
    const ours = outcome.at(name, id)
    if (ours === null) continue
    counts.values += 1
    if (theirs.every((read) => (read.get(id) ?? refused) === ours)) {
      counts.same += 1
      continue
    }
    const read = theirs.map((one) => one.get(id) ?? refused)
    const shown = `${way} ${typeText} ${json}: ${ours} in place of ${read.join(' | ')}`
    if (
      way === 'texts' &&
      ours === refused &&
      offsetBeyond.test(rawValueOf(json).kind === 'string' ? textOf(rawValueOf(json), json) : '')
    ) {
      told(textsBeyond)
      continue
    }
    const canonical = canonicalOf(type, rawValueOf(json))
    const hasEscapes = way === 'ndjson' && json.includes('\\')
    differences.push({
      id,
      shown,
      ours,
      theirs: read.at(-1) ?? refused,
      canonical: hasEscapes ? withReason(canonical, escapes) : canonical,
    })
  }
  await judge(typeText, differences)
}

async function judge(typeText: string, differences: readonly Difference[]): Promise<void> {
  const rows = differences.flatMap(({ id, canonical }) =>
    canonical.kind === 'taken' ? [{ id, line: `{"id":${id},"v":${canonical.json}}\n` }] : [],
  )
  const read = await reads.values(rows, { type: typeText, format: 'JSONEachRow', reading: 'best_effort' })
  for (const { id, shown, ours, theirs, canonical } of differences) {
    if (canonical.kind === 'unknown' && (ours === theirs || ours === refused)) {
      told(nearLimit)
      continue
    }
    const expected = canonical.kind === 'taken' ? (read.get(id) ?? refused) : refused
    const reasons = canonical.kind === 'unknown' ? [] : canonical.reasons
    if (reasons.length === 0 || expected !== ours) {
      unexplained.push(`${shown}; by the rules ${JSON.stringify(canonical)} ${expected}`)
      continue
    }
    for (const reason of new Set(reasons)) told(reason)
  }
}

function readingsOf(type: ColumnType): readonly ('basic' | 'best_effort')[] {
  return JSON.stringify(type).includes('"date') ? ['basic', 'best_effort'] : ['basic']
}

async function serverValues(
  column: Column,
  format: 'CSV' | 'JSONEachRow',
  lineOf: (id: number, json: string) => string,
) {
  const rows = column.values.map((json, id) => ({ id, line: lineOf(id, json) }))
  const readings = readingsOf(column.type)
  const found: Map<number, string>[] = []
  for (const reading of readings) found.push(await reads.values(rows, { type: column.typeText, format, reading }))
  return found
}

/** Texts of documents stay texts, as here: the server takes them for days, and fails at 2024-02-30. */
const documentsAsTheyAre = 'input_format_try_infer_dates = 0, input_format_try_infer_datetimes = 0'
function schemaOf(columns: readonly Column[]): string {
  return ['id UInt32', ...columns.map(({ name, typeText }) => `${name} ${typeText}`)].join(', ')
}

const invalidLines = ['no record', '[1]', '{"id":', '"x"'] as const

async function compareNdjson(table: string, schema: string, columns: readonly Column[]): Promise<readonly number[]> {
  const lines = Array.from({ length: rowsPerTable }, (_, id) => {
    const members = columns.map(({ name, values }) => `"${name}":${values[id]}`)
    return `{"id":${id},${members.join(',')}}\n`
  })
  const broken = Array.from({ length: random.below(20) }, () => `${random.pick(invalidLines)}\n`)
  const bytes = [...lines, ...broken].join('')
  await load(table, schema, { format: 'ndjson', bytes, rowCount: lines.length + broken.length })
  const outcome = await outcomeOf(table, columns)
  let sound = Array.from({ length: rowsPerTable }, (_, id) => id)
  for (const column of columns) {
    const theirs = await serverValues(column, 'JSONEachRow', (id, json) => `{"id":${id},"v":${json}}\n`)
    sound = sound.filter((id) => theirs.every((read) => canBeWritten(read.get(id))))
    await compare('ndjson', column, { outcome, theirs, rawValueOf: rawOf })
  }
  return sound
}

function rawOf(json: string): RawValue {
  return referenceJson(json) ?? { kind: 'null' }
}

async function compareCsv(table: string, schema: string, columns: readonly Column[]): Promise<void> {
  const isText = new Map(columns.map(({ name, type }) => [name, valueTypeOf(type).kind === 'string']))
  const lines = Array.from({ length: rowsPerTable }, (_, id) => {
    const fields = columns.map(({ name, values }) => fieldOf(values[id] ?? '', isText.get(name) === true).field)
    return `${[id, ...fields].join(',')}\n`
  })
  await load(table, schema, { format: 'csv', bytes: lines.join(''), rowCount: lines.length })
  const outcome = await outcomeOf(table, columns)
  for (const column of columns) {
    const isString = isText.get(column.name) === true
    const theirs = await serverValues(column, 'CSV', (id, json) => `${id},${fieldOf(json, isString).field}\n`)
    await compare('csv', column, {
      outcome,
      theirs,
      rawValueOf: (json) => csvValue(column.type, fieldOf(json, isString).text),
    })
  }
}

/** All of CSV is text; a field without anything is NULL, else an empty text; `\N` without quotes is always quoted here. */
function csvValue(type: ColumnType, text: string | null): RawValue {
  const canBeNull = type.kind === 'nullable' || (type.kind === 'lowCardinality' && type.inner.kind === 'nullable')
  if (canBeNull && (text === null || (text === '' && valueTypeOf(type).kind !== 'string'))) return { kind: 'null' }
  return { kind: 'string', text: text ?? '' }
}

/** The server reads instants for which it has no type in Parquet. */
function canBeWritten(value: string | undefined): boolean {
  return value !== undefined && !yearBeyond.test(value)
}

/** The file of typed values is the server's own, of rows that it reads itself. */
async function compareParquet(table: string, schema: string, columns: readonly Column[], sound: readonly number[]) {
  const structure = schema
  const body = sound
    .map((id) => `{"id":${id},${columns.map(({ name, values }) => `"${name}":${values[id]}`).join(',')}}\n`)
    .join('')
  const path = await reads.fileOf(body)
  const source = `file(${quoteString(path)}, JSONEachRow, ${quoteString(structure)})`
  const file = await reads.bytes(
    `SELECT * FROM ${source} SETTINGS date_time_input_format = 'best_effort', ${documentsAsTheyAre}, session_timezone = 'UTC', max_threads = 1 FORMAT Parquet`,
  )
  await load(table, schema, { format: 'parquet', bytes: file, rowCount: sound.length })
  const outcome = await outcomeOf(table, columns)
  const filePath = await reads.fileOf(file)
  for (const { name, typeText } of columns) {
    const fileSource = `file(${quoteString(filePath)}, Parquet, ${quoteString(`id UInt32, ${name} ${typeText}`)})`
    const theirs = valuesOf(
      await reads.text(
        `SELECT id, ${name} FROM ${fileSource} SETTINGS ${documentsAsTheyAre}, session_timezone = 'UTC' FORMAT TSV`,
      ),
    )
    for (const id of sound) {
      const ours = outcome.at(name, id)
      if (ours === null) continue
      counts.values += 1
      if (ours === theirs.get(id)) counts.same += 1
      else if (ours === refused && /^(?:1900-01-01|2299-12-31)/.test(theirs.get(id) ?? '')) told(nearLimit)
      else unexplained.push(`parquet ${typeText}: ${ours} in place of ${theirs.get(id)}`)
    }
  }
}

const scalarKinds = /^(?:U?Int|Float|Decimal|UUID|IPv|Date|FixedString)/

/** A file whose columns are texts, which the server casts. */
async function compareTexts(table: string, columns: readonly Column[]): Promise<void> {
  const texts = columns.filter(({ typeText }) => scalarKinds.test(typeText))
  if (texts.length === 0) return
  const rows = texts[0]?.values.map((_, id) => {
    const members = texts.map(({ name, values }) => {
      const value = rawOf(values[id] ?? '')
      return `"${name}":${value.kind === 'null' ? 'null' : JSON.stringify(textOf(value, values[id] ?? ''))}`
    })
    return `{"id":${id},${members.join(',')}}\n`
  })
  const structure = ['id UInt32', ...texts.map(({ name }) => `${name} Nullable(String)`)].join(', ')
  const path = await reads.fileOf((rows ?? []).join(''))
  const file = await reads.bytes(
    `SELECT * FROM file(${quoteString(path)}, JSONEachRow, ${quoteString(structure)}) SETTINGS max_threads = 1 FORMAT Parquet`,
  )
  const schema = schemaOf(texts)
  await load(table, schema, { format: 'parquet', bytes: file, rowCount: rowsPerTable })
  const outcome = await outcomeOf(table, texts)
  const filePath = await reads.fileOf(file)
  for (const column of texts) {
    const cast = `accurateCastOrNull(${column.name}, ${quoteString(column.typeText)})`
    const sql = `SELECT id, v FROM (SELECT id, ${cast} AS v FROM file(${quoteString(filePath)}, Parquet)) WHERE v IS NOT NULL SETTINGS session_timezone = 'UTC' FORMAT TSV`
    const theirs = [valuesOf(await reads.text(sql))]
    const rawValueOf = (json: string): RawValue => {
      const value = rawOf(json)
      return value.kind === 'null' ? value : { kind: 'string', text: textOf(value, json) }
    }
    await compare('texts', column, { outcome, theirs, rawValueOf })
  }
}

t.test('what is stored is what a ClickHouse server reads, or differs for a reason that is told', async (t) => {
  t.comment(`SEED=${seed}`)
  for (let table = 0; counts.rows < rowsMin; table += 1) {
    const columns = Array.from({ length: columnsPerTable }, (_, at) => randomColumn(`c${at}`))
    const schema = schemaOf(columns)
    const names = ['ndjson', 'csv', 'typed', 'texts'].map((way) => `${way}_${table}`)
    const [ndjson = '', csv = '', typed = '', texts = ''] = names
    const sound = await compareNdjson(ndjson, schema, columns)
    await compareCsv(csv, schema, columns)
    // Of a document whose key repeats the server cannot read its own file.
    const simple = columns.filter(({ type }) => type.kind !== 'json')
    await compareParquet(typed, schemaOf(simple), simple, sound)
    await compareTexts(texts, columns)
    for (const name of names) await service.call('DELETE', `/v0/datasources/${name}`)
    if (unexplained.length > 1_000) break
  }
  t.comment(JSON.stringify(counts))
  for (const [reason, count] of [...reasonCounts].sort((a, b) => b[1] - a[1])) t.comment(`${count}: ${reason}`)
  t.same(unexplained.slice(0, 60), [], `${unexplained.length} differences that no reason is told for`)
  t.ok(counts.stored > counts.rows * 0.3, 'rows are well represented')
  t.ok(counts.quarantined > counts.rows * 0.05, 'so are those set aside')
})
