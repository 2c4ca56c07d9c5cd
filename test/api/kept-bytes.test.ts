import { isUtf8 } from 'node:buffer'
import t from 'tap'
import { createTranscoder } from '../../src/guess/text-encoding.ts'
import { openTestService } from '../support/api/test-service.ts'
import { SeededRandom, testSeed } from '../support/seeded-random.ts'
import { byTier } from '../support/tier.ts'

// Random bodies in UTF-8, Latin-1 and what lies between: each byte is stored, or can be had back from the quarantine.

const service = await openTestService(t, { sampleBytesMax: 4096 })
const seed = testSeed()
const random = new SeededRandom(seed)
const chance = (percent: number): boolean => random.below(100) < percent
const rounds = byTier({ quick: 4, full: 12, soak: 1_000 })

interface Kept {
  readonly id: number | string | null
  readonly s: string | null
  readonly columns?: readonly string[]
  readonly errors?: readonly string[]
}

async function kept(): Promise<readonly Kept[]> {
  const read = async (sql: string): Promise<readonly Kept[]> => {
    const text = await service.sql(`${sql} FORMAT JSONEachRow`)
    // The shape is that of the query.
    return text.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line) as Kept]))
  }
  return [
    ...(await read('SELECT id, s FROM kept')),
    ...(await read('SELECT id, s, c__error_column AS columns, c__error AS errors FROM kept_quarantine')),
  ]
}

/** The bytes that a text stands for which says that it is escaped. */
function bytesOf(text: string, isEscaped: boolean): Buffer {
  if (!isEscaped) return Buffer.from(text)
  return Buffer.from(
    Buffer.from(text)
      .toString('latin1')
      .replaceAll(/%([0-9A-F]{2})/g, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16))),
    'latin1',
  )
}

/** The record, where it was kept as one text; else null. */
function wholeOf({ columns, errors }: Kept): Buffer | null {
  const [error = ''] = errors ?? []
  const textAt = error.indexOf(': ')
  if (columns?.[0] !== '' || textAt < 0) return null
  return bytesOf(error.slice(textAt + 2), error.slice(0, textAt).includes('not valid UTF-8'))
}

function cellBytes(row: Kept, column: 'id' | 's'): Buffer {
  const isEscaped = row.columns?.some(
    (name, index) => name === column && row.errors?.[index]?.endsWith(' is not valid UTF-8') === true,
  )
  return bytesOf(String(row[column] ?? ''), isEscaped === true)
}

const pieces = [
  'a',
  ' ',
  '%',
  '%E9',
  '%25',
  '100%',
  '\\N',
  'é',
  '€',
  '😀',
  'ſ',
  'ÃĀ',
  '\u0001',
  '\u007f',
  "'",
  ';',
  '|',
] as const
const bytes = [0xe9, 0xfc, 0xab, 0xbb, 0xc3, 0x80, 0x92, 0xff, 0xf0, 0xc9] as const

/** A text of pieces that are UTF-8, and of bytes that are none, by these shares. */
function randomText(share: number): Buffer {
  return Buffer.concat(
    Array.from({ length: random.below(8) }, () =>
      chance(share) ? Buffer.from([random.pick(bytes)]) : Buffer.from(random.pick(pieces)),
    ),
  )
}

async function load(format: 'csv' | 'ndjson', body: Buffer): Promise<number> {
  await service.create('kept', 'id UInt32 `json:$.id`, s String `json:$.s`')
  const { status, json, text } = await service.append('kept', format, body)
  t.equal(status, 200, text)
  const counts = json as Readonly<Record<string, number>>
  const setAside = await service.count('kept_quarantine')
  const invalid = counts['invalid_lines'] ?? 0
  t.ok((counts['quarantine_rows'] ?? 0) <= setAside && setAside <= (counts['quarantine_rows'] ?? 0) + invalid)
  t.equal(await service.count('kept'), counts['imported_rows'])
  return (counts['imported_rows'] ?? 0) + setAside
}

function ndjsonLine(id: number, share: number): Buffer {
  const text = randomText(share)
  const raw = Buffer.from(
    text.toString('latin1').replaceAll(/["\\]/g, '\\$&').replaceAll('\u0001', '\\u0001'),
    'latin1',
  )
  const value = chance(10) ? Buffer.from(`"x${id}"`) : Buffer.from(String(id))
  const line = Buffer.concat([Buffer.from('{"id":'), value, Buffer.from(',"s":"'), raw, Buffer.from('"}')])
  if (chance(15)) return line.subarray(0, 1 + random.below(line.length - 1))
  if (chance(10))
    return Buffer.concat([
      line.subarray(0, 10),
      random.pick([Buffer.of(0), Buffer.of(9), Buffer.of(0xff)]),
      line.subarray(10),
    ])
  if (chance(5)) return Buffer.concat([Buffer.from('x'), text])
  return line
}

t.test('each byte of NDJSON is stored or can be had back, and events keep the same texts', async (t) => {
  for (let round = 0; round < rounds; round += 1) {
    const share = random.pick([0, 1, 10, 50])
    const lines = Array.from({ length: 60 }, (_, id) => ndjsonLine(id, share))
    const body = Buffer.concat(lines.flatMap((line) => [line, Buffer.from('\n')]))
    t.equal(await load('ndjson', body), lines.length)
    const rows = await kept()
    const whole = rows.flatMap((row) => wholeOf(row) ?? []).map((text) => text.toString('latin1'))
    const byCells = rows.filter((row) => wholeOf(row) === null)
    const found = [...whole]
    for (const [id, line] of lines.entries()) {
      const record = isUtf8(line) ? parsed(line) : null
      const expected = record === null ? line.toString('latin1') : null
      if (expected === null) {
        const row = byCells.find((row) => String(row.id) === String(record?.id) && row.s === record?.s)
        if (row === undefined) t.fail(`seed ${seed}: line ${id} is gone: ${JSON.stringify(line.toString('latin1'))}`)
      } else if (found.includes(expected)) found.splice(found.indexOf(expected), 1)
      else t.fail(`seed ${seed}: line ${id} is gone: ${JSON.stringify(expected)}`)
    }
    t.same(found, [], 'nothing else is kept')
    await service.call('DELETE', '/v0/datasources/kept')
    await service.create('kept', 'id UInt32 `json:$.id`, s String `json:$.s`')
    await service.events('kept', body, { wait: 'true' })
    t.same(sorted(await kept()), sorted(rows), 'by events')
    await service.call('DELETE', '/v0/datasources/kept')
  }
})

function parsed(line: Buffer): { readonly id: unknown; readonly s: unknown } | null {
  try {
    const value: unknown = JSON.parse(line.toString())
    return typeof value === 'object' && value !== null ? (value as { readonly id: unknown; readonly s: unknown }) : null
  } catch {
    // No record.
    return null
  }
}

function sorted(rows: readonly Kept[]): readonly string[] {
  return rows.map((row) => JSON.stringify(row)).sort()
}

interface CsvLine {
  readonly line: Buffer
  readonly s: Buffer
}

function csvLine(id: number, share: number): CsvLine {
  const s = Buffer.concat([Buffer.from(`t${id} `), randomText(share)])
  const number = Buffer.from(chance(10) ? `x${id},` : `${id},`)
  const quoted = Buffer.concat([Buffer.from('"'), s, Buffer.from('"')])
  const line = random.pick([
    Buffer.concat([number, s]),
    Buffer.concat([number, quoted]),
    Buffer.concat([number, quoted, chance(50) ? Buffer.from(' x') : Buffer.of()]),
    Buffer.concat([number, s, chance(50) ? Buffer.from(',more') : Buffer.of()]),
    chance(50) ? s : Buffer.concat([number, s]),
  ])
  return { line, s }
}

const latin = createTranscoder('windows-1252')
/** As the body is read: in UTF-8, or in Latin-1. */
const readings = (part: Buffer): readonly string[] =>
  [part, Buffer.from(latin?.push(part) ?? [])].map((text) => text.toString('latin1'))

t.test('each byte of CSV is stored or can be had back', async (t) => {
  for (let round = 0; round < rounds; round += 1) {
    const share = random.pick([0, 2, 10, 40, 100])
    const lines = Array.from({ length: 200 }, (_, id) => csvLine(id, share))
    const body = Buffer.concat(lines.flatMap(({ line }) => [line, Buffer.from('\n')]))
    t.equal(await load('csv', body), lines.length)
    const rows = await kept()
    const texts = new Set(
      rows
        .flatMap((row) => [wholeOf(row) ?? [], cellBytes(row, 'id'), cellBytes(row, 's')].flat())
        .map((text) => text.toString('latin1')),
    )
    for (const [id, { line, s }] of lines.entries()) {
      const isKept = [...readings(line), ...readings(s)].some((text) => texts.has(text))
      if (!isKept) t.fail(`seed ${seed}: line ${id} is gone: ${JSON.stringify(line.toString('latin1'))}`)
    }
    await service.call('DELETE', '/v0/datasources/kept')
  }
})
