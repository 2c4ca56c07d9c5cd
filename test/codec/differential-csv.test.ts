import { Buffer } from 'node:buffer'
import t from 'tap'
import { readCsvRecord } from '../../src/codec/csv/csv-cells.ts'
import { csvDialect } from '../../src/codec/csv/csv-dialect.ts'
import { FrameParser } from '../../src/codec/parse-frame.ts'
import { firstDifference } from '../support/codec/reference/compare-outcomes.ts'
import {
  cellsOutcome,
  csvOutcomes,
  textReason,
  unsoundOutcome,
  withoutLineEnd,
} from '../support/codec/reference/csv-reference.ts'
import { countExactRows } from '../support/codec/reference/exact-rows.ts'
import { frameTask } from '../support/codec/reference/frame-tasks.ts'
import { type CsvShape, randomCsvLines, randomCsvShape } from '../support/codec/reference/random-csv.ts'
import { columnsOf, randomSchema } from '../support/codec/reference/random-schema.ts'
import {
  escapedText,
  type ReferenceColumn,
  type ReferenceOutcome,
  referenceColumns,
} from '../support/codec/reference/reference-rows.ts'
import { TestRandom } from '../support/codec/reference/test-random.ts'
import { testSeed } from '../support/seeded-random.ts'
import { byTier } from '../support/tier.ts'

const recordsMin = byTier({ quick: 5_000, full: 20_000, soak: 1_000_000 })
const framesPerSchema = 3

t.test('the scanner and csv-parse with the coercion table agree cell by cell and reason by reason', (t) => {
  const seed = testSeed()
  t.comment(`SEED=${seed}`)
  const random = new TestRandom(seed)
  const exactRows = countExactRows()
  const parser = new FrameParser()
  const counts = { row: 0, quarantine: 0, invalid: 0 }
  const total = () => counts.row + counts.quarantine + counts.invalid
  for (let schema = 0; total() < recordsMin; schema += 1) {
    const columns = randomSchema(random, { columnsMax: 8, hasPaths: false })
    const reference = referenceColumns(columns)
    for (let frame = 0; frame < framesPerSchema; frame += 1) {
      const shape = randomCsvShape(random, columns.length)
      const lines = randomCsvLines(random, columns, shape, random.between(1, 150))
      const outcomes = csvOutcomes(lines, reference, shape)
      const body = Buffer.concat(lines.map(({ bytes }) => bytes))
      const padding = random.pick(['', '"', '12345', '\n1,2\n', ',,,,', '\r'])
      const record = { kind: 'csv', ...shape } as const
      const result = parser.parse(frameTask(columns, [body], { record, planKey: `schema ${schema}`, padding }))
      const difference = firstDifference(result, { columns, bodies: [outcomes] })
      for (const { kind } of outcomes) counts[kind] += 1
      if (difference === null) continue
      t.fail(`frame ${frame} of schema ${schema}: ${difference}`, { shape, columns, body: body.toString() })
      t.end()
      return
    }
  }
  const fastRows = counts.row - exactRows.count
  t.comment(`${total()} records: ${JSON.stringify(counts)}; ${fastRows} rows without the exact path for records`)
  t.ok(counts.row > total() * 0.3, 'rows are well represented')
  t.ok(counts.quarantine > total() * 0.1, 'so are records set aside')
  t.ok(counts.invalid > total() * 0.01, 'and records that can not be read')
  t.ok(fastRows > counts.row * 0.3, 'the scanner itself has taken in more than 30 % of the rows')
  t.end()
})

t.test('in any soup of bytes the scanner takes records as the exact reader does', (t) => {
  const seed = testSeed()
  t.comment(`SEED=${seed}`)
  const random = new TestRandom(seed)
  const columns = columnsOf('a String, b Nullable(Int32), c Array(String) DEFAULT []')
  const reference = referenceColumns(columns)
  const parser = new FrameParser()
  const pieces = [
    'a',
    '1',
    '2026-01-02',
    ' ',
    ' "',
    '" ',
    '"',
    '"',
    '\n',
    '\r\n',
    '\r',
    ',',
    ',',
    ',',
    ',',
    '""',
    '\\N',
    '\\',
    '[]',
    "['x']",
    '\u00ff',
  ] as const
  const counts = { row: 0, quarantine: 0, invalid: 0 }
  for (let round = 0; round < byTier({ quick: 1_500, full: 6_000, soak: 200_000 }); round += 1) {
    const dialect = csvDialect(',', random.chance(30) ? '\\' : null)
    const fieldColumns = random.pick([[0, 1], [0, 2], [-1, 0], [0]])
    const text = `${Array.from({ length: random.below(25) }, () => random.pick(pieces)).join('')}\n`
    const body = Buffer.from(text, random.chance(90) ? 'utf8' : 'latin1')
    const outcomes = exactOutcomes(body, reference, { dialect, fieldColumns })
    const padding = random.pick(['', '"', ',,,,,', '1,2,[],\n'])
    const record = { kind: 'csv', dialect, fieldColumns } as const
    const result = parser.parse(frameTask(columns, [body], { record, padding }))
    const difference = firstDifference(result, { columns, bodies: [outcomes] })
    for (const { kind } of outcomes) counts[kind] += 1
    if (difference === null) continue
    t.fail(difference, { text, dialect, fieldColumns })
    t.end()
    return
  }
  const total = counts.row + counts.quarantine + counts.invalid
  t.comment(JSON.stringify(counts))
  // Shares, as how many records a soup makes is chance: of 3,000 rounds 950 to 1,150 were rows.
  t.ok(counts.row > total * 0.15, 'rows are well represented')
  t.ok(counts.quarantine > total * 0.4, 'so are records set aside')
  t.ok(counts.invalid > total * 0.1, 'and records that can not be read')
  t.end()
})

function exactOutcomes(
  body: Buffer,
  reference: readonly ReferenceColumn[],
  shape: CsvShape,
): readonly ReferenceOutcome[] {
  const outcomes: ReferenceOutcome[] = []
  for (let offset = 0; offset < body.length; ) {
    const isBlank = /^\r?\n/.exec(body.toString('latin1', offset, offset + 2))
    if (isBlank !== null) {
      offset += isBlank[0].length
      continue
    }
    const { cells: found, next } = readCsvRecord(body, offset, body.length, shape.dialect)
    const cells = found.map((cell) => ({ ...cell, text: escapedText(Buffer.from(cell.bytes)) }))
    const isSound = cells.every((cell) => cell.isSound)
    const record = withoutLineEnd(body.subarray(offset, next))
    if (cells.at(-1)?.isSound === false && cells.at(-1)?.end === body.length) {
      const reason = textReason('a quote is never closed', record)
      const texts = reference.map(() => null)
      outcomes.push({ kind: 'quarantine', texts, errors: [{ column: '', reason }], isShort: true })
    } else outcomes.push(isSound ? cellsOutcome(cells, reference, shape, record) : unsoundOutcome(record))
    offset = next
  }
  return outcomes
}
