/** Values as JSON has them, and why what becomes of some is another than what ClickHouse makes of them. */

export interface SampledType {
  readonly type: string
  /** JSON texts. */
  readonly samples: readonly string[]
}

export interface Reason {
  readonly types: RegExp
  readonly values: RegExp
  readonly text: string
}

const anyType = /./
const numbers = /^U?Int|^Float|^Decimal/
const timeTypes = /^Date/
const momentTypes = /^DateTime/

/** The first that fits a value is its reason. */
export const reasons: readonly Reason[] = [
  { types: anyType, values: /^" .* "$/, text: 'Blanks around a value are no part of it.' },
  { types: /^String/, values: /^null$/, text: 'NULL is no text: it stays NULL, takes the DEFAULT, or is set aside.' },
  {
    types: /^FixedString/,
    values: /^(?:12|true)$/,
    text: 'Numbers and booleans are texts as they are written, as for String.',
  },
  { types: numbers, values: /^""$/, text: 'An empty text is no number.' },
  { types: numbers, values: /^"true"$/, text: 'A text is no boolean for a number; a boolean is 1 or 0.' },
  { types: /^U?Int/, values: /^"?1(?:\.0|e2)"?$/, text: 'What is exactly an integer is one, however it is written.' },
  { types: /^U?Int/, values: /\d{3}/, text: 'Out of range is set aside; ClickHouse wraps around.' },
  { types: /^Float/, values: /^1e\d+$/, text: 'Out of range is set aside: infinite is only what says so.' },
  {
    types: /^Bool/,
    values: /./,
    text: 'The usual words are taken in any case, quoted or not, and numbers that are 1 or 0.',
  },
  { types: /^IPv4/, values: /^"0/, text: 'Zeros in front make an octet octal to some.' },
  { types: /^Enum/, values: /^2\.0$/, text: 'What is exactly an integer is one, however it is written.' },
  { types: timeTypes, values: /02-30|24:00|:60/, text: 'There is no such day, or no such time of the day.' },
  {
    types: timeTypes,
    values: /1899|1969|2150|2300|^-86400$/,
    text: 'Out of range is set aside, and a Date32 has the day of an instant; ClickHouse takes the nearest end, or what the type cannot be read back as.',
  },
  {
    types: timeTypes,
    values: /Jan|\/2024/,
    text: 'Names of months are not read, and 01/02/2024 is another day to others.',
  },
  { types: timeTypes, values: /^true$/, text: 'A boolean is no time.' },
  {
    types: timeTypes,
    values: /^"-?\d+(?:\.\d+)?"$/,
    text: 'How many digits there are tells what they are (see above); basic takes any number for seconds, best_effort four and six digits for a year and a month.',
  },
  {
    types: timeTypes,
    values: /^-?[\d.e]+$/,
    text: 'A number is an instant whose unit its size tells, a small one in a column of days a day; ClickHouse takes days, seconds or ticks by the type. In CSV it is a text of digits.',
  },
  {
    types: momentTypes,
    values: /./,
    text: 'ISO 8601 and common spellings are taken as best_effort does; basic reads `YYYY-MM-DD hh:mm:ss` alone.',
  },
  {
    types: timeTypes,
    values: /./,
    text: 'The day of an instant is a day, in UTC where an offset is written; ClickHouse reads nothing after the day.',
  },
  {
    types: /^Array/,
    values: /\[(?:256|null)\]/,
    text: 'What an element cannot be sets the row aside; ClickHouse wraps around, or takes 0.',
  },
  { types: /^Array/, values: /^1$/, text: 'One value is no list of it.' },
  { types: /^Array/, values: /"1"/, text: 'An element is taken as a value alone is.' },
  { types: /^Map/, values: /null/, text: 'NULL is no value of a Map.' },
  { types: /^Map/, values: /"a".*"a"/, text: 'Of a key that repeats the last one counts.' },
  { types: /^Tuple/, values: /^\{"a": 1\}$/, text: 'A field that is missing is set aside, but for Nullable.' },
  {
    types: /^(?:Array|Map|Tuple|JSON)/,
    values: /./,
    text: 'A text may hold the value, as JSON or as ClickHouse writes it, a field of CSV too; a Tuple may be a list.',
  },
]

function sampled(type: string, ...samples: readonly string[]): SampledType {
  return { type, samples }
}

const times: readonly string[] = [
  ...['"2024-01-15"', '"2024-01-15 10:00:00"', '"2024-01-15T10:00:00.123456Z"', '"2024-01-15 10:00:00+01:00"'],
  ...['"2024-01-15 10:00"', '"2024-01-15 10:00:00 UTC"', '"2024-01-15 10:00:00 +0100"', '"2024-01-15 10:00:00 Z"'],
  ...['"2024/01/15"', '"2024-1-5"', '"2024-01-15 9:00:00"', '"20240115"', '"20240115100000"', '"20240115T100000Z"'],
  ...['"0"', '"2024"', '"19737"', '"202401"', '"170531280"', '"1705312800"', '"1705312800.5"', '"17053128000"'],
  ...['"1705312800123"', '"1705312800123456"', '"1705312800123456789"', '"-1705312800"'],
  ...['0', '2024', '20240115', '1705312800', '1705312800.5', '1.7053128e9', '1705312800123', '-86400'],
  ...['"1969-12-31 23:59:59"', '"1899-12-31"', '"2150-01-01"', '"2300-01-01"', '"2024-02-30"', '"2024-01-15 24:00:00"'],
  ...['"2024-01-15 10:00:60"', '"15/01/2024"', '"Jan 15 2024"', '" 2024-01-15 "', '""', 'true'],
]
const wholes: readonly string[] = [
  ...[
    '1',
    '-1',
    '1.0',
    '1e2',
    '1.5',
    '"1"',
    '" 1 "',
    '"+1"',
    '"007"',
    '"1.0"',
    '"1e2"',
    '"1.5"',
    '"0x1"',
    '"1,000"',
    '""',
  ],
  ...[
    'true',
    '"true"',
    '255',
    '256',
    '18446744073709551615',
    '18446744073709551616',
    '"9223372036854775808"',
    '-9223372036854775808',
  ],
]
const floats: readonly string[] = [
  ...[
    '1',
    '0.1',
    '1e300',
    '1e-300',
    '1e400',
    '16777217.000000001',
    '"1.5"',
    '" 1.5 "',
    '".5"',
    '"5."',
    '"1e5"',
    '"nan"',
    '"inf"',
  ],
  ...['"-Infinity"', '"1,5"', '""', 'true', '"true"', '[1]'],
]

export const sampledTypes: readonly SampledType[] = [
  sampled('String', '"text"', '""', '"\\\\N"', '1.50', 'true', '[1, 2]', '{"a": 1}', 'null'),
  sampled('FixedString(4)', '"abcd"', '"é"', '"abcde"', '""', '12', 'true'),
  sampled('Int8', ...wholes),
  sampled('UInt64', ...wholes),
  sampled('Int256', ...wholes),
  sampled('Float32', ...floats),
  sampled('Float64', ...floats),
  sampled(
    'Decimal(9, 2)',
    '1',
    '1.999',
    '-1.999',
    '1e3',
    '9999999.99',
    '10000000',
    '"1.5"',
    '" 1.5 "',
    '"+1"',
    '"1e3"',
    '"1,5"',
    '""',
    'true',
    '"nan"',
  ),
  sampled(
    'Bool',
    'true',
    'false',
    '1',
    '0',
    '1.0',
    '2',
    '"true"',
    '"False"',
    '"yes"',
    '"N"',
    '"on"',
    '"1"',
    '" 1 "',
    '"2"',
    '""',
  ),
  sampled(
    'UUID',
    '"61f0c404-5cb3-11e7-907b-a6006ad3dba0"',
    '"61F0C4045CB311E7907BA6006AD3DBA0"',
    '"{61f0c404-5cb3-11e7-907b-a6006ad3dba0}"',
    '"61f0c404"',
    '""',
    '1',
  ),
  sampled('IPv4', '"1.2.3.4"', '" 1.2.3.4 "', '"01.2.3.4"', '"1.2.3"', '"::ffff:1.2.3.4"', '""', '16909060'),
  sampled(
    'IPv6',
    '"2001:db8::1"',
    '"::ffff:1.2.3.4"',
    '"1.2.3.4"',
    '"2001:DB8::A"',
    '"1::2::3"',
    '"fe80::1%eth0"',
    '""',
    '1',
  ),
  sampled(
    "Enum8('low' = 1, 'high' = 2)",
    '"low"',
    '1',
    '2.0',
    '"1"',
    '" 1 "',
    '"Low"',
    '" low"',
    '"3"',
    '3',
    '""',
    'true',
  ),
  sampled('Date', ...times),
  sampled('Date32', ...times),
  sampled('DateTime', ...times),
  sampled('DateTime64(3)', ...times),
  sampled('Array(UInt8)', '[1, 2]', '["1", 2.0]', '[]', '[256]', '[null]', '"[1, 2]"', '"(1, 2)"', '""', '1'),
  sampled(
    'Map(String, Int32)',
    '{"a": 1}',
    '{"a": "1"}',
    '{}',
    '{"a": null}',
    '{"a": 1, "a": 2}',
    '"{\'a\': 1}"',
    '[1]',
    '""',
  ),
  sampled('Tuple(a Int32, b String)', '{"a": 1, "b": "x"}', '[1, "x"]', '{"a": 1}', '"(1, \'x\')"', '[1]', '""'),
  sampled('JSON', '{"a": 1}', '{"a": {"b": [1, "x"]}}', '"{\\"a\\": 1}"', '{}', '[1]', '1', '""'),
]
