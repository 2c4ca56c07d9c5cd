import t from 'tap'
import { compileQuery } from '../../src/sql/compile-query.ts'

function compile(sql: string): string {
  return compileQuery(sql, { scope: { find: () => undefined } }).sql
}

t.test('a structure text reaches the engine as names and types alone, written again', async (t) => {
  const cases: readonly (readonly [string, string])[] = [
    ["SELECT * FROM values('a Int8, b String', (1, 'x'))", "values('`a` Int8, `b` String', (1, 'x'))"],
    ["SELECT * FROM values('a Int8', 1, 2)", "values('`a` Int8', 1, 2)"],
    ["SELECT * FROM values(('a Int8'), 1)", "values('`a` Int8', 1)"],
    ["SELECT * FROM values('a  /* b */ Int8 -- c', 1)", "values('`a` Int8', 1)"],
    ["SELECT * FROM null('a Nullable(String)')", "null('`a` Nullable(String)')"],
    ["SELECT * FROM generateRandom('a Array(UInt8)', 1, 2, 3)", "generateRandom('`a` Array(UInt8)', 1, 2, 3)"],
    [
      "SELECT * FROM generateRandom('e Enum8(\\'it\\\\\\'s\\' = -1), `odd name` Tuple(x DOUBLE PRECISION, String)')",
      "generateRandom('`e` Enum8(\\'it\\\\\\'s\\' = -1), `odd name` Tuple(x DOUBLE PRECISION, String)')",
    ],
    ["WITH 'a Int8' AS s SELECT * FROM values(s, 1)", "values('`a` Int8', 1)"],
    ["WITH ('a Int8') AS s SELECT * FROM null((`s`))", "null('`a` Int8')"],
    [
      "SELECT * FROM null('s AggregateFunction(quantiles(0.5, 0.9), Float64), t SimpleAggregateFunction(max, UInt8)')",
      "null('`s` AggregateFunction(quantiles(0.5, 0.9), Float64), `t` SimpleAggregateFunction(max, UInt8)')",
    ],
    [
      "SELECT * FROM null('j JSON(max_dynamic_paths = 3, a.b UInt8, SKIP c, SKIP REGEXP \\'d\\'), v Variant(UInt8, String)')",
      "null('`j` JSON(max_dynamic_paths = 3, a.b UInt8, SKIP c, SKIP REGEXP \\'d\\'), `v` Variant(UInt8, String)')",
    ],
  ]
  for (const [sql, expected] of cases) t.ok(compile(sql).endsWith(`FROM ${expected}`), compile(sql))
})

t.test('values without a structure stay rows', async (t) => {
  const cases: readonly (readonly [string, string])[] = [
    ["SELECT * FROM values('Hello, world!', 'b')", "values('c1 String', 'Hello, world!', 'b')"],
    ["SELECT * FROM values('a UInt8 ALIAS 1', 'b')", "values('c1 String', 'a UInt8 ALIAS 1', 'b')"],
    ["SELECT * FROM values('a Int8')", "values('c1 String', 'a Int8')"],
    ["SELECT * FROM values((1, 'a Int8'), (2, 'b'))", "values((1, 'a Int8'), (2, 'b'))"],
    ['SELECT * FROM values([1], [2])', 'values([1], [2])'],
    ['SELECT * FROM values(-1, 2.5)', 'values(-1, 2.5)'],
    ['SELECT * FROM values(NULL, 1)', 'values(NULL, 1)'],
    ["SELECT * FROM (VALUES ('a Int8'), ('b'))", "(VALUES ('a Int8'), ('b'))"],
    ['SELECT * FROM generateRandom(1)', 'generateRandom(1)'],
    ['SELECT * FROM generateRandom()', 'generateRandom()'],
  ]
  for (const [sql, expected] of cases) t.ok(compile(sql).endsWith(`FROM ${expected}`), compile(sql))
})

t.test('a structure text that is more than names and types is refused with its place', async (t) => {
  const file = "file(\\'/etc/passwd\\')"
  const cases: readonly (readonly [string, RegExp])[] = [
    [
      `SELECT a FROM values('x UInt8, a String ALIAS ${file}', 1)`,
      /values\(\).*names and types alone.*"ALIAS" at char/,
    ],
    [`SELECT a FROM values('x UInt8, a String DEFAULT ${file}', (1, 'b'))`, /names and types alone/],
    [`SELECT a FROM values('x UInt8, a String MATERIALIZED ${file}', 1)`, /names and types alone/],
    [`SELECT a FROM values('x UInt8, a EPHEMERAL ${file}', 1)`, /Unknown type 'EPHEMERAL'/],
    [`SELECT a FROM values('x UInt8, a DEFAULT ${file}', 1)`, /Unknown type 'DEFAULT'/],
    [`SELECT a FROM values('x UInt8 TTL toDate(${file})', 1)`, /names and types alone/],
    ["SELECT a FROM values('x UInt8 CODEC(ZSTD)', 1)", /names and types alone/],
    ["SELECT a FROM values('x UInt8 COMMENT \\'c\\'', 1)", /names and types alone/],
    ["SELECT a FROM values('x UInt8 NULL', 1)", /names and types alone/],
    ["SELECT a FROM values('x UInt8 SETTINGS (a = 1)', 1)", /names and types alone/],
    ["SELECT a FROM values('x UInt8, INDEX i x TYPE minmax', 1)", /Unknown type 'i'/],
    [`SELECT a FROM values('x UInt8, CONSTRAINT c CHECK ${file} = 1', 1)`, /Unknown type 'c'/],
    ["SELECT a FROM values('x UInt8,', 1)", /expected the name of a column/],
    ["SELECT a FROM values('x', 1)", /expected a type/],
    ["SELECT a FROM values('', 1)", /expected the name of a column/],
    ["SELECT a FROM values('x UInt8; SELECT 1', 1)", /names and types alone/],
    ["SELECT a FROM values('x Foo', 1)", /Unknown type 'Foo'/],
    [`SELECT a FROM null('x AggregateFunction(topK(${file}), String)')`, /expected a literal in a type/],
    ["SELECT a FROM null('x AggregateFunction(file, String)')", /'file' is not a known aggregate function/],
    [`SELECT a FROM null('x FixedString(${file})')`, /expected a literal in a type/],
    [`SELECT a FROM null('x Enum8(${file} = 1)')`, /expected a literal in a type/],
    [`SELECT a FROM null('x DateTime(${file})')`, /expected a literal in a type/],
    [`SELECT a FROM null('x Decimal(${file}, 1)')`, /expected a literal in a type/],
    [`SELECT a FROM null('x JSON(max_dynamic_paths = ${file})')`, /expected a literal in a type/],
    [`SELECT a FROM null('x JSON(SKIP REGEXP ${file})')`, /null\(\)/],
    [`SELECT a FROM null('x Tuple(a String DEFAULT ${file})')`, /expected \)/],
    ["SELECT a FROM null('x Array(SELECT 1)')", /Unknown type/],
    ['SELECT a FROM generateRandom(1 + 1)', /must be its structure as one text in quotes/],
    ["SELECT a FROM generateRandom(concat('a String ALIAS ', 'hostName()'))", /must be its structure as one text/],
    ["SELECT a FROM generateRandom('a String' || '')", /must be its structure as one text/],
    ["SELECT a FROM generateRandom('a String'::String)", /must be its structure as one text/],
    ["SELECT a FROM generateRandom(['a String ALIAS 1'][1])", /must be its structure as one text/],
    ["SELECT a FROM generateRandom((SELECT 'a String ALIAS 1'))", /must be its structure as one text/],
    ["SELECT a FROM values(['a String ALIAS 1'][1], 1)", /or a row of literals/],
    ["SELECT a FROM values((1, 'a String ALIAS 1').2, 1)", /or a row of literals/],
    ["SELECT a FROM values(concat('a String', ' ALIAS 1'), 1)", /or a row of literals/],
    ["SELECT a FROM values(CAST('a String ALIAS 1' AS String), 1)", /or a row of literals/],
    ["SELECT a FROM values(x'61205374', 1)", /x'61205374' is not allowed here/],
    ["SELECT a FROM null('\\xff')", /two hex digits/],
    [`WITH 'a String ALIAS ${file}' AS s SELECT a FROM values(s, 1)`, /names and types alone/],
    [`WITH 'a String ALIAS ${file}' AS s SELECT a FROM null(s)`, /names and types alone/],
    ["WITH concat('a', ' String') AS s SELECT a FROM null(s)", /must be its structure as one text/],
    ["WITH 'a String' AS s, 'b String ALIAS 1' AS s SELECT a FROM null(s)", /must be its structure as one text/],
    ["SELECT (SELECT 1 FROM null(s)) FROM (SELECT 'a String' AS s, 'b' AS s)", /must be its structure as one text/],
    ['SELECT a FROM null(s)', /must be its structure as one text/],
    ['SELECT a FROM null(s.t)', /must be its structure as one text/],
  ]
  for (const [sql, message] of cases) t.throws(() => compile(sql), { message, status: 400 }, sql)
})
