// What a caller reads of a wrong query: what is wrong, where it is written as far as that is one place, and nothing that the
// caller did not write.

import t from 'tap'
import { openTestService } from '../support/api/test-service.ts'

const service = await openTestService(t, { queryTimeMaxMs: 5_000 })
const columns = 'id UInt32, name String, at DateTime, tags Array(String), price Decimal(10, 2), uid UUID, user String'
await service.create('ev', columns, { engine_sorting_key: 'id' })
await service.append('ev', 'csv', '1,abc,2026-01-01 00:00:00,"[\'x\']",1.50,61f0c404-5cb3-11e7-907b-a6006ad3dba0,ann\n')
await service.create('users', 'uid UInt32, label String')
await service.append('users', 'csv', '1,one\n')

await service.create('words', 'k UInt32, v String', {
  engine: 'Join',
  engine_join_strictness: 'ANY',
  engine_join_type: 'LEFT',
  engine_key_columns: 'k',
})
await service.create('nothing', 'k UInt32', { engine: 'Null' })

const told: readonly (readonly [sql: string, error: string])[] = [
  // The caller's own texts.
  ["SELECT throwIf(1, 'In scope SELECT 1')", 'In scope SELECT 1. (FUNCTION_THROW_IF_VALUE_IS_NON_ZERO)'],
  [
    "SELECT throwIf(id = 1, 'bad in query SELECT x') FROM ev",
    'bad in query SELECT x. (FUNCTION_THROW_IF_VALUE_IS_NON_ZERO)',
  ],
  [
    "SELECT throwIf(1, 'x: while executing ''FUNCTION throwIf(y')",
    "x: while executing 'FUNCTION throwIf(y. (FUNCTION_THROW_IF_VALUE_IS_NON_ZERO)",
  ],
  ["SELECT throwIf(1, '__table1.x')", '__table1.x. (FUNCTION_THROW_IF_VALUE_IS_NON_ZERO)'],
  [
    "SELECT throwIf(1, 'Maybe you meant: ''_part''')",
    "Maybe you meant: '_part'. (FUNCTION_THROW_IF_VALUE_IS_NON_ZERO)",
  ],
  ["SELECT throwIf(1, 'all (version 3) of it')", 'all (version 3) of it. (FUNCTION_THROW_IF_VALUE_IS_NON_ZERO)'],
  [
    "SELECT toUInt8('not In scope of this')",
    "Cannot parse string 'not In scope of this' as UInt8: syntax error at begin of string. Note: there are toUInt8OrZero and toUInt8OrNull functions, which returns zero/NULL instead of throwing exception. (CANNOT_PARSE_TEXT)",
  ],
  // Types.
  [
    'SELECT id + name FROM ev',
    'Illegal types UInt32 and String of arguments of function plus (line 1, column 11). (ILLEGAL_TYPE_OF_ARGUMENT)',
  ],
  [
    'SELECT arrayMap(x -> x + 1, tags) FROM ev',
    'Illegal types String and UInt8 of arguments of function plus (line 1, column 24). (ILLEGAL_TYPE_OF_ARGUMENT)',
  ],
  [
    'SELECT length(id) FROM ev',
    'Illegal type UInt32 of argument of function length (line 1, column 8). (ILLEGAL_TYPE_OF_ARGUMENT)',
  ],
  [
    "SELECT id\nFROM ev WHERE id = 'a'",
    "Cannot convert string 'a' to type UInt32, in function 'equals' (line 2, column 18). (TYPE_MISMATCH)",
  ],
  // Tables that the engine tells with an id of its own, and columns that it makes.
  ['SELECT * FROM words PREWHERE k = 1', "The engine Join of 'words' does not support PREWHERE. (ILLEGAL_PREWHERE)"],
  [
    'SELECT * FROM nothing PREWHERE k = 1',
    "The engine Null of 'nothing' does not support PREWHERE. (ILLEGAL_PREWHERE)",
  ],
  [
    'SELECT * FROM users INNER JOIN words ON uid = k',
    "Table 'words' has incompatible type of JOIN. (INCOMPATIBLE_TYPE_OF_JOIN)",
  ],
  [
    'SELECT * FROM users ANY LEFT JOIN words ON uid = k + 1',
    'A JOIN with a Data Source of the engine Join compares its key columns (k), and nothing else of it. (INCOMPATIBLE_TYPE_OF_JOIN)',
  ],
  // Divisions.
  ['SELECT intDiv(id, 0) FROM ev', "Division by zero, in function 'intDiv' (line 1, column 8). (ILLEGAL_DIVISION)"],
  ['SELECT id % 0 FROM ev', "Division by zero, in function 'modulo' (line 1, column 11). (ILLEGAL_DIVISION)"],
  ['SELECT intDiv(id, 0), intDiv(2, id) FROM ev', "Division by zero, in function 'intDiv'. (ILLEGAL_DIVISION)"],
  // Casts.
  [
    'SELECT id,\n  toUInt32(name) FROM ev',
    "Cannot parse string 'abc' as UInt32: syntax error at begin of string, in function 'toUInt32'. Note: there are toUInt32OrZero and toUInt32OrNull functions, which returns zero/NULL instead of throwing exception (line 2, column 3). (CANNOT_PARSE_TEXT)",
  ],
  [
    'SELECT toDate(name) FROM ev',
    "Cannot parse date: value is too short: Cannot parse Date from String, in function 'toDate' (line 1, column 8). (CANNOT_PARSE_DATE)",
  ],
  [
    "SELECT parseDateTime(name, '%Y') FROM ev",
    "Unable to parse fragment %Y from abc because it has fewer than 4 characters, in function 'parseDateTime' (line 1, column 8). (CANNOT_PARSE_DATETIME)",
  ],
  ['SELECT CAST(1 AS Foo)', "Syntax error at line 1, column 18: Unknown type 'Foo'"],
  // Columns.
  [
    'SELECT nme FROM ev',
    "Unknown expression identifier `nme` (line 1, column 8). Maybe you meant: ['name']. (UNKNOWN_IDENTIFIER)",
  ],
  [
    'SELECT ev.nme FROM ev',
    "Identifier 'ev.nme' cannot be resolved from table with name ev (line 1, column 8). Maybe you meant: ['ev.name']. (UNKNOWN_IDENTIFIER)",
  ],
  ['SELECT _partt FROM ev', 'Unknown expression identifier `_partt` (line 1, column 8). (UNKNOWN_IDENTIFIER)'],
  [
    'SELECT b + 1 AS a, a + 1 AS b',
    'Unknown expression or function identifier `a` (line 1, column 17). (UNKNOWN_IDENTIFIER)',
  ],
  // Aggregates and windows.
  [
    'SELECT sum(name) FROM ev',
    'Illegal type String of argument for aggregate function sum (line 1, column 8). (ILLEGAL_TYPE_OF_ARGUMENT)',
  ],
  [
    'SELECT id FROM ev WHERE count() > 1',
    'Aggregate function count() is found in WHERE in query (line 1, column 25). (ILLEGAL_AGGREGATION)',
  ],
  [
    'SELECT row_number() FROM ev',
    "The function 'row_number' can only be used as a window function, not as an aggregate function (line 1, column 8). (BAD_ARGUMENTS)",
  ],
  // Joins.
  [
    'SELECT uid FROM ev JOIN users USING (uid)',
    "INNER JOIN ... USING (uid) cannot infer common type for UUID and UInt32 in USING for identifier 'uid' (line 1, column 8). (NO_COMMON_TYPE)",
  ],
  [
    'SELECT a.id FROM ev a ASOF JOIN users b ON a.id = b.uid',
    'ASOF join requires one inequality predicate in JOIN ON expression. (INVALID_JOIN_ON_EXPRESSION)',
  ],
  ['SELECT id FROM ev ARRAY JOIN id', 'ARRAY JOIN takes an Array or a Map, and id is UInt32. (TYPE_MISMATCH)'],
  // Syntax that only the engine refuses.
  [
    'SELECT concat(id, name, ) FROM ev',
    'Syntax error: failed at line 1, column 25: ). Expected one of: NOT, INTERVAL, CASE, DATE, TIMESTAMP, tuple, array, number, literal, NULL, Bool, TRUE, FALSE, string literal, asterisk, identifier, COLUMNS, function name. (SYNTAX_ERROR)',
  ],
  [
    "SELECT extract(name, '[') FROM ev",
    "The regular expression '[' cannot be read, in function 'extract': missing ]: [. Its syntax is that of RE2; in a text of SQL write \\\\ for each \\ (line 1, column 8). (CANNOT_COMPILE_REGEXP)",
  ],
]

for (const [sql, error] of told) {
  t.test(sql, async (t) => {
    const { status, json } = await service.call('POST', '/v0/sql', { body: sql })
    t.equal(status, 400)
    // Every answer of an error has its message there.
    t.equal((json as { readonly error: string }).error, error)
  })
}

t.test('who calls an endpoint with a column that is not there is not told those that are', async (t) => {
  const form = new URLSearchParams({ name: 'top', sql: "% SELECT {{column(by, 'id')}} FROM ev" }).toString()
  t.match(await service.call('POST', '/v0/pipes', { body: form }), { status: 200 })
  t.match(await service.call('POST', '/v0/pipes/top/nodes/top_0/endpoint'), { status: 200 })
  const { text } = await service.call('GET', '/v0/pipes/top.json?by=nme')
  t.match(text, /Unknown expression identifier `nme`/)
  t.notMatch(text, /Maybe you meant/)
})

t.test('lines of a template are counted from its first, though nothing stands in front of its mark', async (t) => {
  const sql = (text: string) => service.call('POST', '/v0/sql', { body: text })
  t.match(await sql('\n\n  %\nSELECT 1, nope'), { json: { error: /`nope` \(line 4, column 11\)/ } })
  t.match(await sql('\n\n%\nSELECT (1'), { json: { error: /line 4/ } })
  const form = new URLSearchParams({ name: 'low', sql: '\n\n%\nSELECT 1 AS a,\n nope' }).toString()
  t.match(await service.call('POST', '/v0/pipes', { body: form }), { json: { error: /`nope` \(line 5, column 2/ } })
})

t.test('a text that is cut in the middle of a letter is JSON in every format of JSON', async (t) => {
  for (const format of ['JSON', 'JSONCompact', 'JSONEachRow', 'JSONCompactEachRow', 'JSONStringsEachRow']) {
    const sql = `SELECT substring('na\u00efve', 1, 3) AS x, unhex('ff41') AS y, map(unhex('80'), 1) AS z FORMAT ${format}`
    const { status, text } = await service.call('POST', '/v0/sql', { body: sql })
    t.equal(status, 200, format)
    t.match(text, /"na\ufffd"/, format)
    t.doesNotThrow(() => JSON.parse(text), format)
  }
})
