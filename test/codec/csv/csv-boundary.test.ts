import { Buffer } from 'node:buffer'
import t from 'tap'
import { CsvBoundary } from '../../../src/codec/csv/csv-boundary.ts'
import { readCsvRecord } from '../../../src/codec/csv/csv-cells.ts'
import { type CsvDialect, csvDialect, defaultCsvDialect } from '../../../src/codec/csv/csv-dialect.ts'
import { TestRandom } from '../../support/codec/reference/test-random.ts'
import { testSeed } from '../../support/seeded-random.ts'

/** Where the exact reader ends its records. */
function recordEnds(bytes: Uint8Array, dialect: CsvDialect): readonly number[] {
  const ends: number[] = []
  for (let offset = 0; offset < bytes.length; ) {
    const { cells, next } = readCsvRecord(bytes, offset, bytes.length, dialect)
    // A quote that is never closed reaches to the end, which then is no record's.
    const last = cells.at(-1)
    const isOpen = last?.isQuoted === true && !last.isSound && last.end === bytes.length
    if (!isOpen) ends.push(next)
    offset = next
  }
  return ends
}

function boundaryEnds(bytes: Uint8Array, dialect: CsvDialect): readonly number[] {
  const boundary = new CsvBoundary(dialect)
  return Array.from(bytes, (_, at) => boundary.advance(bytes, at, at + 1)).filter((end) => end >= 0)
}

/** The grammar once more, on characters: a quoted field begins with a quote behind blanks or none, and ends at one that is not doubled. */
function slowEnds(text: string, dialect: CsvDialect): readonly number[] {
  const ends: number[] = []
  const mark = Buffer.from(dialect.delimiter).toString()
  let at = 0
  while (at < text.length) {
    const opening = mark === ' ' ? at : at + (/^ */.exec(text.slice(at))?.[0].length ?? 0)
    if (text[opening] === '"') {
      at = opening + 1
      while (at < text.length && (text[at] !== '"' || text[at + 1] === '"')) {
        const isPair = text[at] === '"' || text.charCodeAt(at) === dialect.escape
        at += isPair ? 2 : 1
      }
      at += 1
    }
    while (at < text.length && !text.startsWith(mark, at) && text[at] !== '\n') at += 1
    if (text[at] === '\n') ends.push(Buffer.byteLength(text.slice(0, at + 1)))
    at += text.startsWith(mark, at) ? mark.length : 1
  }
  return ends
}

t.test('records end where the exact reader ends them, in any soup of bytes', async (t) => {
  const seed = testSeed()
  t.comment(`SEED=${seed}`)
  const random = new TestRandom(seed)
  for (let round = 0; round < 20_000; round += 1) {
    const mark = random.pick([',', ';', '\t', ' ', '§', '→', '😀'])
    const dialect = csvDialect(mark, random.chance(30) ? '\\' : null)
    const pieces = [
      'a',
      '"',
      '"',
      '\n',
      '\n',
      '\r',
      '\r\n',
      mark,
      mark,
      '\\',
      '""',
      `${mark}"`,
      '"\n',
      ' ',
      ' "',
    ] as const
    const text = `${Array.from({ length: random.below(30) }, () => random.pick(pieces)).join('')}\n`
    const bytes = Buffer.from(text)
    const wanted = recordEnds(bytes, dialect)
    const found = boundaryEnds(bytes, dialect)
    const slow = slowEnds(text, dialect)
    if (String(found) === String(wanted) && String(slow) === String(wanted)) continue
    t.same({ found, slow }, { found: wanted, slow: wanted }, JSON.stringify({ text, dialect }))
    return
  }
  t.pass('20,000 texts')
})

t.test('of several records in a chunk it tells the end of the last', async (t) => {
  const boundary = new CsvBoundary(defaultCsvDialect)
  const bytes = Buffer.from('xx1,2\n"a\n"\n3,"b')
  t.equal(boundary.advance(bytes, 2, bytes.length), 11)
  const rest = Buffer.from('\n"\n4')
  t.equal(boundary.advance(rest, 0, 2), -1, 'the line feed stands in quotes')
  t.equal(boundary.advance(rest, 2, 4), 3)
})
