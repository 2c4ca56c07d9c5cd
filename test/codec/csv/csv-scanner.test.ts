import { Buffer } from 'node:buffer'
import t from 'tap'
import { csvDialect, defaultCsvDialect } from '../../../src/codec/csv/csv-dialect.ts'
import type { ColumnDefinition } from '../../../src/schema/columns/column-definition.types.ts'
import { countExactRows } from '../../support/codec/reference/exact-rows.ts'
import { frameTask } from '../../support/codec/reference/frame-tasks.ts'
import { type ParsedRows, parsedRows } from '../../support/codec/reference/parsed-rows.ts'
import { columnOf, columnsOf } from '../../support/codec/reference/random-schema.ts'

interface CsvOptions {
  readonly delimiter?: string
  readonly escape?: string
  readonly fieldColumns?: readonly number[]
}

function scan(columns: readonly ColumnDefinition[], body: string | Buffer, options: CsvOptions = {}): ParsedRows {
  const dialect = csvDialect(options.delimiter ?? ',', options.escape ?? null)
  const fieldColumns = options.fieldColumns ?? columns.map((_, position) => position)
  return parsedRows(frameTask(columns, [body], { record: { kind: 'csv', dialect, fieldColumns } }))
}

const twoTexts = columnsOf('a String, b String')

t.test('quotes, doubled quotes, delimiters and line ends in quotes', async (t) => {
  const body = 'x,y\r\n"a,b","c""d"\n"e\r\nf",""\n,"\n"\n6" x,y"z"\n""""," "\n'
  t.same(scan(twoTexts, body).rows, [
    ['"x"', '"y"'],
    ['"a,b"', '"c\\"d"'],
    ['"e\\r\\nf"', '""'],
    ['""', '"\\n"'],
    ['"6\\" x"', '"y\\"z\\""'],
    ['"\\""', '" "'],
  ])
})

t.test('an escape character takes the next one as it is, in quotes alone', async (t) => {
  const options = { escape: '\\' }
  t.same(scan(twoTexts, '"a\\"b","c\\\\d"\n"\\x\\\n",a\\"b\n"a""b","\\,"\n', options).rows, [
    ['"a\\"b"', '"c\\\\d"'],
    ['"x\\n"', '"a\\\\\\"b"'],
    ['"a\\"b"', '","'],
  ])
  t.match(scan(twoTexts, '1,"a\\"\n', options), { rows: [], invalidCount: 1 }, 'an escaped quote closes nothing')
  const numbers = columnsOf('d Date, u UUID')
  const wanted = [['20454', '00000000000000000000000000000001']]
  const uuid = '00000000-0000-0000-0000-000000000001'
  t.same(scan(numbers, `"2026-01-01","${uuid}"\n`, options).rows, wanted)
  t.same(scan(numbers, `"2026--01--01","${uuid.replaceAll('-', '--')}"\n`, { escape: '-' }).rows, wanted)
})

t.test('any one character parts fields, and a part of it is text like any other', async (t) => {
  for (const delimiter of ['\u00a7', '→', '😀', 'é', '\u0001']) {
    const columns = columnsOf('a String, n Int32, d Nullable(Date)')
    const lines = [
      ['x', '1', '2026-01-02'],
      [`"${delimiter}"`, '"2"', ''],
      ['ü', '-3', '\\N'],
    ]
    const body = lines.map((cells) => `${cells.join(delimiter)}\r\n`).join('')
    const wrong = `y${delimiter}z${delimiter}\n`
    const { rows, reasons } = scan(columns, body + wrong, { delimiter })
    t.same(
      rows.map(([text, number]) => [text, number]),
      [
        ['"x"', '1'],
        [JSON.stringify(delimiter), '2'],
        ['"ü"', '-3'],
      ],
    )
    t.same(reasons, [["value 'z' on column 'n' is not Int32"]])
    const short = scan(columns, `y${delimiter}1\n`, { delimiter })
    t.same(short.reasons, [['record has 2 of 3 fields']])
  }
  t.same(scan(twoTexts, 'Â→â†\n', { delimiter: '→' }).rows, [['"Â"', '"â†"']], 'its first byte alone parts nothing')
})

t.test('a delimiter that values are written with ends them all the same', async (t) => {
  const days = columnsOf('a Nullable(Date), b UInt8, c UInt8')
  const parted = scan(days, '2026-01-02\n"2026-01-02"-3-4\n', { delimiter: '-' })
  t.same(parted.rows, [['20455', '3', '4']])
  t.same(parted.reasons, [["value '2026' on column 'a' is not Date"]])
  t.same(scan(days, '2026-01-02-3-4\n', { delimiter: '-' }).reasons, [
    ['record has 5 fields instead of 3: 2026-01-02-3-4'],
  ])
  const floats = columnsOf('a Float64, b Float64')
  t.same(scan(floats, '1.5.2\n', { delimiter: '.' }).reasons, [['record has 3 fields instead of 2: 1.5.2']])
  t.same(scan(floats, '1.5\n"1.5".2\n', { delimiter: '.' }).rows, [
    ['1', '5'],
    ['1.5', '2'],
  ])
  t.same(scan(floats, '1e5\n', { delimiter: 'e' }).rows, [['1', '5']])
  t.same(scan(floats, '15\n', { delimiter: '5', fieldColumns: [0, -1] }).rows, [])
  const times = columnsOf('a DateTime, b String')
  t.same(scan(times, '2026-01-01 00:00:00\n', { delimiter: ' ' }).rows, [['1767225600', '"00:00:00"']])
  const hours = columnsOf('a DateTime, b String, c String')
  const reason = "value '2026-01-01 00' on column 'a' is not DateTime"
  t.same(scan(hours, '2026-01-01 00:00:00\n', { delimiter: ':' }).reasons, [[reason]])
})

t.test('blanks around quotes are passed over, and blanks of bare fields are theirs', async (t) => {
  const body = '"x" , "y, ""z"""  \n  "1\n2","3"\r\n 4 ,5 "\n " 6 ",\n'
  t.same(scan(twoTexts, body).rows, [
    ['"x"', '"y, \\"z\\""'],
    ['"1\\n2"', '"3"'],
    ['" 4 "', '"5 \\""'],
    ['" 6 "', '""'],
  ])
  t.match(
    scan(twoTexts, '"a" "b"\n "c" d,1\n', { delimiter: ' ' }),
    { rows: [['"a"', '"b"']] },
    'but not where they part fields',
  )
})

t.test('what stands behind a closing quote makes the record invalid, and only that one', async (t) => {
  const body = 'a,b\n"c"d,e\nf,"g"\t\nh,"i"\n'
  t.match(scan(twoTexts, body), {
    rows: [
      ['"a"', '"b"'],
      ['"h"', '"i"'],
    ],
    reasons: [],
    invalidCount: 2,
  })
  t.match(scan(twoTexts, 'a,"b\nc,d\n'), { rows: [], invalidCount: 1 }, 'a quote that is never closed takes the frame')
})

t.test('records with too few fields are set aside and invalid, those with too many are set aside', async (t) => {
  t.match(scan(twoTexts, 'a\nb,c,\nd,e,f\n,\n'), {
    rows: [
      ['"b"', '"c"'],
      ['""', '""'],
    ],
    reasons: [['record has 1 of 2 fields'], ['record has 3 fields instead of 2: d,e,f']],
    invalidCount: 1,
  })
})

t.test('an empty field is the DEFAULT, else NULL, else an empty text', async (t) => {
  const columns = columnsOf(
    "n Nullable(Int32), d Int32 DEFAULT 7, s String, p String DEFAULT 'p', e Nullable(String), f FixedString(2), i Int32",
  )
  t.match(
    scan(columns, ',,,,,,1\n"","","","","","",1\n\\N,\\N,"\\N",\\N,\\N,ab,1\n\\N,1,\\N,"",\\N,,1\n1,1,a,b,c,d,\n'),
    {
      rows: [
        ['NULL', 'DEFAULT', '""', 'DEFAULT', 'NULL', '""', '1'],
        ['NULL', 'DEFAULT', '""', '""', '""', '""', '1'],
        ['NULL', 'DEFAULT', '"\\\\N"', 'DEFAULT', 'NULL', '"ab"', '1'],
      ],
      reasons: [["value 'null' on column 's' is not String"], ["value '' on column 'i' is not Int32"]],
    },
  )
})

t.test('fields may come in another order, be left out, and fill nothing', async (t) => {
  const columns = columnsOf("a Int32, b Nullable(String), c String DEFAULT 'c'")
  const body = '"no ""one""\n",x,5\n,\\N,6\n'
  t.same(scan(columns, body, { fieldColumns: [-1, 1, 0] }).rows, [
    ['5', '"x"', 'DEFAULT'],
    ['6', 'NULL', 'DEFAULT'],
  ])
  const wanted = {
    rows: [],
    reasons: [["value is missing on column 'a', which is neither Nullable nor has a DEFAULT"]],
  }
  t.match(scan(columns, 'x\n', { fieldColumns: [1] }), wanted)
})

t.test('bytes that are no UTF-8 set their own record aside, and no other is slower for it', async (t) => {
  const exactRows = countExactRows()
  const before = exactRows.count
  const body = Buffer.from('ä,1\n\xff,2\nc,\xffd\nö,4\n', 'latin1')
  const found = scan(columnsOf('a String, b String'), Buffer.concat([Buffer.from('ä,ö\n'), body]))
  t.same(found.rows, [['"ä"', '"ö"']])
  t.same(found.reasons, [
    ["value '%E4' on column 'a' is not valid UTF-8"],
    ["value '%FF' on column 'a' is not valid UTF-8"],
    ["value '%FFd' on column 'b' is not valid UTF-8"],
    ["value '%F6' on column 'a' is not valid UTF-8"],
  ])
  t.equal(exactRows.count, before)
  t.same(scan([columnOf('a String')], Buffer.from('a,\xff\n', 'latin1'), { fieldColumns: [0, -1] }).rows, [['"a"']])
})

t.test('lone carriage returns and NUL bytes are characters like any other', async (t) => {
  t.same(scan(twoTexts, 'a\rb,c\u0000d\r\n\r"x,"\r"\r\n').rows, [
    ['"a\\rb"', '"c\\u0000d"'],
    ['"\\r\\"x"', '"\\r"'],
  ])
})

t.test('blank lines are no records, and a quoted nothing is one', async (t) => {
  const columns = [columnOf('a String')]
  t.same(scan(columns, '\n\r\na\n\n""\n \n\r\n').rows, [['"a"'], ['""'], ['" "']])
})

t.test('what stands behind the frame is not read', async (t) => {
  const columns = columnsOf('a Int32, b String')
  for (const body of ['1,"x', '1', '1,"x""', '"1', '1,x']) {
    const record = { kind: 'csv', dialect: defaultCsvDialect, fieldColumns: [0, 1] } as const
    for (const padding of ['",2\n', '5,"y"\n', '"\n', ',\n']) {
      const [alone, beside] = ['', padding].map((behind) =>
        parsedRows(frameTask(columns, [body], { record, padding: behind })),
      )
      t.same(beside, alone, body + padding)
    }
  }
})

t.test('texts longer than all buffers come through, bare and in quotes', async (t) => {
  for (const length of [10, 16_384, 15_361, 200_000]) {
    const long = 'é'.repeat(length / 2)
    const row = [JSON.stringify(long), JSON.stringify(`${long},"`)]
    const found = scan(twoTexts, `${long},"${long},"""\n"${long}","${long},"""\n`.repeat(2)).rows
    t.ok(JSON.stringify(found) === JSON.stringify([row, row, row, row]), `${length} bytes`)
  }
})

t.test('lists and maps stand in fields as JSON or as ClickHouse writes them', async (t) => {
  const columns = columnsOf('a Array(String), b Map(String, Int32), c Array(Nullable(Int32))')
  const body = `"['x','it\\'s']","{'k':1}",[1]\n"[""x"",""y,z""]","{""k"":1}","[1,null]"\n[],{},"[NULL, 2]"\n`
  t.same(scan(columns, body).rows, [
    ['["x","it\'s"]', '{"k":1}', '[1]'],
    ['["x","y,z"]', '{"k":1}', '[1,NULL]'],
    ['[]', '{}', '[NULL,2]'],
  ])
})
