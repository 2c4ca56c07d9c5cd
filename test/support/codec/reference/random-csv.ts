/** Random CSV for a schema, in a random dialect. */
import { Buffer } from 'node:buffer'
import { type CsvDialect, csvDialect } from '../../../../src/codec/csv/csv-dialect.ts'
import type { ColumnDefinition } from '../../../../src/schema/columns/column-definition.types.ts'
import { canBeAbsent } from './random-schema.ts'
import { randomText } from './random-texts.ts'
import { anyValue, randomValue } from './random-values.ts'
import type { TestRandom } from './test-random.ts'

export interface CsvShape {
  readonly dialect: CsvDialect
  /** As in `RecordFormat`. */
  readonly fieldColumns: readonly number[]
}

/** A record as bytes, with its line end; an unsound one has text behind a closing quote. */
export interface CsvLine {
  readonly bytes: Buffer
  readonly isSound: boolean
}

/** The usual ones, those that values are written with too, and some of more than one byte. */
const delimiters = [
  ',',
  ',',
  ',',
  ',',
  ',',
  ',',
  ';',
  '\t',
  '|',
  '\u0001',
  ' ',
  ':',
  '-',
  '.',
  'e',
  '5',
  '§',
  '→',
  '😀',
] as const

export function randomCsvShape(random: TestRandom, columnCount: number): CsvShape {
  const delimiter = random.pick(delimiters)
  const dialect = csvDialect(delimiter, random.chance(20) ? '\\' : null)
  const all = Array.from({ length: columnCount }, (_, position) => position)
  if (random.chance(60)) return { dialect, fieldColumns: all }
  const some = random.shuffled(all).slice(0, random.between(1, columnCount))
  return { dialect, fieldColumns: some.flatMap((position) => (random.chance(20) ? [-1, position] : [position])) }
}

export function randomCsvLines(
  random: TestRandom,
  columns: readonly ColumnDefinition[],
  shape: CsvShape,
  count: number,
): readonly CsvLine[] {
  const lineEnd = random.pick(['\n', '\n', '\r\n'])
  return Array.from({ length: count }, () => {
    if (random.chance(1)) return { bytes: Buffer.from(random.pick(['\n', '\r\n', '\n\n'])), isSound: true }
    const isSound = !random.chance(2)
    const cells = randomCells(random, columns, shape).map((text) => written(random, text, shape.dialect))
    if (!isSound) cells[random.below(cells.length)] = random.pick(['"a"b', '"a"\u00a0', '""x', '"a"b"c'])
    const bytes = Buffer.from(cells.join(Buffer.from(shape.dialect.delimiter).toString()) + lineEnd)
    return { bytes: random.chance(0.3) ? withOddByte(random, bytes) : bytes, isSound }
  })
}

function randomCells(random: TestRandom, columns: readonly ColumnDefinition[], { fieldColumns }: CsvShape): string[] {
  const wrongPercent = random.chance(75) ? 0 : 5
  const cells = fieldColumns.map((position) => {
    const column = columns[position]
    if (column === undefined) return randomText(random, 6)
    if (canBeAbsent(column) && random.chance(12)) return random.pick(['', '', '\\N'])
    if (random.chance(wrongPercent)) return random.chance(30) ? '' : anyValue(random).text
    if (column.type.kind === 'aggregateFunction') return ''
    const { text, isText } = randomValue(random, column.type)
    return text === 'null' && !isText ? '' : text
  })
  if (random.chance(1.5)) return cells.slice(0, random.between(1, cells.length))
  return random.chance(2) ? [...cells, ...random.pick([[''], ['', ''], ['more'], ['', 'more']])] : cells
}

/** The text as a field: in quotes where it must be, and at times where it need not. */
function written(random: TestRandom, text: string, dialect: CsvDialect): string {
  const canSplit = !text.includes('"') && random.chance(4)
  const holdsDelimiter = text.includes(Buffer.from(dialect.delimiter).toString()) && !canSplit
  const mustQuote = holdsDelimiter || text.includes('\n') || /^ *"/.test(text)
  if (!mustQuote && !random.chance(15)) return text
  const inside = dialect.escape === null ? text.replaceAll('"', '""') : text.replaceAll(/["\\]/g, '\\$&')
  return `"${inside}"`
}

/** One byte that makes no UTF-8, somewhere in front of the line end. */
function withOddByte(random: TestRandom, bytes: Buffer): Buffer {
  const at = random.below(bytes.length - 2)
  // Beside a quote, in the delimiter behind one, or behind an escape it would end a quoted field otherwise than it was written.
  const around = bytes.toString('latin1', Math.max(0, at - 4), at + 1)
  if (around.includes('"') || bytes[at - 1] === 0x5c) return bytes
  return Buffer.concat([bytes.subarray(0, at), Buffer.from([0xff]), bytes.subarray(at)])
}
