import { Buffer } from 'node:buffer'
import t from 'tap'
import { FrameParser } from '../../../src/codec/parse-frame.ts'
import type { ColumnDefinition } from '../../../src/schema/columns/column-definition.types.ts'
import { countExactRows } from '../../support/codec/reference/exact-rows.ts'
import { frameTask } from '../../support/codec/reference/frame-tasks.ts'
import { type ParsedRows, parsedRows } from '../../support/codec/reference/parsed-rows.ts'
import { columnOf, columnsOf } from '../../support/codec/reference/random-schema.ts'

function scan(columns: readonly ColumnDefinition[], body: string | Buffer): ParsedRows {
  return parsedRows(frameTask(columns, [body]))
}

t.test('keys that JSON escapes are found, and are no keys without their escapes', async (t) => {
  for (const key of ['a"b', 'a\\b', 'a\tb', 'a\u0001b', '"', '\\', '\ud800']) {
    const column = { ...columnOf('c Nullable(String)'), jsonPath: { keys: [key], element: null }, jsonPathText: '$' }
    t.same(scan([column], `{${JSON.stringify(key)}:"x"}`).rows, [['"x"']], JSON.stringify(key))
    const bare = `{"${key}":"x"}`
    const isOther = key === '\ud800' || key === 'a\\b'
    const wanted = isOther ? { rows: [['NULL']], invalidCount: 0 } : { rows: [], invalidCount: 1 }
    t.match(scan([column], bare), wanted, `${JSON.stringify(bare)} names another key, or is no JSON`)
  }
})

t.test('a record that is cut off in a long key at the very end of the frame is an invalid line', async (t) => {
  for (const length of [1, 2, 3, 57, 58, 59, 60, 61, 62, 63, 64, 65, 66, 67, 68, 100, 255]) {
    const column = columnOf(`\`${'k'.repeat(length)}\` Int32`)
    for (const body of [
      '{"k',
      '{"kk',
      '{"kkk',
      '{"kkkk',
      `{"${'k'.repeat(length)}`,
      `{"${'k'.repeat(length)}"`,
      `{"${'k'.repeat(length)}":`,
      '{"',
      '{',
    ]) {
      t.match(scan([column], body), { rows: [], invalidCount: 1 }, body)
    }
    t.same(scan([column], `{"${'k'.repeat(length)}":5}`).rows, [['5']])
  }
})

t.test('what stands behind the frame is not read', async (t) => {
  const columns = columnsOf('a Nullable(Int32), b Nullable(String), c Array(Int32)')
  for (const body of ['{"a":1', '{"b":"x', '{"c":[1', '{"a":1,"b', '{"c":[1,']) {
    for (const padding of ['2}\n', '"}\n', ']}\n', '":"y"}\n', '\n']) {
      const found = parsedRows(frameTask(columns, [body], { padding }))
      t.match(found, { rows: [], invalidCount: 1 }, body + padding)
    }
  }
})

t.test('of a key that repeats the last value counts, in any frame of a plan', async (t) => {
  const columns = columnsOf('a Int32, b Nullable(String) `json:$.o.b`')
  const parser = new FrameParser()
  for (let frame = 0; frame < 3; frame += 1) {
    const body = [
      '{"a":1,"a":2}',
      '{"a":"x","a":3}',
      '{"a":4,"o":{"b":"p"},"o":{}}',
      '{"a":5,"o":{"b":"p","b":"q"}}',
      '{"a":6}',
    ]
    const rows = [
      ['2', 'NULL'],
      ['3', 'NULL'],
      ['4', 'NULL'],
      ['5', '"q"'],
      ['6', 'NULL'],
    ]
    t.same(parsedRows(frameTask(columns, [body.join('\n')]), parser).rows, rows, `frame ${frame}`)
  }
})

t.test('a key that a record of an earlier frame had is missing all the same', async (t) => {
  const columns = columnsOf("a Int32, b Nullable(Int32), c String DEFAULT 'c', d Nullable(Int32) `json:$.o.d`")
  const parser = new FrameParser()
  const whole = '{"a":1,"b":1,"c":"x","o":{"d":1}}\n'
  parsedRows(frameTask(columns, [whole.repeat(5), whole]), parser)
  const found = parsedRows(frameTask(columns, ['{"a":2}\n'.repeat(5), '{"a":2}\n'.repeat(5)]), parser)
  t.same(found.rows, new Array(10).fill(['2', 'NULL', 'DEFAULT', 'NULL']))
})

t.test('marks of a record that fails do not reach the next one', async (t) => {
  const columns = columnsOf('l Array(Nullable(Int32)), n Nullable(Int32), d Nullable(Int32) DEFAULT 1, z Int32')
  const body = [
    '{"l":[1,2],"n":1,"d":1,"z":1}',
    '{"l":[null,null,3],"n":null,"z":"x"}',
    '{"l":[4,5,6],"n":2,"d":2,"z":2}',
    '{"l":[null,null,',
    '{"l":[7,8],"n":3,"d":3,"z":3}',
  ].join('\n')
  t.match(scan(columns, body), {
    rows: [
      ['[1,2]', '1', '1', '1'],
      ['[4,5,6]', '2', '2', '2'],
      ['[7,8]', '3', '3', '3'],
    ],
    reasons: [["value 'x' on column 'z' is not Int32"]],
    invalidCount: 1,
  })
})

t.test('a line that is no UTF-8 is invalid, and the lines around it are read as fast as ever', async (t) => {
  const exactRows = countExactRows()
  const before = exactRows.count
  const body = Buffer.concat([Buffer.from('{"a":"ä"}\n{"a":"'), Buffer.of(0xc3), Buffer.from('"}\n{"a":"ö"}\n')])
  t.match(scan([columnOf('a String')], body), { rows: [['"ä"'], ['"ö"']], invalidCount: 1 })
  t.equal(exactRows.count, before, 'nothing went through the exact path')
})

t.test('a byte order mark in front of a line is left out, as files put behind one another have it', async (t) => {
  const columns = [columnOf('a Int32')]
  t.match(scan(columns, '{"a":1}\n\ufeff{"a":2}\n'), { rows: [['1'], ['2']], invalidCount: 0 })
  t.match(scan(columns, '{"a":1}\ufeff\n{\ufeff"a":2}\n'), { rows: [], invalidCount: 2 })
})

t.test('NUL bytes, control characters and other blanks outside strings make a line invalid', async (t) => {
  for (const text of [
    '\u0000',
    '{"a":1}\u0000',
    '{"a":1\u000b}',
    '{\u00a0"a":1}',
    '{"a":"\u0000"}',
    '{"a":"\u001f"}',
  ]) {
    t.match(scan([columnOf('a String')], text), { rows: [], invalidCount: 1 }, JSON.stringify(text))
  }
  t.same(scan([columnOf('a String')], '{"a":"\\u0000\u007f"}').rows, [['"\\u0000\u007f"']])
})

t.test('blank lines are no records, whatever their blanks', async (t) => {
  t.match(scan([columnOf('a Int32')], '\n \n\t\r\n\r\n   {"a":1}  \r\n\n'), {
    rows: [['1']],
    invalidCount: 0,
    reasons: [],
  })
})

t.test('columns may share a value, look into it, and take the record itself', async (t) => {
  const columns = columnsOf(
    [
      'n Int64 `json:$.a`',
      't String `json:$.a`',
      'whole String `json:$`',
      'o String `json:$.o`',
      'x Nullable(Int32) `json:$.o.x`',
      'l Array(Int32) `json:$.o.l[:]`',
      'y Array(Nullable(String)) `json:$.p[:].y.z`',
    ].join(', '),
  )
  const body = '{"a": 12, "o":{"x":1 ,"l":[1,2]}, "p":[{"y":{"z":"é"}},{"y":5},7]}'
  t.same(scan(columns, body).rows, [
    ['12', '"12"', JSON.stringify(body), '"{\\"x\\":1 ,\\"l\\":[1,2]}"', '1', '[1,2]', '["é",NULL,NULL]'],
  ])
})

t.test('strings longer than all buffers come through, one after the other', async (t) => {
  const columns = columnsOf('a String, l Array(String)')
  const parser = new FrameParser()
  for (const length of [10, 17_000, 200_000, 16_384, 15_360, 15_361]) {
    const long = 'x'.repeat(length)
    const body = `{"a":"${long}","l":["${long}","\\n${long}","y"]}\n`.repeat(3)
    const row = [JSON.stringify(long), `["${long}","\\n${long}","y"]`]
    const found = parsedRows(frameTask(columns, [body]), parser).rows
    t.ok(JSON.stringify(found) === JSON.stringify([row, row, row]), `${length} bytes`)
  }
})

t.test('thousands of rows and list elements come through in one frame, and a second one', async (t) => {
  const columns = columnsOf('i UInt64, s LowCardinality(String), l Array(Array(Nullable(Int16))), m Map(String, Int32)')
  const parser = new FrameParser()
  for (const rowCount of [5_000, 1_023, 1_024, 1_025]) {
    const indexes = Array.from({ length: rowCount }, (_, row) => row)
    const body = indexes
      .map((row) => `{"i":${row},"s":"s${row}","l":[[${row % 7},null],[]],"m":{"k":${row}}}`)
      .join('\n')
    const rows = indexes.map((row) => [`${row}`, `"s${row}"`, `[[${row % 7},NULL],[]]`, `{"k":${row}}`])
    const found = parsedRows(frameTask(columns, [body]), parser).rows
    t.ok(JSON.stringify(found) === JSON.stringify(rows), `${rowCount} rows`)
  }
})

t.test('objects nested deeper than a record may be are an invalid line', async (t) => {
  const nested = (depth: number) => `${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`
  const columns = [columnOf('b Nullable(Int32)'), columnOf('a Nullable(String)')]
  t.match(scan(columns, nested(500)), { rows: [[]], invalidCount: 0 })
  t.match(scan(columns, nested(501)), { rows: [], invalidCount: 1 })
  t.match(scan(columns, nested(100_000)), { rows: [], invalidCount: 1 })
})
