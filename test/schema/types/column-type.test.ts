import t from 'tap'
import { formatColumnType, isNullable, parseColumnType, valueTypeOf } from '../../../src/schema/types/column-type.ts'
import { TextError } from '../../../src/shared/text-error.ts'
import { EngineSession } from '../../support/catalog/engine-session.ts'

/** Types that we take, with the text that we make of them. */
const accepted: readonly (readonly [string, string])[] = [
  ...['Int', 'UInt'].flatMap((name) => [8, 16, 32, 64, 128, 256].map((bits) => same(`${name}${bits}`))),
  same('Float32'),
  same('Float64'),
  ['Decimal(10)', 'Decimal(10, 0)'],
  same('Decimal(76, 76)'),
  same('Decimal(1, 0)'),
  ['Decimal32(9)', 'Decimal(9, 9)'],
  ['Decimal64(18)', 'Decimal(18, 18)'],
  ['Decimal128(0)', 'Decimal(38, 0)'],
  ['Decimal256(76)', 'Decimal(76, 76)'],
  same('Bool'),
  same('String'),
  same('FixedString(1)'),
  same('FixedString(256)'),
  same('UUID'),
  same('Date'),
  same('Date32'),
  same('DateTime'),
  same("DateTime('Europe/Madrid')"),
  same("DateTime('UTC')"),
  same("DateTime('US/Pacific')"),
  same("DateTime('Etc/GMT+5')"),
  same('DateTime64(0)'),
  same('DateTime64(9)'),
  ["DateTime64(3,'America/New_York')", "DateTime64(3, 'America/New_York')"],
  ["Enum('a', 'b')", "Enum8('a' = 1, 'b' = 2)"],
  ["Enum('a' = 200, 'b')", "Enum16('a' = 200, 'b' = 201)"],
  ["Enum8('b' = 2, 'a' = 1)", "Enum8('a' = 1, 'b' = 2)"],
  ["Enum8('a' = 5, 'b')", "Enum8('a' = 5, 'b' = 6)"],
  same("Enum8('a' = -128, 'b' = 127)"),
  ["Enum8('a' = -0)", "Enum8('a' = 0)"],
  same("Enum8('' = 0)"),
  same("Enum16('a' = -32768, 'b' = 32767)"),
  [
    "Enum16('a\\'b' = 1, 'c\\\\d' = 2, 'e\\nf' = 3, 'g''h' = 4, 'tab\\t' = 5, '\\x41' = 6, 'é' = 7, '\\q' = 8, '\"`' = 9)",
    "Enum16('a\\'b' = 1, 'c\\\\d' = 2, 'e\\nf' = 3, 'g\\'h' = 4, 'tab\\t' = 5, 'A' = 6, 'é' = 7, '\\\\q' = 8, '\"`' = 9)",
  ],
  same('IPv4'),
  same('IPv6'),
  same('Nullable(String)'),
  same('Nullable(FixedString(3))'),
  same('Nullable(JSON)'),
  same('Nullable(DateTime64(3))'),
  same('Nullable(Decimal(9, 2))'),
  same("Nullable(Enum8('a' = 1))"),
  same('LowCardinality(String)'),
  same('LowCardinality(Nullable(String))'),
  same('LowCardinality(FixedString(8))'),
  same('LowCardinality(UInt8)'),
  same('LowCardinality(Nullable(Int256))'),
  same('LowCardinality(Float64)'),
  same('LowCardinality(Date)'),
  same('LowCardinality(Date32)'),
  same('LowCardinality(DateTime)'),
  same('LowCardinality(UUID)'),
  same('LowCardinality(Bool)'),
  same('LowCardinality(IPv4)'),
  same('LowCardinality(IPv6)'),
  same('Array(String)'),
  [' Array ( Array(Array( UInt8)) ) ', 'Array(Array(Array(UInt8)))'],
  same('Array(Nullable(String))'),
  same('Array(LowCardinality(Nullable(String)))'),
  same('Array(Map(String, String))'),
  same('Array(JSON)'),
  same('Map(LowCardinality(String), String)'),
  same('Map(UInt8, Array(String))'),
  same('Map(Float32, Nullable(String))'),
  same('Map(DateTime64(3), String)'),
  same('Map(UUID, JSON)'),
  same("Map(Enum8('a' = 1), String)"),
  same('Map(IPv4, Bool)'),
  same('Map(Decimal(9, 2), Map(Int256, Array(UInt8)))'),
  same('Tuple(String, UInt8)'),
  same('Tuple(a String, b UInt8)'),
  ['Tuple(`a b` String, "c`d" UInt8)', 'Tuple(`a b` String, `c\\`d` UInt8)'],
  same('Tuple(a Tuple(b Nullable(String)))'),
  same('Tuple(String String)'),
  same('Tuple(`1` String)'),
  same('JSON'),
  ['JSON()', 'JSON'],
  ['JSON(max_dynamic_paths = 16)', 'JSON(max_dynamic_paths=16)'],
  [
    "JSON(max_dynamic_paths=16, a.b UInt32, SKIP a.e, SKIP REGEXP 'b.*')",
    "JSON(max_dynamic_paths=16, `a.b` UInt32, SKIP `a.e`, SKIP REGEXP 'b.*')",
  ],
  same('SimpleAggregateFunction(sum, UInt64)'),
  same('SimpleAggregateFunction(sum, Nullable(Float64))'),
  same('SimpleAggregateFunction(sum, Decimal(38, 2))'),
  same('SimpleAggregateFunction(max, DateTime64(3))'),
  same('SimpleAggregateFunction(anyLast, LowCardinality(Nullable(String)))'),
  same('SimpleAggregateFunction(groupArrayArray(10), Array(String))'),
  same('SimpleAggregateFunction(groupUniqArrayArray, Array(String))'),
  same('SimpleAggregateFunction(groupBitOr, UInt8)'),
  same('SimpleAggregateFunction(maxMap, Map(String, UInt8))'),
  same('AggregateFunction(count)'),
  same('AggregateFunction(quantiles(0.5, 0.9), UInt64)'),
  ['AggregateFunction(argMax,String,DateTime)', 'AggregateFunction(argMax, String, DateTime)'],
  same('AggregateFunction(1, sumMap, Array(String), Array(UInt64))'),
]

/** Types that ClickHouse refuses, and so do we: with these words at this offset. */
const refused: readonly (readonly [string, number, string])[] = [
  ['int8', 0, "Unknown type 'int8'. Hint: did you mean Int8?"],
  ['Strng', 0, "Unknown type 'Strng'"],
  ['Decimal(77, 1)', 8, 'Precision of Decimal must be from 1 to 76, not 77'],
  ['Decimal(5, 6)', 11, 'Scale of Decimal must be from 0 to 5, not 6'],
  ['Decimal(0)', 8, 'Precision of Decimal must be from 1 to 76, not 0'],
  ['Decimal32(10)', 10, 'Scale of Decimal must be from 0 to 9, not 10'],
  ['FixedString(0)', 12, 'Length of FixedString must be from 1 to 256 bytes, not 0. Hint: use String.'],
  ['FixedString(257)', 12, 'Length of FixedString must be from 1 to 256 bytes, not 257. Hint: use String.'],
  ['FixedString(16777216)', 12, 'Length of FixedString must be from 1 to 256 bytes, not 16777216. Hint: use String.'],
  ["DateTime('Mars/Base')", 9, "Unknown time zone 'Mars/Base'"],
  ["DateTime('utc')", 9, "Unknown time zone 'utc'. Hint: did you mean 'UTC'?"],
  ["DateTime('europe/madrid')", 9, "Unknown time zone 'europe/madrid'. Hint: did you mean 'Europe/Madrid'?"],
  ["DateTime('us/pacific')", 9, "Unknown time zone 'us/pacific'"],
  ["DateTime('+02:00')", 9, "Unknown time zone '+02:00'. Hint: use a name such as 'Europe/Madrid' or 'Etc/GMT-2'."],
  ['DateTime64(10)', 11, 'Precision of DateTime64 must be from 0 to 9, not 10'],
  ["DateTime64('UTC')", 0, 'DateTime64 needs a precision. Hint: use DateTime64(3) for milliseconds.'],
  ["Enum8('a' = 128)", 6, "Value 128 of 'a' is out of the range of 8 bits in Enum8"],
  ["Enum8('a' = 127, 'b')", 17, "Value 128 of 'b' is out of the range of 8 bits in Enum8"],
  ["Enum8('a' = 1, 'b' = 1)", 15, "'b' has the value 1 of 'a' in Enum8"],
  ["Enum8('a' = 1, 'a' = 2)", 15, "Duplicate member 'a' in Enum8"],
  ["Enum('a' = 40000)", 5, "Value 40000 of 'a' is out of the range of 16 bits in Enum"],
  ['Enum8()', 6, 'Expected a member of Enum8 in single quotes'],
  ['Enum8', 5, "Expected '(' and the members after Enum8, found the end"],
  ['Nullable(Nullable(String))', 9, 'Nullable(String) cannot be inside Nullable'],
  [
    'Array(Nullable(Array( String )))',
    15,
    'Array( String ) cannot be inside Nullable. Hint: use Array( String ), which is empty where the value is missing.',
  ],
  [
    'Nullable(LowCardinality(String))',
    9,
    'LowCardinality(String) cannot be inside Nullable. Hint: use LowCardinality(Nullable(…)).',
  ],
  ['Nullable(AggregateFunction(count))', 9, 'AggregateFunction(count) cannot be inside Nullable'],
  ['Nullable', 8, "Expected '(' and a type after Nullable, found the end"],
  [
    'LowCardinality(DateTime64(3))',
    15,
    'DateTime64(3) cannot be inside LowCardinality. Hint: it takes texts, numbers, Date and DateTime.',
  ],
  [
    "LowCardinality(Enum8('a'))",
    15,
    "Enum8('a') cannot be inside LowCardinality. Hint: it takes texts, numbers, Date and DateTime.",
  ],
  [
    'LowCardinality(Decimal(9, 2))',
    15,
    'Decimal(9, 2) cannot be inside LowCardinality. Hint: it takes texts, numbers, Date and DateTime.',
  ],
  [
    'LowCardinality(Array(String))',
    15,
    'Array(String) cannot be inside LowCardinality. Hint: it takes texts, numbers, Date and DateTime.',
  ],
  [
    'Map(Nullable(String), String)',
    4,
    'Nullable(String) cannot be the key of a Map. Hint: use String, a number, a date, an Enum or UUID.',
  ],
  [
    'Map(LowCardinality(Nullable(String)), String)',
    4,
    'LowCardinality(Nullable(String)) cannot be the key of a Map. Hint: use String, a number, a date, an Enum or UUID.',
  ],
  ['Map(String)', 10, "Expected ',' and a value type after the key type of Map, found ')'"],
  ['Array()', 6, "Expected a type, found ')'"],
  ['Array(String, String)', 12, "Expected ')' after the type inside Array, found ','"],
  ['Tuple(a String, UInt8)', 16, 'Tuple has names for some of its types only'],
  ['Tuple(a String, a UInt8)', 16, "Tuple has two fields named 'a'"],
  ['Tuple(`` String)', 6, 'Tuple has an empty name'],
  ['SimpleAggregateFunction(sum, UInt8)', 24, "'sum' does not give this type. Hint: use UInt64."],
  ['SimpleAggregateFunction(sum, Float32)', 24, "'sum' does not give this type. Hint: use Float64."],
  ['SimpleAggregateFunction(sum, Decimal(9, 2))', 24, "'sum' does not give this type. Hint: use Decimal(38, 2)."],
  ['SimpleAggregateFunction(sum, String)', 24, "'sum' does not give this type. Hint: use a number."],
  ['SimpleAggregateFunction(groupArrayArray, String)', 24, "'groupArrayArray' needs an Array(…)"],
  ['AggregateFunction', 17, "Expected '(' and a function after AggregateFunction, found the end"],
  ['JSON(foo)', 8, "Expected a type, found ')'"],
  ["Object('json')", 0, 'Object type is not supported. Hint: use JSON.'],
  ['UInt', 0, 'UInt type is not supported. Hint: use UInt32 or another size, UInt8 to UInt256.'],
  ['String String', 7, "Unexpected 'String' after the type"],
  ['', 0, 'Expected a type, found the end'],
  ["'String'", 0, "Expected a type, found ''String''"],
  ['Array(String', 12, "Expected ')' after the type inside Array, found the end"],
  ["DateTime('UTC", 9, "Quote ' without its end"],
]

/** Types that ClickHouse takes and we do not: aliases, and what no body could fill. */
const narrower: readonly (readonly [string, string])[] = [
  ['Boolean', 'Boolean type is not supported. Hint: use Bool.'],
  ['Int', 'Int type is not supported. Hint: use Int32 or another size, Int8 to Int256.'],
  ['BIGINT', 'BIGINT type is not supported. Hint: use Int64.'],
  ['Text', 'Text type is not supported. Hint: use String.'],
  ['VARCHAR(10)', 'VARCHAR type is not supported. Hint: use String.'],
  ['TIMESTAMP', 'TIMESTAMP type is not supported. Hint: use DateTime, or DateTime64(3) for milliseconds.'],
  ['datetime', "Unknown type 'datetime'. Hint: did you mean DateTime?"],
  ['Float', 'Float type is not supported. Hint: use Float32 or Float64.'],
  ['Decimal', 'Decimal needs a precision. Hint: use Decimal(P, S).'],
  ['DateTime64', 'DateTime64 needs a precision. Hint: use DateTime64(3) for milliseconds.'],
  ['DateTime(3)', 'DateTime takes no precision. Hint: use DateTime64(3).'],
  ['String(10)', 'Type String takes no parameters. Hint: use FixedString(N) for texts of N bytes.'],
  ['UInt8(3)', 'Type UInt8 takes no parameters'],
  ['Nested(a String)', 'Nested type is not supported. Hint: use Array(Tuple(name Type, …)).'],
  ['Dynamic', 'Dynamic type is not supported. Hint: use JSON or String.'],
  ['Array(AggregateFunction(count))', 'AggregateFunction(count) can only be the type of a whole column'],
  [
    'Tuple(SimpleAggregateFunction(max, UInt8))',
    'SimpleAggregateFunction(max, UInt8) can only be the type of a whole column',
  ],
  [
    'Map(Array(String), String)',
    'Array(String) cannot be the key of a Map. Hint: use String, a number, a date, an Enum or UUID.',
  ],
]

function same(text: string): readonly [string, string] {
  return [text, text]
}

function faultOf(text: string): TextError | null {
  try {
    parseColumnType(text)
    return null
  } catch (error) {
    if (error instanceof TextError) return error
    throw error
  }
}

t.test('types are read, and written as the engine writes them', async (t) => {
  for (const [text, canonical] of accepted) {
    t.equal(formatColumnType(parseColumnType(text)), canonical, text)
    t.same(parseColumnType(canonical), parseColumnType(text), `${canonical} is read as the same type`)
  }
})

t.test('wrong types are refused with the place and the reason', async (t) => {
  for (const [text, offset, message] of refused) {
    const fault = faultOf(text)
    t.equal(fault?.message, message, text)
    t.equal(fault?.offset, offset, `offset in ${text}`)
  }
  for (const [text, message] of narrower) t.equal(faultOf(text)?.message, message, text)
})

t.test('types are trees of plain data', async (t) => {
  t.same(parseColumnType('Array(Tuple(a Nullable(Int64), b LowCardinality(String)))'), {
    kind: 'array',
    element: {
      kind: 'tuple',
      fields: [
        { name: 'a', type: { kind: 'nullable', inner: { kind: 'integer', name: 'Int64', bits: 64, isSigned: true } } },
        { name: 'b', type: { kind: 'lowCardinality', inner: { kind: 'string' } } },
      ],
    },
  })
  t.same(parseColumnType("Enum('x', 'y' = 300)"), {
    kind: 'enum',
    bits: 16,
    members: [
      { name: 'x', value: 1 },
      { name: 'y', value: 300 },
    ],
  })
  t.same(parseColumnType("DateTime64(6, 'UTC')"), { kind: 'dateTime64', scale: 6, zone: 'UTC' })
  t.same(parseColumnType('DateTime'), { kind: 'dateTime', zone: null })
})

t.test('Nullable, LowCardinality and SimpleAggregateFunction are looked through', async (t) => {
  for (const text of [
    'String',
    'Nullable(String)',
    'LowCardinality(String)',
    'LowCardinality(Nullable(String))',
    'SimpleAggregateFunction(any, LowCardinality(Nullable(String)))',
  ]) {
    t.same(valueTypeOf(parseColumnType(text)), { kind: 'string' }, text)
    t.equal(isNullable(parseColumnType(text)), text.includes('Nullable'), text)
  }
  t.equal(isNullable(parseColumnType('Array(Nullable(String))')), false, 'an array of NULLs is not NULL')
})

t.test('types are nested 32 deep and no deeper', async (t) => {
  const nested = (depth: number) => `${'Array('.repeat(depth)}String${')'.repeat(depth)}`
  t.equal(formatColumnType(parseColumnType(nested(31))), nested(31))
  t.equal(faultOf(nested(32))?.message, 'Types are nested more than 32 deep')
  t.equal(faultOf('Array('.repeat(100_000))?.message, 'Types are nested more than 32 deep')
})

t.test('the engine decides as we do', async (t) => {
  const engine = new EngineSession()
  t.teardown(() => engine.close())
  engine.query('SET allow_suspicious_low_cardinality_types = 1')
  for (const [text, canonical] of accepted) t.equal(engine.canonicalType(text), canonical, `the engine reads ${text}`)
  for (const [text] of refused) t.not(engine.refusal(`c ${text}`), null, `the engine refuses ${text}`)
  for (const [text] of narrower) t.equal(engine.refusal(`c ${text}`), null, `the engine takes ${text}`)
  const zones = engine.query('SELECT time_zone FROM system.time_zones').split('\n')
  const refusedZones = zones.filter((zone) => faultOf(`DateTime('${zone}')`) !== null)
  t.same(refusedZones, ['Factory'], `all other of the ${zones.length} time zones of the engine are taken`)
})
