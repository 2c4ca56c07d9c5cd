import { Buffer } from 'node:buffer'
import t from 'tap'
import { csvDialect } from '../../src/codec/csv/csv-dialect.ts'
import { FrameParser } from '../../src/codec/parse-frame.ts'
import type { ColumnDefinition } from '../../src/schema/columns/column-definition.types.ts'
import { isNullable } from '../../src/schema/types/column-type.ts'
import { firstDifference } from '../support/codec/reference/compare-outcomes.ts'
import { csvOutcomes } from '../support/codec/reference/csv-reference.ts'
import { countExactRows } from '../support/codec/reference/exact-rows.ts'
import { frameTask } from '../support/codec/reference/frame-tasks.ts'
import { columnsOf } from '../support/codec/reference/random-schema.ts'
import { ndjsonOutcomes, type ReferenceOutcome, referenceColumns } from '../support/codec/reference/reference-rows.ts'
import { TestRandom } from '../support/codec/reference/test-random.ts'
import { testSeed } from '../support/seeded-random.ts'
import { byTier } from '../support/tier.ts'

type TypeTexts = readonly [type: string, text: string, otherText: string]

/** Types that the kernel knows all of, each with texts in the usual spelling. */
const types: readonly [TypeTexts, ...TypeTexts[]] = [
  ['Int8', '7', '-1'],
  ['UInt32', '4294967295', '0'],
  ['Int64', '-9007199254740993', '1'],
  ['UInt64', '18446744073709551615', '2'],
  ['Float32', '1.5', '-0.25'],
  ['Float64', '14.6', '1e3'],
  ['Bool', 'true', 'false'],
  ['String', 'plain', 'größe'],
  ['LowCardinality(String)', 'pro', 'free'],
  ['UUID', '01234567-89ab-cdef-0123-456789abcdef', 'ffffffff-ffff-ffff-ffff-ffffffffffff'],
  ['Date', '2026-01-02', '1999-12-31'],
  ['DateTime', '2026-01-02 03:04:05', '2026-01-02T03:04:05Z'],
  ['DateTime64(3)', '2026-01-02 03:04:05.678', '2026-01-02'],
  ['Nullable(Int32)', '5', '6'],
  ['Nullable(Date)', '2026-02-03', '1970-01-01'],
  ['UInt16 DEFAULT 7', '8', '9'],
  ['Nullable(UUID)', '01234567-89ab-cdef-0123-456789abcdef', '00000000-0000-0000-0000-000000000000'],
]

/** What stands in their places at times: plainly wrong, right for some, missing, too long for a reason. */
const wrongTexts = [
  ...['many', 'N/A', '', '12x', '-', '\\N', 'null', 'é', '1,5', '😀', "it's", '0x1f', '2026-13-45', '99999999999'],
  ...[' 7 ', '+7', '7.0', 'nan', 'yes', 'true', '"', '1\t', 'x'.repeat(256), 'x'.repeat(257), `7${'é'.repeat(128)}`],
] as const

interface WrongRecord {
  /** Undefined is missing, null an explicit null where there is such a thing. */
  readonly texts: readonly (string | null | undefined)[]
}

function randomColumns(random: TestRandom): readonly ColumnDefinition[] {
  const picked = Array.from({ length: random.between(1, 7) }, () => random.pick(types)[0])
  return columnsOf(picked.map((type, position) => `c${position} ${type}`).join(', '))
}

function randomRecord(random: TestRandom, columns: readonly ColumnDefinition[]): WrongRecord {
  const isWrong = random.chance(50)
  const texts = columns.map((column) => {
    if (isWrong && random.chance(40))
      return random.chance(15) ? random.pick([null, undefined]) : random.pick(wrongTexts)
    const hasMore = isNullable(column.type) || column.defaultExpression !== null
    if (hasMore && random.chance(20)) return undefined
    const [, first, second] = types.find(([type]) => type.startsWith(column.typeText)) ?? types[0]
    return random.pick([first, second])
  })
  return { texts }
}

function csvLine(random: TestRandom, { texts }: WrongRecord): string {
  const cells = texts.map((text) => {
    if (text === undefined || text === null) return ''
    const mustQuote = /[",\n]/.test(text)
    return mustQuote || random.chance(20) ? `"${text.replaceAll('"', '""')}"` : text
  })
  return `${cells.join(',')}\n`
}

function jsonLine(random: TestRandom, { texts }: WrongRecord): string {
  const members = texts.flatMap((text, position) => {
    if (text === undefined) return []
    const isBare = text !== null && /^(?:-?[1-9]\d*|0|true|false|null)$/.test(text) && random.chance(60)
    return [`"c${position}":${isBare ? text : JSON.stringify(text)}`]
  })
  return `{${members.join(',')}}\n`
}

const schemaCount = byTier({ quick: 30, full: 120, soak: 20_000 })

t.test('records with plainly wrong values are set aside as the exact path would do it', async (t) => {
  const seed = testSeed()
  t.comment(`SEED=${seed}`)
  const random = new TestRandom(seed)
  const exactRows = countExactRows()
  const parser = new FrameParser()
  const counts = { row: 0, quarantine: 0, invalid: 0 }
  for (let schema = 0; schema < schemaCount; schema += 1) {
    const columns = randomColumns(random)
    const reference = referenceColumns(columns)
    const records = Array.from({ length: random.between(1, 150) }, () => randomRecord(random, columns))
    const compare = (body: string, record: Parameters<typeof frameTask>[2], outcomes: readonly ReferenceOutcome[]) => {
      const result = parser.parse(frameTask(columns, [body], { ...record, planKey: `schema ${schema}` }))
      for (const { kind } of outcomes) counts[kind] += 1
      const difference = firstDifference(result, { columns, bodies: [outcomes] })
      if (difference !== null) t.fail(difference, { columns: columns.map(({ typeText }) => typeText), body })
      return difference === null
    }
    const csv = records.map((record) => csvLine(random, record)).filter((line) => line !== '\n')
    const shape = { dialect: csvDialect(',', null), fieldColumns: [...columns.keys()] }
    const csvLines = csv.map((line) => ({ bytes: Buffer.from(line), isSound: true }))
    const ndjson = records.map((record) => jsonLine(random, record)).join('')
    if (!compare(csv.join(''), { record: { kind: 'csv', ...shape } }, csvOutcomes(csvLines, reference, shape))) return
    if (!compare(ndjson, {}, ndjsonOutcomes(Buffer.from(ndjson), reference))) return
  }
  const byKernel = counts.quarantine - exactRows.setAsideCount
  t.comment(`${JSON.stringify(counts)}; ${byKernel} set aside without the exact path`)
  t.ok(counts.row > 20 * schemaCount && counts.quarantine > 20 * schemaCount, 'both kinds are well represented')
  t.ok(byKernel > counts.quarantine * 0.2, 'the kernel itself has set aside more than 20 %')
})
