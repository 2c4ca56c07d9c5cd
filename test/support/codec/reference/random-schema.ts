/** Random schemas over all column types and paths. */

import type { Cell } from '../../../../src/codec/cell.types.ts'
import type { ColumnDefinition } from '../../../../src/schema/columns/column-definition.types.ts'
import type { JsonPath } from '../../../../src/schema/columns/json-path.types.ts'
import { parseSchema } from '../../../../src/schema/columns/schema-parser.ts'
import type { CheckedExpression } from '../../../../src/schema/expressions/checked-text.types.ts'
import { isNullable, valueTypeOf } from '../../../../src/schema/types/column-type.ts'
import type { ColumnType } from '../../../../src/schema/types/column-type.types.ts'
import { checked } from '../../checked-text.ts'
import type { TestRandom } from './test-random.ts'

const plainTypes = [
  'Int8',
  'Int16',
  'Int32',
  'Int64',
  'Int128',
  'Int256',
  'UInt8',
  'UInt16',
  'UInt32',
  'UInt64',
  'UInt128',
  'UInt256',
  'Float32',
  'Float64',
  'Decimal(9, 2)',
  'Decimal(18, 0)',
  'Decimal(38, 38)',
  'Decimal(76, 20)',
  'Bool',
  'String',
  'String',
  'String',
  'FixedString(4)',
  'UUID',
  'Date',
  'Date32',
  'DateTime',
  "DateTime('Europe/Berlin')",
  "DateTime('America/New_York')",
  'DateTime64(0)',
  'DateTime64(1)',
  'DateTime64(3)',
  "DateTime64(3, 'Asia/Kolkata')",
  'DateTime64(6)',
  "DateTime64(7, 'Australia/Lord_Howe')",
  'DateTime64(9)',
  "Enum8('a' = 1, 'b c' = -2, '' = 3, '7' = 4)",
  "Enum16('ä' = 1000, 'it''s' = -1000)",
  'IPv4',
  'IPv6',
] as const

const wholeTypes = [
  'LowCardinality(String)',
  'LowCardinality(Nullable(String))',
  'LowCardinality(FixedString(3))',
  'SimpleAggregateFunction(sum, UInt64)',
  'SimpleAggregateFunction(max, Nullable(DateTime64(3)))',
  'SimpleAggregateFunction(groupUniqArrayArray, Array(String))',
  'Map(String, String)',
  'Map(LowCardinality(String), Nullable(Float64))',
  'Map(UInt16, Array(Int8))',
  'Map(UUID, Tuple(Int8, String))',
  'Tuple(Int8, Nullable(String))',
  'Tuple(a Int32, `b c` Nullable(DateTime64(3)), c Array(String))',
  'Tuple(x Tuple(y UInt8, z Bool), m Map(String, Int32))',
  'JSON',
  'JSON(a UInt32, `x.y` Nullable(String))',
  'Nullable(JSON)',
] as const

/** The text of a random type; `AggregateFunction` only seldom, for it takes no value at all. */
function randomTypeText(random: TestRandom): string {
  if (random.chance(1.5)) return 'AggregateFunction(uniq, String)'
  if (random.chance(18)) return random.pick(wholeTypes)
  const plain = random.pick(plainTypes)
  const inner = random.chance(25) ? `Nullable(${plain})` : plain
  if (random.chance(80)) return inner
  return random.chance(20) ? `Array(Array(${inner}))` : `Array(${inner})`
}

const keys = [
  'a',
  'b',
  'c',
  'd',
  'e',
  'f',
  'id',
  'user',
  'ts',
  'name',
  'größe',
  'two words',
  '😀',
  '__proto__',
  'constructor',
] as const
/** Keys that a record must escape, and one that no prediction reaches to the end of. */
const oddKeys = ['quo"te', 'back\\slash', 'ta\tb', 'x'.repeat(70), ''] as const
/** Keys that never hold a scalar, so that most records have something below them. */
const objectKeys = ['o', 'p', 'deep'] as const

function randomPath(random: TestRandom, typeText: string): JsonPath {
  if (random.chance(2)) return { keys: [], element: null }
  const depth = random.chance(70) ? 0 : random.between(1, 3)
  const above = Array.from({ length: depth }, () => random.pick(objectKeys))
  const path = [...above, random.pick(random.chance(2) ? oddKeys : keys)]
  if (!typeText.startsWith('Array(') || random.chance(30)) return { keys: path, element: null }
  return random.chance(60) ? { keys: path, element: [] } : { keys: [...above, 'list'], element: elementPath(random) }
}

function elementPath(random: TestRandom): readonly string[] {
  return random.chance(70) ? [random.pick(keys)] : ['in', random.pick(['a', 'b'])]
}

interface DefaultValue {
  readonly expression: CheckedExpression
  readonly cell: Cell
}

/** DEFAULTs by kind of type, with the cell that ClickHouse makes of them. */
const defaultValues: Readonly<Partial<Record<ColumnType['kind'], DefaultValue>>> = {
  integer: { expression: checked<CheckedExpression>('7'), cell: 7 },
  float: { expression: checked<CheckedExpression>('0.5'), cell: 0.5 },
  string: { expression: checked<CheckedExpression>("'dflt'"), cell: 'dflt' },
  bool: { expression: checked<CheckedExpression>('true'), cell: 1 },
  date: { expression: checked<CheckedExpression>("toDate('1970-01-03')"), cell: 2 },
  dateTime: { expression: checked<CheckedExpression>('toDateTime(1)'), cell: 1 },
  array: { expression: checked<CheckedExpression>('[]'), cell: [] },
  map: { expression: checked<CheckedExpression>('map()'), cell: [] },
  uuid: {
    expression: checked<CheckedExpression>("'00000000-0000-0000-0000-000000000001'"),
    cell: '00000000-0000-0000-0000-000000000001',
  },
}

/** The cell that the DEFAULT of a column of a random schema makes. */
export function defaultCell({ type }: ColumnDefinition): Cell {
  return defaultValues[valueTypeOf(type).kind]?.cell ?? null
}

export interface SchemaShape {
  readonly columnsMax: number
  /** CSV has no paths. */
  readonly hasPaths: boolean
}

/** A schema of 1 to `columnsMax` columns; their names are `c0`, `c1` and so on, or with a path at times anything. */
export function randomSchema(random: TestRandom, shape: SchemaShape): readonly ColumnDefinition[] {
  const count = random.between(1, shape.columnsMax)
  return Array.from({ length: count }, (_, position) => randomColumn(random, shape, position))
}

function randomColumn(random: TestRandom, { hasPaths }: SchemaShape, position: number): ColumnDefinition {
  const typeText = randomTypeText(random)
  const column = columnOf(`c${position} ${typeText}`)
  const fallback = random.chance(20) ? defaultValues[valueTypeOf(column.type).kind] : undefined
  const defaultExpression = fallback?.expression ?? null
  if (!hasPaths || random.chance(35)) return { ...column, defaultExpression }
  return { ...column, defaultExpression, jsonPath: randomPath(random, typeText), jsonPathText: '$.…' }
}

/** The column that a schema string of one column defines. */
export function columnOf(text: string): ColumnDefinition {
  const [column] = columnsOf(text)
  if (column === undefined) throw new Error(`no column in ${text}`)
  return column
}

export function columnsOf(text: string): readonly ColumnDefinition[] {
  return parseSchema(text, { columnsMax: 100 })
}

/** Where the column looks: its path, or its name as the key. */
export function pathOf(column: ColumnDefinition): JsonPath {
  return column.jsonPath ?? { keys: [column.name], element: null }
}

/** Whether a record may go without the column's value. */
export function canBeAbsent(column: ColumnDefinition): boolean {
  return column.defaultExpression !== null || isNullable(column.type) || column.type.kind === 'aggregateFunction'
}
