import { Buffer } from 'node:buffer'
import t from 'tap'
import { defaultCsvDialect } from '../../src/codec/csv/csv-dialect.ts'
import { FrameParser } from '../../src/codec/parse-frame.ts'
import { readBlock, readQuarantine } from '../support/codec/reference/arrow-cells.ts'
import { frameTask } from '../support/codec/reference/frame-tasks.ts'
import { parsedRows } from '../support/codec/reference/parsed-rows.ts'
import { columnsOf } from '../support/codec/reference/random-schema.ts'

const columns = columnsOf('a Int32, b Nullable(String)')

t.test('each body of a frame gets its own counts', async (t) => {
  const bodies = ['{"a":1}\n{"a":"x"}\nno\n', '{"a":2}\n', '\n', '[]\n{"a":3}']
  const result = new FrameParser().parse(frameTask(columns, bodies))
  t.same(result.bodies, [
    { rows: 1, quarantined: 2, invalid: 1, short: 0 },
    { rows: 1, quarantined: 0, invalid: 0, short: 0 },
    { rows: 0, quarantined: 0, invalid: 0, short: 0 },
    { rows: 1, quarantined: 1, invalid: 1, short: 0 },
  ])
  t.equal(result.rowCount, 3)
  t.equal(result.quarantinedRowCount, 3)
  t.same(result.part === null ? [] : readBlock(result.part, columns), [
    ['1', 'NULL'],
    ['2', 'NULL'],
    ['3', 'NULL'],
  ])
  const quarantined = result.quarantinePart === null ? [] : readQuarantine(result.quarantinePart, 2)
  t.same(quarantined, [
    { texts: ['x', null], errorColumns: ['a'], errors: ["value 'x' on column 'a' is not Int32"] },
    { texts: [null, null], errorColumns: [''], errors: ['record is not a JSON object: no'] },
    { texts: [null, null], errorColumns: [''], errors: ['record is not a JSON object: []'] },
  ])
})

t.test('lines of which nothing can be read are kept, and as bytes where they are no UTF-8', async (t) => {
  const body = Buffer.from('{"a":1,"é":"100%"}\n{"a":1,"é":"100%\xff"}\n{"a":"%FF"}\n\x80\n', 'latin1')
  const result = new FrameParser().parse(frameTask(columns, [body]))
  t.same(result.bodies, [{ rows: 0, quarantined: 4, invalid: 3, short: 0 }])
  const { errors } = { errors: result.quarantinePart === null ? [] : readQuarantine(result.quarantinePart, 2) }
  t.same(
    errors.map((row) => row.errors),
    [
      ['record is not valid UTF-8: {"a":1,"%E9":"100%25"}'],
      ['record is not valid UTF-8: {"a":1,"%E9":"100%25%FF"}'],
      ["value '%FF' on column 'a' is not Int32"],
      ['record is not valid UTF-8: %80'],
    ],
  )
})

t.test(
  'lines that are no objects stand among rows of every kind with their texts, and nothing of their neighbours',
  async (t) => {
    const kinds: readonly {
      readonly line: string
      readonly texts: readonly (string | null)[]
      readonly error: string
    }[] = [
      { line: 'x', texts: [null, null], error: 'record is not a JSON object: x' },
      { line: '[1]\r', texts: [null, null], error: 'record is not a JSON object: [1]\r' },
      { line: '\u00e9', texts: [null, null], error: 'record is not a JSON object: \u00e9' },
      {
        line: `"${'y\u00e9'.repeat(300)}"`,
        texts: [null, null],
        error: `record is not a JSON object: "${'y\u00e9'.repeat(300)}"`,
      },
      { line: '{"a":', texts: [null, null], error: 'record is not a JSON object: {"a":' },
      { line: '{"a":"q","b":"t"}', texts: ['q', 't'], error: "value 'q' on column 'a' is not Int32" },
      { line: '{"a":"\\u0071","b":"t"}', texts: ['q', 't'], error: "value 'q' on column 'a' is not Int32" },
      { line: '\ufeff{"a":"q"}', texts: ['q', null], error: "value 'q' on column 'a' is not Int32" },
    ]
    // Every kind behind every other, past several sizes of the columns; the parser is used twice.
    const wanted = Array.from(
      { length: 5000 },
      (_, index) => kinds[(index * index + (index >> 3)) % kinds.length] ?? kinds[0],
    )
    const body = wanted.map((kind) => `${kind?.line}\n${kind?.texts[0] === null ? '' : '{"a":1}\n'}`).join('')
    const rows = wanted.filter((kind) => kind?.texts[0] !== null).length
    const parser = new FrameParser()
    for (let round = 0; round < 2; round += 1) {
      const result = parser.parse(frameTask(columns, [body, 'z\n']))
      t.same(result.bodies, [
        { rows, quarantined: 5000, invalid: 5000 - rows, short: 0 },
        { rows: 0, quarantined: 1, invalid: 1, short: 0 },
      ])
      const kept = result.quarantinePart === null ? [] : readQuarantine(result.quarantinePart, 2)
      const same = wanted.findIndex(
        (kind, at) => kept[at]?.errors[0] !== kind?.error || !isSame(kept[at]?.texts, kind?.texts),
      )
      t.equal(same, -1, 'each has its own text and its own values')
    }
  },
)

function isSame(found: readonly unknown[] | undefined, wanted: readonly unknown[] | undefined): boolean {
  return JSON.stringify(found) === JSON.stringify(wanted)
}

t.test('short CSV lines count as quarantined and as invalid', async (t) => {
  const record = { kind: 'csv', dialect: defaultCsvDialect, fieldColumns: [0, 1] } as const
  const result = new FrameParser().parse(frameTask(columns, ['1,x\n2\n"3"4,y\n5,x,z\n'], { record }))
  t.same(result.bodies, [{ rows: 1, quarantined: 3, invalid: 2, short: 1 }])
})

t.test('frames without any row give no part', async (t) => {
  const result = new FrameParser().parse(frameTask(columns, ['\n\n']))
  t.match(result, { part: null, rowCount: 0, quarantinePart: null, quarantinedRowCount: 0 })
})

t.test('a body that is one JSON message may hold any white space', async (t) => {
  const options = { record: { kind: 'document' } as const }
  const scan = (body: string) => parsedRows(frameTask(columns, [body], options))
  t.same(scan('\n{\n  "a": 1,\r\n\t"b": "x\\ny"\n}\n\n').rows, [['1', '"x\\ny"']])
  t.match(scan(' \n\t\n'), { rows: [], reasons: [], invalidCount: 0 })
  t.match(scan('{"a":1}\n{"a":2}\n'), { rows: [], invalidCount: 1 })
  t.match(scan('[{"a":1}]'), { rows: [], reasons: [['record is not a JSON object: [{"a":1}]']], invalidCount: 1 })
  t.match(parsedRows(frameTask(columns, [Buffer.of(0x7b, 0xff, 0x7d)], options)), { rows: [], invalidCount: 1 })
})

t.test('rows begin where the task says', async (t) => {
  const task = frameTask(columns, ['\ufeff{"a":1}\n'])
  t.same(parsedRows({ ...task, start: 3 }).rows, [['1', 'NULL']])
})

t.test('one parser reads many schemas in turn, more than it keeps compiled', async (t) => {
  const parser = new FrameParser()
  for (let round = 0; round < 3; round += 1) {
    for (let schema = 0; schema < 40; schema += 1) {
      const own = columnsOf(`c${schema} String, n Nullable(Int32)`)
      const task = frameTask(own, [`{"c${schema}":"${round}","c${schema + 1}":"y"}`], { planKey: `schema ${schema}` })
      t.same(parsedRows(task, parser).rows, [[`"${round}"`, 'NULL']])
    }
  }
})

t.test('a parser counts the bodies of a frame as it parses them, and forgets what is over its limits', async (t) => {
  const parser = new FrameParser({ plansMax: 2, planBytesMax: 1024 ** 2, kernelBytesMax: 1024 ** 3 })
  const task = (planKey: string) => frameTask(columns, ['{"a":1}\n{"a":"x"}\n', '{"a":2}\n'], { planKey })
  t.strictSame(parser.count(task('1')), parser.parse(task('1')).bodies)
  t.match(parser.count(task('2')), [
    { rows: 1, quarantined: 1 },
    { rows: 1, quarantined: 0 },
  ])
  t.strictSame([parser.knows('1'), parser.knows('2'), parser.knows('3')], [true, true, false])
  parser.count(task('3'))
  t.strictSame([parser.knows('1'), parser.knows('2'), parser.knows('3')], [false, true, true])
})

t.test('a schema that grew by a column eighty times takes the memory of one schema', async (t) => {
  const parser = new FrameParser()
  const growing = (version: number) => {
    const names = Array.from({ length: 20 + version }, (_, index) => `c${index} Nullable(Int32)`)
    return frameTask(columnsOf(names.join(', ')), ['{"c0":1}\n'], { planKey: `t_1:${version}` })
  }
  parser.count(growing(80))
  const ofOneBytes = parser.memoryBytes
  const other = frameTask(columns, ['{"a":1}\n'], { planKey: 't_10:1' })
  const late = new FrameParser()
  late.count(other)
  for (let version = 0; version <= 80; version += 1) late.count(growing(version))
  t.ok(late.memoryBytes <= 2 * ofOneBytes, `${late.memoryBytes} bytes for eighty versions, ${ofOneBytes} for one`)
  t.strictSame(
    ['t_1:79', 't_1:80', 't_10:1'].map((key) => late.knows(key)),
    [false, true, true],
  )
})

t.test('a frame of an older version is read, and takes nothing from the newer one', async (t) => {
  const parser = new FrameParser()
  const older = frameTask(columns, ['{"a":1}\n'], { planKey: 't_1:9' })
  parser.count(frameTask(columnsOf('a Int32, b Nullable(String), c UInt8'), ['{"a":1}\n'], { planKey: 't_1:10' }))
  t.same(parsedRows(older, parser).rows, [['1', 'NULL']])
  t.strictSame([parser.knows('t_1:9'), parser.knows('t_1:10')], [true, true])
  parser.count(frameTask(columns, ['{"a":1}\n'], { planKey: 't_1:11:replay' }))
  t.strictSame([parser.knows('t_1:9'), parser.knows('t_1:10')], [false, false])
})

t.test('a frame without padding, or whose bodies do not fill it, is our own fault', async (t) => {
  const task = frameTask(columns, ['{"a":1}\n'])
  const parser = new FrameParser()
  t.throws(() => parser.parse({ ...task, frame: task.frame.subarray(0, task.byteCount) }), 'a frame ends in padding')
  t.throws(() => parser.parse({ ...task, bodyEnds: [] }), 'the bodies fill the frame')
})
