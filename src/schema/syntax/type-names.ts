// The names of the engine's types, out of `system.data_type_families`; `test/schema/syntax/type-parser.test.ts` holds them to it.

/** Those whose capitals matter. */
const exactTypeNames = `
  AggregateFunction Array BFloat16 Dynamic Enum16 Enum8 FixedString Float32 Float64 GEOMETRY Geometry IPv4 IPv6 Int128
  Int16 Int256 Int32 Int64 Int8 IntervalDay IntervalHour IntervalMicrosecond IntervalMillisecond IntervalMinute
  IntervalMonth IntervalNanosecond IntervalQuarter IntervalSecond IntervalWeek IntervalYear LineString LowCardinality Map
  MultiLineString MultiPolygon Nested Nothing Nullable Point Polygon QBit Ring SimpleAggregateFunction String Tuple
  UInt128 UInt16 UInt256 UInt32 UInt64 UInt8 UUID Variant
`

/** Those that the engine takes in any case, each in capitals, with single blanks. */
const looseTypeNames: readonly string[] = [
  ...`BIGINT BINARY BIT BLOB BOOL BOOLEAN BYTE BYTEA CHAR CHARACTER CLOB DATE DATE32 DATETIME DATETIME32 DATETIME64 DEC
  DECIMAL DECIMAL128 DECIMAL256 DECIMAL32 DECIMAL64 DOUBLE ENUM FIXED FLOAT INET4 INET6 INT INT1 INTEGER JSON LONGBLOB
  LONGTEXT MEDIUMBLOB MEDIUMINT MEDIUMTEXT NCHAR NUMERIC NVARCHAR REAL SET SIGNED SINGLE SMALLINT TEXT TIME TIME64
  TIMESTAMP TINYBLOB TINYINT TINYTEXT UNSIGNED VARBINARY VARCHAR VARCHAR2 YEAR`.split(/\s+/),
  ...['BIGINT SIGNED', 'BIGINT UNSIGNED', 'BINARY LARGE OBJECT', 'BINARY VARYING', 'CHAR LARGE OBJECT'],
  ...['CHAR VARYING', 'CHARACTER LARGE OBJECT', 'CHARACTER VARYING', 'DOUBLE PRECISION', 'INT SIGNED', 'INT UNSIGNED'],
  ...['INT1 SIGNED', 'INT1 UNSIGNED', 'INTEGER SIGNED', 'INTEGER UNSIGNED', 'MEDIUMINT SIGNED', 'MEDIUMINT UNSIGNED'],
  ...['NATIONAL CHAR', 'NATIONAL CHAR VARYING', 'NATIONAL CHARACTER', 'NATIONAL CHARACTER LARGE OBJECT'],
  ...['NATIONAL CHARACTER VARYING', 'NCHAR LARGE OBJECT', 'NCHAR VARYING', 'SMALLINT SIGNED', 'SMALLINT UNSIGNED'],
  ...['TINYINT SIGNED', 'TINYINT UNSIGNED'],
]

const exact: ReadonlySet<string> = new Set(exactTypeNames.trim().split(/\s+/))
const loose: ReadonlySet<string> = new Set(looseTypeNames)
const beginnings: ReadonlySet<string> = new Set(looseTypeNames.flatMap(beginningsOf))

function beginningsOf(name: string): readonly string[] {
  const words = name.split(' ')
  return words.slice(1).map((_, index) => words.slice(0, index + 1).join(' '))
}

/** Whether the engine has a type of this name, of one word or several with single blanks. */
export function isTypeName(name: string): boolean {
  return exact.has(name) || loose.has(name.toUpperCase())
}

/** Whether more words can make a longer name of this one, as `DOUBLE` can be that of `DOUBLE PRECISION`. */
export function beginsTypeName(name: string): boolean {
  return beginnings.has(name.toUpperCase())
}

/** All of them as they are written here, for the test. */
export const typeNames: readonly string[] = [...exact, ...loose]
