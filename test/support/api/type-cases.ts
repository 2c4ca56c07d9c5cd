/** Type, value as JSON, cell of a CSV file between its quotes, and what a query answers as TSV. */
export const typeCases: readonly (readonly [string, string, string, string])[] = [
  ['Int8', '-128', '-128', '-128'],
  ['Int16', '"32767"', '32767', '32767'],
  ['Int32', '-2147483648', '-2147483648', '-2147483648'],
  ['Int64', '-9223372036854775808', '-9223372036854775808', '-9223372036854775808'],
  ['Int128', '"170141183460469231731687303715884105727"', ...twice('170141183460469231731687303715884105727')],
  ['Int256', `-${'9'.repeat(70)}`, ...twice(`-${'9'.repeat(70)}`)],
  ['UInt8', '255', '255', '255'],
  ['UInt16', '6.5535e4', '65535', '65535'],
  ['UInt32', '4294967295', '4294967295', '4294967295'],
  ['UInt64', '18446744073709551615', ...twice('18446744073709551615')],
  ['UInt128', '340282366920938463463374607431768211455', ...twice('340282366920938463463374607431768211455')],
  ['UInt256', `"${'8'.repeat(77)}"`, ...twice('8'.repeat(77))],
  ['Float32', '0.1', '0.1', '0.1'],
  ['Float64', '-1.7976931348623157e308', ...twice('-1.7976931348623157e308')],
  ['Float64', '"5e-324"', '5e-324', '5e-324'],
  ['Decimal(18, 4)', '12345678901234.5678', ...twice('12345678901234.5678')],
  ['Decimal(76, 38)', '"-0.00000000000000000000000000000000000001"', ...twice(`-0.${'0'.repeat(37)}1`)],
  ['Bool', 'true', 'true', 'true'],
  ['Bool', '0', '0', 'false'],
  ['String', '"tab\\t, \\"quote\\", \\u00fc \\ud83d\\ude00"', 'tab\t, ""quote"", ü 😀', 'tab\\t, "quote", ü 😀'],
  ['String', '{"kept": [1, 2.50]}', '{""kept"": [1, 2.50]}', '{"kept": [1, 2.50]}'],
  ['FixedString(3)', '"abc"', 'abc', 'abc'],
  ['UUID', '"61F0C404-5CB3-11E7-907B-A6006AD3DBA0"', ...twice('61f0c404-5cb3-11e7-907b-a6006ad3dba0')],
  ['Date', '"2024-02-29"', '2024-02-29', '2024-02-29'],
  ['Date32', '"1925-01-02"', '1925-01-02', '1925-01-02'],
  ['DateTime', '"2024-02-29T23:59:58+02:00"', '2024-02-29T23:59:58+02:00', '2024-02-29 21:59:58'],
  ['DateTime', '1709251198', '1709251198', '2024-02-29 23:59:58'],
  ["DateTime('Europe/Madrid')", '"2024-07-01T10:00:00Z"', '2024-07-01 12:00:00', '2024-07-01 12:00:00'],
  ['DateTime64(3)', '"2024-02-29T23:59:58.123456Z"', '2024-02-29 23:59:58.123', '2024-02-29 23:59:58.123'],
  ["DateTime64(9, 'Asia/Tokyo')", '"2024-02-29T15:00:00.123456789Z"', ...twice('2024-03-01 00:00:00.123456789')],
  ["Enum8('click' = 1, 'it''s' = -2)", '"it\'s"', "it's", "it\\'s"],
  ["Enum16('a' = 1000, 'b' = 2000)", '"b"', 'b', 'b'],
  ['IPv4', '"192.168.0.1"', '192.168.0.1', '192.168.0.1'],
  ['IPv6', '"2001:DB8::1"', '2001:db8::1', '2001:db8::1'],
  ['LowCardinality(String)', '"word"', 'word', 'word'],
  ['LowCardinality(Nullable(String))', '"word"', 'word', 'word'],
  ['LowCardinality(Nullable(String))', 'null', '', '\\N'],
  ['Nullable(Int32)', '5', '5', '5'],
  ['Nullable(Int32)', 'null', '', '\\N'],
  ['Nullable(DateTime64(6))', '"2024-02-29 23:59:58.5"', '2024-02-29 23:59:58.5', '2024-02-29 23:59:58.500000'],
  ['Array(Int32)', '[1, -2, "3"]', '[1, -2, 3]', '[1,-2,3]'],
  ['Array(String)', '["a", "it\'s", ""]', "['a', 'it\\'s', '']", "['a','it\\'s','']"],
  ['Array(Array(Nullable(Float64)))', '[[1.5, null], []]', '[[1.5, null], []]', '[[1.5,NULL],[]]'],
  ['Map(String, UInt8)', '{"a": 1, "b c": 2}', '{""a"": 1, ""b c"": 2}', "{'a':1,'b c':2}"],
  ['Map(LowCardinality(String), Array(UInt8))', '{"a": [1, 2]}', '{""a"": [1, 2]}', "{'a':[1,2]}"],
  ['Tuple(x Float64, y Nullable(String))', '{"x": 1.5, "y": null}', '{""x"": 1.5, ""y"": null}', '(1.5,NULL)'],
  ['Tuple(UInt8, String)', '[1, "a"]', '[1, ""a""]', "(1,'a')"],
  ['Array(Tuple(k String, v UInt8))', '[{"k": "a", "v": 1}]', '[{""k"": ""a"", ""v"": 1}]', "[('a',1)]"],
  ['JSON', ...json('{"a":{"b":[1,"2024-02-30"]},"d":"2024-02-30","t":true}')],
  ['JSON(a UInt8)', ...json('{"a":7,"list":["2024-02-28","2024-02-28 10:00:00","x"]}')],
  ['SimpleAggregateFunction(sum, UInt64)', '7', '7', '7'],
  ['SimpleAggregateFunction(anyLast, Nullable(String))', '"z"', 'z', 'z'],
]

/** The same in a file and in an answer. */
function twice(text: string): readonly [string, string] {
  return [text, text]
}

function json(text: string): readonly [string, string, string] {
  return [text, text.replaceAll('"', '""'), text]
}
