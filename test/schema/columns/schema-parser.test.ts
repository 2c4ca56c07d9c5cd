import t, { type Test } from 'tap'
import type { ColumnDefinition } from '../../../src/schema/columns/column-definition.types.ts'
import { SchemaError } from '../../../src/schema/columns/schema-error.ts'
import { formatSchema, parseSchema } from '../../../src/schema/columns/schema-parser.ts'
import { columnsClause, engineClause } from '../../../src/schema/definitions/table-definition.ts'
import { EngineSession } from '../../support/catalog/engine-session.ts'
import { SeededRandom, testSeed } from '../../support/seeded-random.ts'
import { byTier } from '../../support/tier.ts'

const limits = { columnsMax: 500 }

/** Schemas that are taken, by us and by the engine; the first ones are in the styles of real projects. */
const accepted: readonly string[] = [
  '`id` UUID `json:$.Id`, `key` String `json:$.Key`',
  'timestamp DateTime `json:$.timestamp`,\n    session_id String `json:$.session_id`,\n    payload String `json:$.payload`',
  '  `a` String,\n  `b` Int64,\n',
  'ts DateTime64(3) `json:$.ts` DEFAULT now64(3) CODEC(DoubleDelta, ZSTD(1))',
  'ts DateTime64(9) CODEC(Delta(8), ZSTD(1)) DEFAULT now64(9) `json:$.ts`',
  "name LowCardinality(String) DEFAULT 'unknown' `json:$.name`",
  'tags Array(String) `json:$.tags[:]` DEFAULT []',
  'labels Map(LowCardinality(String), String) `json:$.labels` CODEC(ZSTD(1))',
  'items Array(Map(String, String)) `json:$.items[:]`',
  'prices Array(Nullable(Float64)) `json:$.items[:].price`',
  'raw String `json:$`',
  'raw JSON `json:$`',
  'deep String `json:$.a.b.c.d`',
  "payload String DEFAULT '{}'",
  'day Date DEFAULT toDate(ts), ts DateTime DEFAULT now()',
  "full_name String DEFAULT concat(first, ' ', last), first String, last String",
  'n UInt8 DEFAULT 1, m Int16 DEFAULT -1, x Float32 DEFAULT 1.5e-3, h UInt32 DEFAULT 0x1F',
  "kind Enum8('a' = 1, 'b' = 2) DEFAULT 'a'",
  "kind Enum('click', 'view', 'it''s, (odd)') `json:$.kind`",
  'visits AggregateFunction(count), users AggregateFunction(uniq, String), day Date',
  'total SimpleAggregateFunction(sum, UInt64), last SimpleAggregateFunction(max, DateTime64(3)), k String',
  'a Nullable(Int64) `json:$.a`, b LowCardinality(Nullable(String)) `json:$.b`, c Nullable(UUID), d Nullable(DateTime64(3))',
  'a Bool, b Date, c Date32, d IPv4, e IPv6, f UUID, g Float64, h JSON',
  'a Decimal(18, 4), b Decimal32(2), c Decimal256(10), d FixedString(16)',
  'a Int128, b UInt128, c Int256, d UInt256',
  'a Tuple(x Float64, y Float64), b Tuple(String, UInt8), c Array(Tuple(k String, v Array(UInt8)))',
  "t DateTime('Europe/Madrid'), u DateTime64(6, 'UTC')",
  'first_column String -- the first, with a comma\n, second_column String -- the last',
  '/* two columns */ a String /* one */, b /* two */ String',
  '-- a comment before\n a String',
  '# a comment of datafiles, with a comma\n a String, #! another\n # a third\n b String # the last',
  "a String DEFAULT 'x' -- not part of the default\n, b String",
  '`a b` String, `c-d` String, `é` String, `1` String, `#` String',
  '`a``b` String, `c\\`d` String, `e\\\\f` String, `g"h` String',
  '"double quoted" String, "a`b" String',
  'a String`json:$.a`,b String`json:$.b`',
  'a String `json:$.["a b"]`, b String `json:$[\'c\']`, c String `json:$.@type`, d String `json:$.user-agent`',
  'date Date, default String, key String, index UInt8, primary UInt8, order UInt8, table String, from String',
  'DEFAULT String, CODEC String, TTL String, NULL String',
  "select String, where String, comment String DEFAULT 'x', alias String, constraint_name String",
  'a String, A String',
  '_id String, __v UInt8, _distance String, _topic String, _parts UInt8, `a._id` String',
  'a UInt8 default 1 codec(ZSTD(1))',
  'a UInt8 DEFAULT b + 1, b UInt8 DEFAULT 3',
  'a UInt64 DEFAULT CAST(1 AS UInt64), b UInt8 DEFAULT 1::UInt8',
  "a String DEFAULT if(b IN (1, 2), 'x', 'y') CODEC(ZSTD(1)), b UInt8",
  "a UInt8 DEFAULT b NOT IN ('x', 'y'), b String, c UInt8 DEFAULT b IS NOT NULL, d UInt8 DEFAULT b LIKE 'a%'",
  'a UInt64 DEFAULT arrayMap(x -> x + 1, [1, 2])[1]',
  'a Date DEFAULT toDate(now()) + INTERVAL 1 DAY',
  "a String DEFAULT CASE WHEN b = 1 THEN 'x' ELSE 'y' END, b UInt8",
  "a UInt8 DEFAULT b = 'x' ? 1 : 2, b String",
  "a String DEFAULT 'it''s', b String DEFAULT 'it\\'s', c String DEFAULT '); DROP TABLE x; --'",
  'a String DEFAULT "b", b String DEFAULT `c d`, `c d` String',
  'a String DEFAULT NULL, b Nullable(String) DEFAULT NULL, c Nullable(UInt8) DEFAULT null CODEC(ZSTD(1))',
  "a Map(String, String) DEFAULT map('k', 'v'), b Array(UInt8) DEFAULT [1, 2], c Tuple(UInt8, String) DEFAULT (1, 'x')",
  "a UInt8 DEFAULT toHour(parseDateTimeBestEffort(JSONExtractString(b, 'ts', 'x'))), b String `json:$`",
  "a String DEFAULT splitByChar('.', b)[1], b String, c Float64 DEFAULT -b2 / 2 * (1 + 3) % 4, b2 Float64",
  'a UUID DEFAULT generateUUIDv4()',
  "a String DEFAULT b || '-' || b, b String",
  'a DateTime64(3) DEFAULT fromUnixTimestamp64Milli(b), b Int64',
  'a DateTime CODEC(DoubleDelta, LZ4), b Float32 CODEC(Gorilla, ZSTD(3)), c UInt8 CODEC(T64, LZ4HC(9)), d String CODEC(NONE)',
  'a LowCardinality(UInt8), b Array(LowCardinality(Nullable(Float64))), c Map(LowCardinality(UInt16), String)',
  '`a.b` String, `a.c` Array(UInt8), `a.d` Array(String)',
  'a Map(String, Array(Tuple(x UInt8, `y z` Nullable(String)))) DEFAULT map()',
  'a JSON(max_dynamic_paths=16, user.id UInt64, SKIP debug) `json:$.a`',
  'a SimpleAggregateFunction(groupUniqArrayArray, Array(String)) `json:$.a[:]`',
  'a Array(Array(UInt8)) `json:$.a`, b Array(String) `json:$.b`',
  'a String `json:$.x`, b String `json:$.x`, c UInt8 `json:$.x.y`',
  'a Tuple(x UInt8, y UInt8) `json:$`, b Map(String, String) `json:$`, c LowCardinality(String) `json:$`',
  ...['Int8', 'UInt16', 'Int32', 'UInt64', 'Float32', 'Bool', 'String', 'UUID', 'Date', 'Date32', 'IPv4', 'IPv6'].map(
    (type) => `a ${type}, b Nullable(${type}), c Array(${type}), d Map(String, ${type}), e Tuple(${type}, ${type})`,
  ),
  Array.from({ length: 500 }, (_, index) => `c${index} String`).join(','),
]

t.test('a schema gives its columns in their order', async (t) => {
  const schema = "`id` UUID `json:$.Id`, n Int8 DEFAULT concat(1, '),') `json:$.a[:].b`".replace('Int8', 'Array(Int8)')
  t.same(parseSchema(`${schema}, ts DateTime64(3) CODEC( Delta,ZSTD(1) )`, limits), [
    {
      name: 'id',
      typeText: 'UUID',
      type: { kind: 'uuid' },
      jsonPath: { keys: ['Id'], element: null },
      jsonPathText: '$.Id',
      defaultExpression: null,
      codec: null,
    },
    {
      name: 'n',
      typeText: 'Array(Int8)',
      type: { kind: 'array', element: { kind: 'integer', name: 'Int8', bits: 8, isSigned: true } },
      jsonPath: { keys: ['a'], element: ['b'] },
      jsonPathText: '$.a[:].b',
      defaultExpression: "concat(1, '),')",
      codec: null,
    },
    {
      name: 'ts',
      typeText: 'DateTime64(3)',
      type: { kind: 'dateTime64', scale: 3, zone: null },
      jsonPath: null,
      jsonPathText: null,
      defaultExpression: null,
      codec: 'Delta, ZSTD(1)',
    },
  ])
})

t.test('JSONPath, DEFAULT and CODEC stand in any order', async (t) => {
  const [path, fallback, codec] = ['`json:$.a`', "DEFAULT concat('a', `b c`)", 'CODEC(ZSTD(1))']
  const expected = parseSchema(`a String ${path} ${fallback} ${codec}`, limits)
  t.match(expected, [{ jsonPathText: '$.a', defaultExpression: "concat('a', `b c`)", codec: 'ZSTD(1)' }])
  for (const order of [
    [path, codec, fallback],
    [fallback, path, codec],
    [fallback, codec, path],
    [codec, path, fallback],
    [codec, fallback, path],
  ]) {
    t.same(parseSchema(`a String ${order.join(' ')}`, limits), expected, order.join(' '))
  }
})

t.test('the engine makes a table of every schema that we take', async (t) => {
  const engine = new EngineSession()
  t.teardown(() => engine.close())
  t.ok(accepted.length >= 80, `${accepted.length} schemas`)
  for (const schema of accepted) {
    const columns = parseSchema(schema, limits)
    const clause = engineClause({ name: 'MergeTree', options: {} }, columns)
    t.equal(engine.refusal(columnsClause(columns), clause), null, schema.slice(0, 200))
  }
})

t.test('arrays under one dotted name may differ in length', async (t) => {
  const engine = new EngineSession()
  t.teardown(() => engine.close())
  const columns = parseSchema('`a.b` Array(String), `a.c` Array(UInt8)', limits)
  engine.query(
    `CREATE TABLE dotted (${columnsClause(columns)}) ${engineClause({ name: 'MergeTree', options: {} }, columns)}`,
  )
  engine.query("INSERT INTO dotted SELECT ['x'], [1, 2, 3]")
  t.equal(engine.query('SELECT * FROM dotted'), "['x']\t[1,2,3]")
})

t.test('a schema is written as clients read it, and reads back as the same', async (t) => {
  t.equal(formatSchema(parseSchema('id UUID `json:$.Id`,key String `json:$.Key`', limits)), accepted[0])
  t.equal(
    formatSchema(parseSchema("a String DEFAULT 'x'\nCODEC(ZSTD(1)) `json:$.[\"a b\"]`, `b``c` Enum('x')", limits)),
    "`a` String `json:$.[\"a b\"]` DEFAULT 'x' CODEC(ZSTD(1)), `b\\`c` Enum8('x' = 1)",
  )
  for (const schema of accepted) {
    const columns = parseSchema(schema, limits)
    t.same(parseSchema(formatSchema(columns), limits), columns, schema.slice(0, 200))
  }
})

t.test('a wrong schema is refused with line and column', async (t) => {
  const refused: readonly (readonly [string, string])[] = [
    ['', 'The schema is empty at 1:1. Hint: write name Type, ….'],
    ['  -- nothing\n', 'The schema is empty at 1:1. Hint: write name Type, ….'],
    ['abc#d String', "Column name contains invalid character '#' at 1:4. Hint: use backticks."],
    ['my-column String', "Column name contains invalid character '-' at 1:3. Hint: use backticks."],
    ['a.b String', "Column name contains invalid character '.' at 1:2. Hint: use backticks."],
    ['año String', "Column name contains invalid character 'ñ' at 1:2. Hint: use backticks."],
    ['#comment\na String', "Column name contains invalid character '#' at 1:1. Hint: use backticks."],
    ["'a' String", "Column name contains invalid character ''' at 1:1. Hint: use backticks."],
    ['a String, 🦀 String', "Column name contains invalid character '🦀' at 1:11. Hint: use backticks."],
    ['1a String', "Column name '1a' begins with a digit at 1:1. Hint: use backticks."],
    ['`` String', 'Column name is empty at 1:1'],
    ['`a\\nb` String', 'Column name contains invalid character \\x0a at 1:1'],
    [`\`${'é'.repeat(128)}\` String`, 'Column name is longer than 255 bytes at 1:1'],
    ['a String,\n  b Strng', "Unknown type 'Strng' at 2:5"],
    ['a String,\r\n\tb Int', 'Int type is not supported at 2:4. Hint: use Int32 or another size, Int8 to Int256.'],
    ['a Boolean', 'Boolean type is not supported at 1:3. Hint: use Bool.'],
    ['a DateTime64', 'DateTime64 needs a precision at 1:3. Hint: use DateTime64(3) for milliseconds.'],
    ['a', "Column 'a' has no type at 1:2"],
    ['a, b String', "Column 'a' has no type at 1:2"],
    ['pk DEFAULT 1', "Column 'pk' has no type at 1:4. Hint: write the type before DEFAULT."],
    ['a String,, b String', 'Expected a column at 1:10'],
    [', a String', 'Expected a column at 1:1'],
    ['a String, a UInt8', "Column 'a' stands twice at 1:11"],
    ['c__error String', "Column name 'c__error' is reserved at 1:1"],
    ['a String, `c__insertion_date` DateTime', "Column name 'c__insertion_date' is reserved at 1:11"],
    [
      '_row_exists UInt8',
      "Column name '_row_exists' is reserved at 1:1. Hint: use another name, the engine has a column of this one in its tables.",
    ],
    ['a String NULL', 'NULL column syntax not supported at 1:10. Hint: use Nullable(String).'],
    ['a String NOT NULL', 'NULL column syntax not supported at 1:10. Hint: leave it out, only Nullable(…) takes NULL.'],
    ["a String DEFAULT 'x' NOT NULL", 'NULL column syntax not supported at 1:22. Hint: write Nullable(…) as the type.'],
    ['a UInt8 DEFAULT 1 null', 'NULL column syntax not supported at 1:19. Hint: write Nullable(…) as the type.'],
    ['a UInt8 MATERIALIZED 1', 'MATERIALIZED is not supported in a schema at 1:9'],
    ['a UInt8 ALIAS b', 'ALIAS is not supported in a schema at 1:9'],
    ['a UInt8 ephemeral', 'EPHEMERAL is not supported in a schema at 1:9'],
    ['a DateTime TTL a + INTERVAL 1 DAY', 'TTL is not supported in a schema at 1:12'],
    ['a DateTime DEFAULT now() TTL a', 'TTL is not supported in a schema at 1:26'],
    ["a UInt8 DEFAULT 1 COMMENT 'x'", 'COMMENT is not supported in a schema at 1:19'],
    [
      'a String b String',
      "Unexpected 'b' after type String at 1:10. Hint: columns look like name Type `json:$.key` DEFAULT expression CODEC(codec), with commas between.",
    ],
    ['a String json:$.a', 'JSONPath without backticks at 1:10. Hint: write `json:$.key`.'],
    ['a String `$.a`', 'Unexpected `$.a` at 1:10. Hint: a JSONPath looks like `json:$.key`.'],
    ['a String `json:a`', "JSONPath 'a' does not begin with $ at 1:16. Hint: write $.a."],
    [
      'a Array(Array(String)) `json:$.a[:].b[:]`',
      'JSONPath has a second [:] at 1:38. Hint: arrays are taken apart at the first level only; keep the inner array as JSON text in a String.',
    ],
    [
      'a String `json:$.a[:]`',
      'JSONPath $.a[:] gives the elements of an array, but the type is String at 1:10. Hint: use Array(…), or leave out [:] to keep JSON text in a String.',
    ],
    [
      'a Nullable(Int8) `json:$`',
      'JSONPath $ gives the whole record, but the type is Int8 at 1:18. Hint: use String or JSON.',
    ],
    ['a String `json:$.a` `json:$.b`', 'The column has a second JSONPath at 1:21'],
    ['a UInt8 DEFAULT 1 DEFAULT 2', 'The column has a second DEFAULT at 1:19'],
    ['a UInt8 CODEC(LZ4) CODEC(LZ4)', 'The column has a second CODEC at 1:20'],
    ['a UInt8 CODEC(1)', 'Wrong CODEC at 1:15. Hint: it looks like CODEC(Delta, ZSTD(1)).'],
    ['a UInt8 CODEC()', 'Wrong CODEC at 1:9. Hint: it looks like CODEC(Delta, ZSTD(1)).'],
    ['a UInt8 CODEC(ZSTD(1)', "'(' without its end at 1:14"],
    ['a UInt8 DEFAULT', 'DEFAULT has no expression at 1:16'],
    ['a UInt8 DEFAULT , b UInt8', 'DEFAULT has no expression at 1:17'],
    ['a UInt8 DEFAULT (1', "DEFAULT has '(' without its end at 1:17"],
    ['a UInt8 DEFAULT 1)', "DEFAULT has ')' that closes nothing at 1:18"],
    ['a UInt8 DEFAULT (1]', "DEFAULT has ']' that closes nothing at 1:19"],
    ["a String DEFAULT 'x", "Quote ' without its end at 1:18"],
    ['a UInt8 DEFAULT 1; DROP TABLE x', "DEFAULT has an unexpected character ';' at 1:18"],
    ['a UInt8 DEFAULT 1 /* b */ + 1', 'DEFAULT has a comment inside at 1:27'],
    ['a UInt8 DEFAULT 1 #b', "DEFAULT has an unexpected character '#' at 1:19"],
    ['a UInt8 DEFAULT (SELECT 1)', 'DEFAULT cannot hold a query at 1:18'],
    ['a UInt8 DEFAULT (with 1 as x select x)', 'DEFAULT cannot hold a query at 1:18'],
    ["a String DEFAULT file('/etc/passwd')", 'DEFAULT cannot call file() at 1:18'],
    ["a String DEFAULT `file`('/etc/passwd')", 'DEFAULT cannot call file() at 1:18'],
    ["a String DEFAULT FILE ('/etc/passwd')", 'DEFAULT cannot call FILE() at 1:18'],
    ["a String DEFAULT concat(dictGetString('d', 'x', 1))", 'DEFAULT cannot call dictGetString() at 1:25'],
    ['a UInt8 DEFAULT sleep(3)', 'DEFAULT cannot call sleep() at 1:17'],
    ['a UInt8 DEFAULT 1 IN system.one', 'DEFAULT takes a list of constants after IN at 1:22'],
    ['a UInt8 DEFAULT 1 in ((`system`.one))', 'DEFAULT takes a list of constants after IN at 1:24'],
    ['a UInt8 DEFAULT in(1, system.one)', 'DEFAULT takes a list of constants after IN at 1:23'],
    ['a UInt8 DEFAULT notIn(1, system.one)', 'DEFAULT takes a list of constants after IN at 1:26'],
    ["a String DEFAULT x'41\\', b String", "Text in quotes directly after 'x' at 1:19"],
    ['a String DEFAULT $$x$$', "DEFAULT has an unexpected character '$' at 1:18"],
    ['a String DEFAULT ‘x’', "DEFAULT has an unexpected character '‘' at 1:18"],
    ['a String DEFAULT {p:String}', "DEFAULT has an unexpected character '{' at 1:18"],
    ['a String DEFAULT * APPLY(hex)', 'DEFAULT cannot hold * at 1:18'],
    ['a String \0', 'NUL character at 1:10'],
    ['a String /* b', 'Comment without its end */ at 1:10'],
    ['a Tuple(b String), `a.b` String', "Column 'a.b' has the name of a part of column 'a' at 1:20"],
    ['`a.b.c` String, `a.b` Array(String)', "Column 'a.b.c' has the name of a part of column 'a.b' at 1:1"],
  ]
  for (const [schema, message] of refused) t.equal(faultOf(schema)?.message, message, JSON.stringify(schema))
  t.equal(
    faultOf('a String,\n b Int')?.reason,
    'Int type is not supported. Hint: use Int32 or another size, Int8 to Int256.',
  )
  t.same(faultOf('a String,\n b Int')?.position, { line: 2, column: 4 })
})

t.test('a schema has at most columnsMax columns and 250,000 characters', async (t) => {
  const schema = (count: number) => Array.from({ length: count }, (_, index) => `c${index} UInt8`).join(', ')
  for (const columnsMax of [1, 2, 500]) {
    t.equal(parseSchema(schema(columnsMax), { columnsMax }).length, columnsMax)
    t.equal(parseSchema(`${schema(columnsMax)},`, { columnsMax }).length, columnsMax, 'with a comma at its end')
    t.throws(() => parseSchema(schema(columnsMax + 1), { columnsMax }), {
      message: new RegExp(`^The schema has more than ${columnsMax} columns at 1:`),
    })
  }
  t.equal(parseSchema('a String'.padEnd(250_000), limits).length, 1)
  t.match(faultOf('a String'.padEnd(250_001))?.message, /^The schema is longer than 250000 characters at 1:1/)
})

t.test('no text makes the parser fail otherwise than with a SchemaError', async (t) => {
  const seed = testSeed()
  t.comment(`SEED=${seed}`)
  const seeded = new SeededRandom(seed)
  const random = (limit: number): number => seeded.below(limit)
  const pieces = [
    ...'()[]{},.;:$#@!?*+-/\\\'"` \n\t\0éñ🦀',
    'json:$',
    '[:]',
    '--',
    '/*',
    '*/',
    '``',
    "''",
    '\\x4',
    "x'",
  ]
  const words =
    'a b String UInt8 Nullable Array Map Tuple Enum8 DateTime64 LowCardinality JSON DEFAULT CODEC NULL NOT IN 1 2'
  pieces.push(...words.split(' ').map((word) => ` ${word} `))
  const pick = <Item>(items: readonly Item[]): Item => items[random(items.length)] as Item // The index is below the length.
  let acceptedCount = 0
  const rounds = byTier({ quick: 5_000, full: 10_000, soak: 1_000_000 })
  for (let round = 0; round < rounds; round += 1) {
    const text = round % 2 === 0 ? garbage(pieces, random) : damaged(pick(accepted.slice(0, -1)), pieces, random)
    try {
      const columns = parseSchema(text, limits)
      acceptedCount += 1
      checkRoundTrip(t, columns, text)
    } catch (error) {
      if (!(error instanceof SchemaError)) {
        t.fail(`${JSON.stringify(text)}: ${String(error)}`)
        throw error
      }
      if (error.position.line < 1 || error.position.column < 1) t.fail(`${JSON.stringify(text)}: ${error.message}`)
    }
  }
  t.ok(acceptedCount > rounds / 200, `${acceptedCount} of ${rounds} texts were schemas`)
})

t.test(
  'what is taken can always be pasted: a damaged schema never makes the engine see another statement',
  async (t) => {
    const seed = testSeed()
    t.comment(`SEED=${seed}`)
    const seeded = new SeededRandom(seed)
    const random = (limit: number): number => seeded.below(limit)
    const engine = new EngineSession()
    t.teardown(() => engine.close())
    engine.query('CREATE TABLE canary (c UInt8) ENGINE = MergeTree ORDER BY c')
    const pieces = [
      ...'()[],;\'"`\\-# ',
      '--',
      '/*',
      '*/',
      "x'",
      "b'",
      '$$',
      "''",
      '; DROP TABLE canary; --',
      ') ENGINE = Null --',
    ]
    let takenCount = 0
    const rounds = byTier({ quick: 250, full: 500, soak: 50_000 })
    for (let round = 0; round < rounds; round += 1) {
      const schema = accepted[random(accepted.length - 1)] ?? ''
      const columns = parsed(damaged(schema, pieces, random))
      if (columns === null) continue
      takenCount += 1
      try {
        const clause = engineClause({ name: 'MergeTree', options: {} }, columns)
        engine.query(`CREATE TABLE probe (${columnsClause(columns)}) ${clause}`)
      } catch {
        // Expressions may mean nothing to the engine; it must only not see more than one CREATE TABLE.
        continue
      }
      const count = engine.query("SELECT count() FROM system.columns WHERE database = 'workspace' AND table = 'probe'")
      const engineName = engine.query(
        "SELECT engine FROM system.tables WHERE database = 'workspace' AND name = 'probe'",
      )
      engine.query('DROP TABLE probe SYNC')
      if (count !== String(columns.length) || engineName !== 'MergeTree') t.fail(formatSchema(columns))
    }
    t.equal(engine.query('EXISTS TABLE canary'), '1')
    t.ok(takenCount > rounds / 20, `${takenCount} damaged schemas were taken`)
  },
)

function checkRoundTrip(t: Test, columns: readonly ColumnDefinition[], text: string): void {
  const written = formatSchema(columns)
  if (formatSchema(parseSchema(written, limits)) !== written) t.fail(`${JSON.stringify(text)} gives ${written}`)
}

function garbage(pieces: readonly string[], random: (limit: number) => number): string {
  return Array.from({ length: random(30) }, () => pieces[random(pieces.length)]).join('')
}

function damaged(schema: string, pieces: readonly string[], random: (limit: number) => number): string {
  let text = schema
  for (let damage = random(3); damage >= 0; damage -= 1) {
    const at = random(text.length + 1)
    const removed = random(3)
    text = text.slice(0, at) + (random(2) === 0 ? pieces[random(pieces.length)] : '') + text.slice(at + removed)
  }
  return text
}

function parsed(schema: string): readonly ColumnDefinition[] | null {
  return faultOf(schema) === null ? parseSchema(schema, limits) : null
}

function faultOf(schema: string): SchemaError | null {
  try {
    parseSchema(schema, limits)
    return null
  } catch (error) {
    if (error instanceof SchemaError) return error
    throw error
  }
}
