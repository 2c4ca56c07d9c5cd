import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'csv-parse/sync'
import t from 'tap'
import { type CsvGuess, type CsvGuessRules, csvSchema, guessCsv } from '../../src/guess/csv-guess.ts'
import { guessDialect, guessNewLine, readSample } from '../../src/guess/csv-sample.ts'
import { parseSchema } from '../../src/schema/columns/schema-parser.ts'
import { repositoryRoot } from '../support/repository-root.ts'

const rules = { delimiter: undefined, escapeCharacter: undefined, hasTypes: true, columnsMax: 500 }

function guess(text: string, more: Partial<CsvGuessRules> = {}, isWhole = true): CsvGuess {
  const found = guessCsv({ bytes: Buffer.from(text), isWhole }, { ...rules, ...more })
  if (found === null) throw new Error(`there is nothing in ${JSON.stringify(text)}`)
  return found
}

/** The type of the one column below a header. */
function typeOf(...cells: readonly string[]): string {
  const { columns } = guess(`name,word\n${cells.map((cell) => `${cell},x\n`).join('')}`)
  return csvSchema(columns).split(', ')[0]?.replace('`name` ', '') ?? ''
}

t.test('each column has the narrowest type that takes all its cells', async (t) => {
  const cases: readonly (readonly [cells: readonly string[], type: string])[] = [
    [['1', '-2', '+3'], 'Int32'],
    [['21474836'], 'Int32'],
    [['21474837'], 'Int64'],
    [['-9223372036854775808', '9223372036854775807'], 'Int64'],
    [['18446744073709551615'], 'UInt64'],
    [['18446744073709551616'], 'String'],
    [['-1', '18446744073709551615'], 'String'],
    [['1', '2.5'], 'Float64'],
    [['1e3', '.5', '5.'], 'Float64'],
    [['1.5', 'nan'], 'Float64'],
    [['nan', 'inf'], 'String'],
    [['007'], 'String'],
    [['+4915112345678'], 'String'],
    [['+4915112345678', '017612345678'], 'String'],
    [['5', '+4915112345678'], 'String'],
    [[' +4915112345678 '], 'String'],
    [['+5', '-3', '0'], 'Int32'],
    [['+5.5', '-3'], 'Float64'],
    [['1', 'NA'], 'String'],
    [['true', 'False'], 'Bool'],
    [['true', '1'], 'String'],
    [['yes', 'no'], 'String'],
    [['2026-01-31'], 'Date'],
    [['1899-12-31'], 'String'],
    [['1950-01-01'], 'Date32'],
    [['2026-02-30'], 'String'],
    [['20260131'], 'Int32'],
    [['2026-01-31 10:00'], 'DateTime'],
    [['2026-01-31T10:00:00Z', '2026-01-31'], 'DateTime'],
    [['1950-01-31T10:00:00Z'], 'DateTime64(3)'],
    [['2026-01-31 10:00:00.5'], 'DateTime64(3)'],
    [['2026-01-31 10:00:00.123456'], 'DateTime64(6)'],
    [['31/01/2026'], 'String'],
    [['1', ''], 'Nullable(Int32)'],
    [['1', '""'], 'Nullable(Int32)'],
    [['a', ''], 'Nullable(String)'],
    [['a', '""'], 'String'],
    [['a', '\\N'], 'Nullable(String)'],
    [['', ''], 'Nullable(String)'],
  ]
  for (const [cells, type] of cases) t.equal(typeOf(...cells), type, cells.join(' | '))
  t.equal(csvSchema(guess('a,b\n1,\n', { hasTypes: false }).columns), '`a` String, `b` String')
})

t.test('names are normalised, and each stands once', async (t) => {
  const names = (header: string) =>
    guess(`${header}\n${'1,'.repeat(header.split(',').length - 1)}1\n`).columns.map(({ name }) => name)
  t.same(names('Id,User Name,2nd,größe,naïve (x)'), ['id', 'user_name', '_2nd', 'größe', 'naïve_x_'])
  t.same(names('a,a,A,a_2'), ['a', 'a_3', 'a_4', 'a_2'])
  t.same(names('a,,b,'), ['a', 'column_2', 'b', 'column_4'])
  t.same(names('insertion_date,c__error,日本語'), ['insertion_date', '_c__error', '日本語'])
  t.same(
    names('_,€,__missing,__missing'),
    ['_', '___2', '__missing', '___missing_2'],
    'no number makes a reserved name',
  )
  t.same(names(`${'é'.repeat(300)},b`), ['é'.repeat(100), 'b'])
  t.same(
    guess('1,2\n3,4\n').columns.map(({ name }) => name),
    ['column_1', 'column_2'],
  )
})

t.test('a first record is a header unless it looks like the rows', async (t) => {
  const cases: readonly (readonly [text: string, hasHeader: boolean])[] = [
    ['a,b\n1,2\n', true],
    [',\na,b\n', false],
    ['1,2\n3,4\n', false],
    ['a,1\nb,2\n', false],
    [',a\n0,1\n', true],
    ['name,city\nann,rome\n', true],
    ['ann,rome\nbob,rome\n', false],
    ['a,b\n', true],
    ['a,1\n', false],
    ['country,total,2010\nx,1,2\ny,3,4\n', true],
  ]
  for (const [text, hasHeader] of cases) t.equal(guess(text).hasHeader, hasHeader, text)
})

t.test('the delimiter is what cuts all records alike', async (t) => {
  const cases: readonly (readonly [text: string, delimiter: string])[] = [
    ['a,b\n1,2\n', ','],
    ['a;b\n1,5;2,5\n', ';'],
    ['1,5;2,5\n3,5;4,5\n', ';'],
    ['a\tb\n1\tx, y; z\n', '\t'],
    ['a|b\n1|x,y\n', '|'],
    ['a,b\n1,"x;y"\n2,"z;w"\n', ','],
    ['a,b\n1,x;y\n2,z;w\n', ','],
    ['a\n1\n', ','],
    ['text\nhello, you\nbye\n', ','],
    ['a,b,c\n1,2,3\n4\n5,6,7,8\n9,10,11\n', ','],
    ['a;"b\nc;d"\r\n1;2\r\n', ';'],
  ]
  for (const [text, delimiter] of cases) t.equal(guess(text).dialect.delimiter, delimiter, JSON.stringify(text))
})

t.test('where the columns are known, the delimiter is what gives as many fields', async (t) => {
  const delimiterOf = (text: string, columnCount: number) =>
    guessDialect(
      { bytes: Buffer.from(text), isWhole: true },
      { delimiter: undefined, escapeCharacter: undefined },
      columnCount,
    ).delimiter
  t.equal(delimiterOf('1,5;2,5\n', 2), ';')
  t.equal(delimiterOf('1;2\n3;4\n', 1), ',', 'one column has none')
  t.equal(delimiterOf('1,2\n', 3), ',')
  t.equal(delimiterOf('1\n2\n', 3), ',')
  t.equal(delimiterOf('1;2;3\n', 3), ';')
  t.equal(delimiterOf('', 3), ',')
  t.equal(delimiterOf('1;2\n', 5), ',', 'too few to be sure')
})

t.test('a backslash is an escapeCharacter where it keeps a quote inside its field', async (t) => {
  t.equal(guess('a,b\n"x \\"y\\" z",1\n').dialect.escapeCharacter, '\\')
  t.equal(guess('a,b\n"C:\\dir\\",1\n').dialect.escapeCharacter, null)
  t.equal(guess('a,b\n"{""k"": ""x\\""y""}",1\n').dialect.escapeCharacter, null)
  t.equal(guess('a,b\n6\\" nails,1\n').dialect.escapeCharacter, null)
  for (const delimiter of ['(', ']', '^', '*', '\\', '|', 'x']) {
    t.same(guess(`a${delimiter}b\n1${delimiter}2\n`, { delimiter }).columns.length, 2, delimiter)
  }
})

t.test('line ends are told from the first one', async (t) => {
  for (const [text, newLine] of [
    ['a\nb\r\n', '\n'],
    ['a\r\nb\n', '\r\n'],
    ['a\rb\r', '\r'],
    ['a\rb', '\n'],
    ['a,b\r"x\ny",2\r', '\r'],
    ['"a\nz",b\rx,2\r', '\r'],
    ['a,b\rc\n1,2\r3,4\n', '\n'],
    ['a,b\r\n"x\ry\rz",2\r\n', '\r\n'],
    ['a', '\n'],
  ] as const) {
    t.equal(guessNewLine(Buffer.from(text)), newLine, JSON.stringify(text))
  }
})

t.test('a sample that is cut anywhere gives whole records alone', async (t) => {
  const text = '\ufeffa,b\n1,"x\n""y"""\r\n\n2,z\n'
  const bytes = Buffer.from(text)
  const whole = [
    ['a', 'b'],
    ['1', 'x\n"y"'],
    ['2', 'z'],
  ]
  const dialect = { delimiter: ',', escapeCharacter: null }
  for (let end = bytes.indexOf('\n') + 1; end <= bytes.length; end += 1) {
    const records = readSample({ bytes: bytes.subarray(0, end), isWhole: false }, dialect, 10)
    const texts = records.map((record) => record.map((cell) => cell.text))
    t.same(texts, whole.slice(0, texts.length), `cut at ${end}`)
  }
  t.equal(readSample({ bytes, isWhole: true }, dialect, 2).length, 2)
  t.same(readSample({ bytes: Buffer.from('a'), isWhole: true }, dialect, 2)[0]?.[0]?.text, 'a')
  t.equal(guessCsv({ bytes: Buffer.from('\ufeff\n\r\n'), isWhole: true }, rules), null)
})

t.test('ragged rows leave the columns that most rows have', async (t) => {
  t.same(
    guess('a,b\n1,2,3\n4,5,6\n7\n').columns.map(({ name }) => name),
    ['a', 'b', 'column_3'],
  )
  t.equal(csvSchema(guess('a,b\n1,2\n3\n4,5\n').columns), '`a` Int32, `b` Nullable(Int32)')
})

t.test('real files have the rows, columns and cells that csv-parse finds in them', async (t) => {
  const folder = join(repositoryRoot, 'node_modules/vega-datasets/data')
  const files = readdirSync(folder).filter((name) => /\.[ct]sv$/.test(name))
  t.ok(files.length >= 20, `${files.length} files`)
  for (const file of files) {
    const bytes = readFileSync(join(folder, file))
    const found = guess(bytes.toString())
    const expected = parse(bytes, { delimiter: found.dialect.delimiter, skip_empty_lines: true, bom: true })
    t.ok(found.hasHeader, file)
    t.equal(found.dialect.delimiter, file.endsWith('.tsv') ? '\t' : ',')
    t.same(
      found.columns.map(({ originalName }) => originalName),
      expected[0]?.map((name) => name.trim()),
      file,
    )
    t.equal(found.rows.length, expected.length - 1, file)
    t.same(
      found.rows.at(-1)?.map(({ text }) => text),
      expected.at(-1),
      file,
    )
    t.equal(parseSchema(csvSchema(found.columns), { columnsMax: 500 }).length, found.columns.length)
  }
})
