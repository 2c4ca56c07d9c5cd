import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import t from 'tap'
import { quoteString } from '../../src/shared/text-escapes.ts'
import { openTestService } from '../support/api/test-service.ts'
import { startClickHouseServer } from '../support/clickhouse-server.ts'
import { writeParquetFiles } from '../support/parquet-files.ts'
import { repositoryRoot } from '../support/repository-root.ts'
import { ServerReads } from '../support/server-reads.ts'
import { createTestDirectory } from '../support/store/test-store.ts'
import { type Reason, reasons, type SampledType, sampledTypes } from '../support/value-samples.ts'

// Makes docs/values.md: what becomes of values on each way, as the service stores them, and of the same values in ClickHouse.
// UPDATE_VALUES=1 writes the page; without it, it must be the one that is there.

const pagePath = join(repositoryRoot, 'docs', 'values.md')
const perWay = 1000
const ways = ['json', 'csv', 'parquet', 'replay'] as const
const refused = '—'

interface Kind {
  readonly name: string
  readonly sql: (json: string) => string
}

/** What a file has for a value of JSON; undefined where no type of a file stands for it. */
function kindOf(json: string): Kind | undefined {
  if (json === 'null') return undefined
  if (json === 'true' || json === 'false') return { name: 'bool', sql: (text) => text }
  if (/^[[{]/.test(json)) return { name: 'text', sql: quoteString }
  if (json.startsWith('"')) return { name: 'text', sql: (text) => quoteString(JSON.parse(text)) }
  if (!/^-?\d+$/.test(json)) return { name: 'float', sql: (text) => `toFloat64('${text}')` }
  const value = BigInt(json)
  const isNarrow = value >= -(2n ** 63n) && value < 2n ** 63n
  return isNarrow ? { name: 'whole', sql: (text) => `toInt64('${text}')` } : undefined
}

const files: Record<string, { readonly sql: string }> = {}
for (const [position, { samples }] of sampledTypes.entries()) {
  for (const name of ['text', 'whole', 'float', 'bool']) {
    const rows = samples.flatMap((json, n) => {
      const kind = kindOf(json)
      return kind?.name === name ? [`SELECT toInt64(${2 * perWay + n}) AS n, ${kind.sql(json)} AS v`] : []
    })
    if (rows.length > 0)
      files[`${position}_${name}`] = { sql: `SELECT * FROM (${rows.join(' UNION ALL ')}) ORDER BY n` }
  }
}
files['nothing'] = { sql: "SELECT toInt32(6) AS n, CAST(NULL, 'Nullable(String)') AS v" }
const fileOf = await writeParquetFiles(files)
const directory = await createTestDirectory()
t.teardown(() => directory.remove())
const server = await startClickHouseServer({ directory: join(directory.path, 'server') })
t.teardown(() => server.close())
const reads = new ServerReads(server, directory.path)
const service = await openTestService(t)

function cellOf(json: string): string {
  const text = json.startsWith('"') ? String(JSON.parse(json)) : json
  return `"${text.replaceAll('"', '""')}"`
}

/** The values of a type by their number, which says the way too; what is missing was set aside. */
async function storedOf({ type, samples }: SampledType, position: number): Promise<ReadonlyMap<number, string>> {
  const name = `values_${position}`
  await service.create(name, `n Int32 \`json:$.n\`, v ${type} \`json:$.v\``, { format: 'ndjson' })
  const ndjson = (numberOf: (n: number) => string): string =>
    samples.map((json, n) => `{"n":${numberOf(n)},"v":${json}}\n`).join('')
  await service.append(name, 'ndjson', ndjson(String))
  await service.append(name, 'csv', samples.map((json, n) => `${perWay + n},${cellOf(json)}\n`).join(''))
  for (const file of Object.keys(files).filter((key) => key.startsWith(`${position}_`))) {
    await service.call('POST', `/v0/datasources?name=${name}&mode=append&format=parquet`, { body: fileOf(file) })
  }
  await service.append(
    name,
    'ndjson',
    ndjson((n) => `"x${3 * perWay + n}"`),
  )
  const body = JSON.stringify({ fixes: { n: "replaceAll(n, 'x', '')" }, condition: "startsWith(n, 'x')" })
  await service.call('POST', `/v0/datasources/${name}/quarantine/replay`, { body })
  return new Map((await service.rows(`SELECT n, v FROM ${name}`)).map(([n, ...v]) => [Number(n), v.join('\t')]))
}

async function readByServer(
  type: string,
  format: 'CSV' | 'JSONEachRow',
  reading: string,
  text: string,
): Promise<string> {
  const settings = `date_time_input_format = '${reading}', session_timezone = 'UTC'`
  const sql = `SELECT v FROM format(${format}, ${quoteString(`v ${type}`)}, ${quoteString(text)}) SETTINGS ${settings} FORMAT TSV`
  const answer = await reads.textOrNull(sql)
  return answer?.replace(/\n$/, '') ?? refused
}

/** What the server makes of a value, where that is not `ours` in each of its readings and formats. */
async function otherwiseOf(type: string, json: string, ours: readonly string[]): Promise<string> {
  const found: string[] = []
  for (const [at, format] of (['JSONEachRow', 'CSV'] as const).entries()) {
    const text = format === 'CSV' ? `${cellOf(json)}\n` : `{"v":${json}}\n`
    for (const reading of ['basic', 'best_effort']) {
      const value = await readByServer(type, format, reading, text)
      if (value !== ours[at]) found.push(`${format === 'CSV' ? 'CSV' : 'JSON'} ${reading} ${shown(value)}`)
    }
  }
  return summed(found)
}

/** `JSON basic x`, `CSV basic x` and so on, as few words as say the same. */
function summed(found: readonly string[]): string {
  const values = new Map<string, string[]>()
  for (const one of found) {
    const [, place = '', value = ''] = /^(\S+ \S+) (.*)$/s.exec(one) ?? []
    values.set(value, [...(values.get(value) ?? []), place])
  }
  return [...values].map(([value, places]) => `${placesText(places)}${value}`).join('; ')
}

function placesText(places: readonly string[]): string {
  if (places.length === 4) return ''
  const formats = new Set(places.map((place) => place.split(' ')[0]))
  const readings = new Set(places.map((place) => place.split(' ')[1]))
  if (places.length === 2 && formats.size === 1) return `${[...formats][0]} `
  if (places.length === 2 && readings.size === 1) return `${[...readings][0]} `
  return `${places.join(', ')} `
}

function shown(value: string): string {
  return value === refused ? refused : `\`${value === '' ? ' ' : value}\``.replaceAll('|', '\\|')
}

interface Row {
  readonly json: string
  readonly why: string
  readonly byWay: readonly (string | null)[]
  readonly otherwise: string
}

function lineOf({ json, why, byWay, otherwise }: Row): string {
  const [first = null, ...others] = byWay
  const cells = others.map((value) => (value === null ? '' : value === first ? '=' : shown(value)))
  const clickHouse = otherwise === '' ? '=' : otherwise
  return `| ${[shown(json), first === null ? '' : shown(first), ...cells, clickHouse, why].join(' | ')} |`
}

async function sectionOf(one: SampledType, position: number): Promise<string> {
  const stored = await storedOf(one, position)
  const lines: string[] = []
  for (const [n, json] of one.samples.entries()) {
    const byWay = ways.map((way, at) => {
      if (way === 'parquet' && kindOf(json) === undefined) return null
      return stored.get(at * perWay + n) ?? refused
    })
    const [ofJson, ofCsv] = byWay
    const otherwise = await otherwiseOf(one.type, json, [ofJson ?? refused, ofCsv ?? refused])
    lines.push(lineOf({ json, why: otherwise === '' ? '' : whyOf(one.type, json), byWay, otherwise }))
  }
  const head = '| JSON has | from JSON | CSV | Parquet | replay | ClickHouse | why |\n|---|---|---|---|---|---|---|'
  return `### ${one.type}\n\n${head}\n${lines.join('\n')}\n`
}

const used = new Set<Reason>()

function whyOf(type: string, json: string): string {
  const reason = reasons.find(({ types, values }) => types.test(type) && values.test(json))
  if (reason === undefined) throw new Error(`ClickHouse reads ${json} as ${type} otherwise, and no reason says why`)
  used.add(reason)
  return reason.text
}

/** Kinds of columns, each with a DEFAULT where it says so. */
const nothingColumns = [
  ...['String', "String DEFAULT 'd'", 'Nullable(String)', "Nullable(String) DEFAULT 'd'"],
  ...['LowCardinality(Nullable(String))', 'Int32', 'Int32 DEFAULT 7', 'Nullable(Int32)', 'Nullable(Int32) DEFAULT 7'],
  ...['Date', 'Nullable(Date)', 'Bool', 'Array(Int32)', 'Array(Int32) DEFAULT [7]', 'Map(String, Int32)'],
]
const nothings = [
  ...['CSV `\\N`', 'CSV `"\\N"`', 'CSV empty', 'CSV `""`'],
  ...['JSON null', 'JSON without the key', 'Parquet NULL'],
]

async function nothingSection(): Promise<string> {
  const lines: string[] = []
  for (const [position, column] of nothingColumns.entries()) {
    const name = `nothing_${position}`
    const [, type = '', value = ''] = /^(.*?)( DEFAULT .*)?$/.exec(column) ?? []
    await service.create(name, `n Int32 \`json:$.n\`, v ${type} \`json:$.v\`${value}`, { format: 'ndjson' })
    await service.append(name, 'csv', '0,\\N\n1,"\\N"\n2,\n3,""\n')
    await service.append(name, 'ndjson', '{"n":4,"v":null}\n{"n":5}\n')
    await service.call('POST', `/v0/datasources?name=${name}&mode=append&format=parquet`, { body: fileOf('nothing') })
    const rows = await service.rows(`SELECT n, isNull(v) ? 'NULL' : concat('\`', toString(v), '\`') FROM ${name}`)
    const stored = new Map(
      rows.map(([n, text = '']) => [Number(n), text.replace('``', '` `').replaceAll('\\\\', '\\')]),
    )
    lines.push(`| \`${column}\` | ${nothings.map((_, n) => stored.get(n) ?? refused).join(' | ')} |`)
  }
  return `| column | ${nothings.join(' | ')} |\n|---|${nothings.map(() => '---|').join('')}\n${lines.join('\n')}\n`
}

const introduction = `# What values become

What a column takes, from each way in, and what becomes of it. This page is made by a test that sends each value to the service and to a
ClickHouse server (\`test/full/values-page.test.ts\`), so it says what happens, and not what should.

- **JSON has** is the value as it stands in NDJSON, in events and in imports. **CSV** has the same characters in a quoted field. **Parquet**
  has texts as texts, integers as Int64, other numbers as Float64, lists and objects as texts; nothing stands where none of these has
  the value. **Replay** is the value of JSON in a row that was set aside for another column, and let in by a replay of the quarantine.
- \`${refused}\` is a row that goes to quarantine, with column and reason. \`=\` is the same as from JSON.
- **ClickHouse** is what a ClickHouse server makes of the same value in JSONEachRow and in quoted CSV, with \`date_time_input_format\` \`basic\` and
  \`best_effort\`, where that is another value than ours; there \`${refused}\` is an error, by which it refuses the whole body.

The differences come from a few rules. No value is stored as another one than it says: what does not fit sets its row aside, while the
others are stored. A value is read alike on each way, as far as that way can tell what it is. What common programs write is taken
where it can mean one thing alone.

Random rows of these types are compared with such a server too (\`test/full/differential-server.test.ts\`). Beyond what stands in the tables it
finds: an escape in a text of JSON is what it stands for, in numbers and times too; a decimal is cut beyond its scale, however it is written;
a local time within a day of what a column has may lie beyond it in its zone; a text of Parquet whose digits lie beyond what a column
has (\`2300-01-01T00:00:00+23:59\`) is set aside, whatever its offset says; a text without digits behind its point (\`1705312800.\`) is no time.

## Times

- ISO 8601, with a blank or \`T\`, seconds and fraction or none, \`Z\`, \`±hh\`, \`±hhmm\`, \`±hh:mm\` or no offset; without one, local to the
  column's zone.
- Common spellings: \`2024/01/15\`, \`2024-1-5\`, \`9:00:00\` behind a date, \` UTC\`, \` GMT\`, \` Z\` and \` +0100\` behind a time,
  \`20240115T100000\`.
- Digits in a text: \`0\`, 9 or 10 are seconds, 13 milliseconds, 16 microseconds, 19 nanoseconds since 1970, with a sign and a fraction or
  without; 8 are \`YYYYMMDD\`, 14 \`YYYYMMDDhhmmss\`. Others are set aside: \`2024\` is no second of 1970.
- Numbers of JSON and Parquet are instants: seconds below 10^11, milliseconds below 10^14, microseconds below 10^17, else nanoseconds. To
  Date and Date32 those up to 65535 are days. CSV has no numbers, so digits there are texts.
- A quarantine keeps texts, so a replay reads plain digits as the text that they are: a number such as 2024 stays there until a fix says
  what it is, one of 8 or 14 digits is a day, and a number of an Enum that is also one of its names is the name. What can have been
  nothing but a number or a boolean (\`1.7e9\` of a time, \`true\` of an Int32) is replayed as that, if its row was set aside for another column.
- Events that an older version took are stored by the rules by which it counted them.

## Nothing

\`\\N\` without quotes is NULL in CSV, and in quotes a text; an empty field is the DEFAULT, else NULL, else an empty text.

`

t.test('docs/values.md is what the service and ClickHouse make of values (UPDATE_VALUES=1 writes it)', async (t) => {
  const sections: string[] = []
  for (const [position, one] of sampledTypes.entries()) sections.push(await sectionOf(one, position))
  const page = `${introduction}${await nothingSection()}\n## Types\n\n${sections.join('\n')}`
  if (process.env['UPDATE_VALUES'] === '1') writeFileSync(pagePath, page)
  t.equal(readFileSync(pagePath, 'utf8'), page)
  const unused = reasons.filter((reason) => !used.has(reason)).map(({ types, values }) => `${types} ${values}`)
  t.same(unused, [], 'each reason is one for some difference')
})
