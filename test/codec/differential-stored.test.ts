import { createHash } from 'node:crypto'
import t, { type Test } from 'tap'
import { partLayoutOf, quarantineLayoutOf } from '../../src/codec/arrow/part-layout.ts'
import { FrameParser } from '../../src/codec/parse-frame.ts'
import type { ParseResult } from '../../src/codec/parse-task.types.ts'
import type { ColumnDefinition } from '../../src/schema/columns/column-definition.types.ts'
import { type OpenedStore, openEmbeddedStore } from '../../src/store/embedded/embedded-store.ts'
import { workspaceDatabase } from '../../src/store/workspace-database.ts'
import { answeredText, answerSettings, expectedText } from '../support/codec/reference/engine-values.ts'
import { frameTask } from '../support/codec/reference/frame-tasks.ts'
import { joinLines, randomLines } from '../support/codec/reference/random-records.ts'
import { columnOf, columnsOf, defaultCell, randomSchema } from '../support/codec/reference/random-schema.ts'
import {
  ndjsonOutcomes,
  type ReferenceOutcome,
  referenceColumns,
  takesDefault,
} from '../support/codec/reference/reference-rows.ts'
import { TestRandom } from '../support/codec/reference/test-random.ts'
import { testSeed } from '../support/seeded-random.ts'
import { createTestDirectory, silentLogger, testStoreOptions } from '../support/store/test-store.ts'

const schemaCount = 24
const recordsPerSchema = 130
const rowIndexColumn = columnOf('row_index UInt32')

async function openStore(t: Test): Promise<OpenedStore> {
  const directory = await createTestDirectory()
  t.teardown(() => directory.remove())
  const store = await openEmbeddedStore(testStoreOptions(directory.path), silentLogger)
  t.teardown(() => store.close())
  return store
}

async function createTable(store: OpenedStore, name: string, columns: readonly ColumnDefinition[]): Promise<void> {
  const lines = columns.map(({ name, typeText, defaultExpression }) =>
    defaultExpression === null ? `${name} ${typeText}` : `${name} ${typeText} DEFAULT ${defaultExpression}`,
  )
  const settings = 'non_replicated_deduplication_window = 100'
  await store.command(
    `CREATE TABLE ${workspaceDatabase}.${name} (${lines.join(', ')}) ENGINE = MergeTree ORDER BY tuple() SETTINGS ${settings}`,
  )
}

async function append(
  store: OpenedStore,
  table: string,
  columns: readonly ColumnDefinition[],
  result: ParseResult<Uint8Array>,
): Promise<void> {
  if (result.part === null) return
  const parts = [result.part]
  const blockId = createHash('sha1').update(result.part).digest('hex')
  await store.append({ table, layout: partLayoutOf(columns), parts, rowCount: result.rowCount, blockId })
}

/** The answers for these columns, one row after the other in the order of `row_index`. */
async function answers(
  store: OpenedStore,
  table: string,
  columns: readonly ColumnDefinition[],
): Promise<readonly string[][]> {
  const names = columns.map(({ name }) => name).join(', ')
  const sql = `SELECT ${names} FROM ${workspaceDatabase}.${table} ORDER BY row_index SETTINGS ${answerSettings}`
  const rows = await store.rows<Record<string, unknown>>(sql)
  return rows.map((row) => columns.map(({ name, type }) => answeredText(type, row[name])))
}

function expectedRow(columns: readonly ColumnDefinition[], outcome: ReferenceOutcome): readonly string[][] {
  if (outcome.kind !== 'row') return []
  return [
    columns.map((column, position) => {
      const cell = outcome.cells[position] ?? null
      return expectedText(column.type, cell === takesDefault ? defaultCell(column) : cell)
    }),
  ]
}

t.test('stored cells agree with what the engine reads back', async (t) => {
  const seed = testSeed()
  t.comment(`SEED=${seed}`)
  const random = new TestRandom(seed)
  const store = await openStore(t)
  const parser = new FrameParser()
  let rowCount = 0
  for (let schema = 0; schema < schemaCount; schema += 1) {
    const table = `schema_${schema}`
    const columns = [rowIndexColumn, ...randomSchema(random, { columnsMax: 10, hasPaths: true })].filter(
      ({ type, jsonPath }) => type.kind !== 'aggregateFunction' && jsonPath?.keys.length !== 0,
    )
    await createTable(store, table, columns)
    const lines = randomLines(random, columns.slice(1), recordsPerSchema).map((line, row) =>
      line[0] === 0x7b && line[1] === 0x22
        ? Buffer.concat([Buffer.from(`{"row_index":${row},`), line.subarray(1)])
        : line,
    )
    const body = joinLines(random, lines)
    const result = parser.parse(frameTask(columns, [body], { planKey: table }))
    const outcomes = ndjsonOutcomes(body, referenceColumns(columns))
    await append(store, table, columns, result)
    rowCount += result.rowCount
    const found = await answers(store, table, columns)
    const wanted = outcomes.flatMap((outcome) => expectedRow(columns, outcome))
    t.equal(found.length, wanted.length, `rows of ${columns.map(({ typeText }) => typeText).join(', ')}`)
    for (const [position, { typeText, defaultExpression }] of columns.entries()) {
      const row = wanted.findIndex((cells, row) => cells[position] !== found[row]?.[position])
      t.equal(found[row]?.[position], wanted[row]?.[position], `${typeText} DEFAULT ${defaultExpression}`)
    }
  }
  t.comment(`${rowCount} rows`)
  t.ok(rowCount > 1_000, 'there are rows to compare')
})

t.test('a DEFAULT over other columns sees their values and their own DEFAULTs', async (t) => {
  const store = await openStore(t)
  const parser = new FrameParser()
  const schemas = [
    'row_index UInt32, a Int32, b Int32 DEFAULT a * 2, c String DEFAULT toString(b), d Float64 DEFAULT b + length(c)',
    'row_index UInt32, a Int32, b Nullable(Int32) DEFAULT a * 2, c String DEFAULT toString(b), d Float64 DEFAULT assumeNotNull(b) + length(c)',
    'row_index UInt32, a Int32, b Int32 DEFAULT a * 2, c String DEFAULT toString(b), d Float64 DEFAULT b + length(c), e Array(String) DEFAULT [c]',
  ]
  const body = [
    '{"row_index":0,"a":1,"b":5,"c":"x","d":0.5}',
    '{"row_index":1,"a":1,"b":5,"c":"x"}',
    '{"row_index":2,"a":1,"b":5}',
    '{"row_index":3,"a":1}',
    '{"row_index":4,"a":1,"c":"xyz"}',
  ].join('\n')
  const wanted = [
    ['0', '1', '5', 'x', '0.5'],
    ['1', '1', '5', 'x', '6'],
    ['2', '1', '5', '5', '6'],
    ['3', '1', '2', '2', '3'],
    ['4', '1', '2', 'xyz', '5'],
  ]
  for (const [position, schema] of schemas.entries()) {
    const columns = columnsOf(schema)
    const table = `defaults_${position}`
    await createTable(store, table, columns)
    await append(store, table, columns, parser.parse(frameTask(columns, [body], { planKey: table })))
    t.same(await answers(store, table, columns.slice(0, 5)), wanted, schema)
  }
})

t.test('what cannot be NULL takes its DEFAULT by a mark, and what can keeps an explicit null', async (t) => {
  const store = await openStore(t)
  const columns = columnsOf(
    [
      'row_index UInt32',
      'n Nullable(Int32) DEFAULT 7',
      "s LowCardinality(Nullable(String)) DEFAULT 'x'",
      'a Array(Int32) DEFAULT [1, 2]',
      "m Map(String, Int32) DEFAULT map('k', 1)",
      "u Tuple(a Int32, b Nullable(String)) DEFAULT (3, 'y')",
      'j JSON DEFAULT \'{"a": 1}\'',
      "i UUID DEFAULT '00000000-0000-0000-0000-000000000001'",
      'd Decimal(9, 2) DEFAULT 1.5',
      "e Enum8('p' = 1, 'q' = 2) DEFAULT 'q'",
      "f FixedString(2) DEFAULT 'zz'",
      "v IPv6 DEFAULT '::1'",
      'w Int256 DEFAULT -1',
    ].join(', '),
  )
  const given =
    '"n":1,"s":"t","a":[3],"m":{"l":2},"u":[4,null],"j":{"b":"c"},"i":"00000000-0000-0000-0000-000000000002","d":"2.25","e":"p","f":"ab","v":"::2","w":5'
  const nulls = given.replaceAll(/:("[^"]*"|\{[^}]*\}|\[[^\]]*\]|\d+)(?=,"|$)/g, ':null')
  const body = [`{"row_index":0,${given}}`, '{"row_index":1}', `{"row_index":2,${nulls}}`].join('\n')
  await createTable(store, 'masks', columns)
  const result = new FrameParser().parse(frameTask(columns, [body]))
  t.equal(result.rowCount, 3, 'nothing is set aside')
  await append(store, 'masks', columns, result)
  const defaults = [
    ['[1,2]', '{k:1}', '[3,y]', '[["a","1"]]', '00000000-0000-0000-0000-000000000001'],
    ['1.50', 'q', 'zz', '0:0:0:0:0:0:0:1', '-1'],
  ].flat()
  t.same(await answers(store, 'masks', columns), [
    [
      ['0', '1', 't', '[3]', '{l:2}', '[4,null]', '[["b","c"]]', '00000000-0000-0000-0000-000000000002'],
      ['2.25', 'p', 'ab', '0:0:0:0:0:0:0:2', '5'],
    ].flat(),
    ['1', '7', 'x', ...defaults],
    ['2', 'null', 'null', ...defaults],
  ])
})

t.test('rows set aside can be read from the quarantine table', async (t) => {
  const store = await openStore(t)
  const columns = columnsOf('a Int32, `b c` String')
  await store.command(
    `CREATE TABLE ${workspaceDatabase}.q (a Nullable(String), \`b c\` Nullable(String), c__error_column Array(String), c__error Array(String), c__import_id Nullable(String), insertion_date DateTime) ENGINE = MergeTree ORDER BY tuple()`,
  )
  const body = '{"a":"x","b c":"it\'s"}\n{"a":1}\nno record\n{"a":[1],"b c":null}\n'
  const result = new FrameParser().parse(frameTask(columns, [body]))
  t.equal(result.quarantinedRowCount, 4)
  if (result.quarantinePart === null) throw new Error('rows were set aside')
  const layout = quarantineLayoutOf(columns, 'import')
  await store.append({ table: 'q', layout, parts: [result.quarantinePart], rowCount: 4, blockId: 'q' })
  const rows = await store.rows(
    `SELECT a, \`b c\`, c__error_column, c__error, c__import_id, insertion_date > '2020-01-01' AS dated FROM ${workspaceDatabase}.q`,
  )
  t.same(rows, [
    {
      a: 'x',
      'b c': "it's",
      c__error_column: ['a'],
      c__error: ["value 'x' on column 'a' is not Int32"],
      c__import_id: 'import',
      dated: 1,
    },
    {
      a: '1',
      'b c': null,
      c__error_column: ['b c'],
      c__error: ["value is missing on column 'b c', which is neither Nullable nor has a DEFAULT"],
      c__import_id: 'import',
      dated: 1,
    },
    {
      a: null,
      'b c': null,
      c__error_column: [''],
      c__error: ['record is not a JSON object: no record'],
      c__import_id: 'import',
      dated: 1,
    },
    {
      a: '[1]',
      'b c': null,
      c__error_column: ['a', 'b c'],
      c__error: ["value '[1]' on column 'a' is not Int32", "value 'null' on column 'b c' is not String"],
      c__import_id: 'import',
      dated: 1,
    },
  ])
})
