import t from 'tap'
import { parseSchema } from '../../../src/schema/columns/schema-parser.ts'
import { columnsClause, engineClause, givenEngineText } from '../../../src/schema/definitions/table-definition.ts'
import { defaultEngine, parseEngineDefinition } from '../../../src/schema/engines/engine-definition.ts'
import { ApiError } from '../../../src/shared/errors/errors.ts'
import { EngineSession } from '../../support/catalog/engine-session.ts'
import { SeededRandom, testSeed } from '../../support/seeded-random.ts'

const settingsHint =
  ': a table sets how its rows are laid out, merged and dropped, as with index_granularity or ttl_only_drop_parts'

const columns = parseSchema(
  `k String, a UInt32, b DateTime, v UInt64, w DateTime64(3), d UInt8, s Int8, n Nullable(Int64), f Float64, \`x y\` String,
   u AggregateFunction(count), m SimpleAggregateFunction(max, UInt64), j JSON, l LowCardinality(Nullable(String))`,
  { columnsMax: 500 },
)
const window = 'non_replicated_deduplication_window = 10000'

/** Parameters of the API without `engine_`, and the clause that they give. */
const accepted: readonly (readonly [string, Readonly<Record<string, string>>, string])[] = [
  ['', {}, `ENGINE = MergeTree ORDER BY tuple() SETTINGS ${window}`],
  ['MergeTree', {}, `ENGINE = MergeTree ORDER BY tuple() SETTINGS ${window}`],
  ['MergeTree', { sorting_key: 'k, b', partition_key: '' }, `ENGINE = MergeTree ORDER BY (k, b) SETTINGS ${window}`],
  ['MergeTree', { sorting_key: '(k, b)' }, `ENGINE = MergeTree ORDER BY (k, b) SETTINGS ${window}`],
  ['MergeTree', { sorting_key: 'tuple()' }, `ENGINE = MergeTree ORDER BY tuple() SETTINGS ${window}`],
  ['MergeTree', { sorting_key: '`x y`' }, `ENGINE = MergeTree ORDER BY \`x y\` SETTINGS ${window}`],
  ['MergeTree', { sorting_key: 'k DESC, a' }, `ENGINE = MergeTree ORDER BY (k DESC, a) SETTINGS ${window}`],
  ['MergeTree', { primary_key: 'k, a' }, `ENGINE = MergeTree PRIMARY KEY (k, a) ORDER BY (k, a) SETTINGS ${window}`],
  [
    'MergeTree',
    {
      partition_key: 'toYear(b), d % 4',
      primary_key: 'intHash32(a)',
      sorting_key: 'intHash32(a), cityHash64(k)',
      sampling_key: 'intHash32(a)',
      ttl: "toDate(b) + INTERVAL 90 DAY DELETE WHERE k = 'x, y', b + INTERVAL 1 DAY RECOMPRESS CODEC(ZSTD(3))",
      settings: 'index_granularity = 1024, ttl_only_drop_parts=true, ratio_of_defaults_for_sparse_serialization = 0.9',
    },
    'ENGINE = MergeTree PARTITION BY (toYear(b), d % 4) PRIMARY KEY intHash32(a) ORDER BY (intHash32(a), cityHash64(k)) ' +
      "SAMPLE BY intHash32(a) TTL toDate(b) + INTERVAL 90 DAY DELETE WHERE k = 'x, y', b + INTERVAL 1 DAY RECOMPRESS CODEC(ZSTD(3)) " +
      `SETTINGS index_granularity = 1024, ttl_only_drop_parts = true, ratio_of_defaults_for_sparse_serialization = 0.9, ${window}`,
  ],
  [
    'MergeTree',
    { sorting_key: 'n', settings: 'allow_nullable_key = 1' },
    `ENGINE = MergeTree ORDER BY n SETTINGS allow_nullable_key = 1, ${window}`,
  ],
  [
    'MergeTree',
    { settings: 'non_replicated_deduplication_window = 0' },
    `ENGINE = MergeTree ORDER BY tuple() SETTINGS ${window}`,
  ],
  [
    'MergeTree',
    { settings: 'non_replicated_deduplication_window = 20000' },
    'ENGINE = MergeTree ORDER BY tuple() SETTINGS non_replicated_deduplication_window = 20000',
  ],
  ['ReplacingMergeTree', { sorting_key: 'k' }, `ENGINE = ReplacingMergeTree ORDER BY k SETTINGS ${window}`],
  [
    'ReplacingMergeTree',
    { sorting_key: 'k', ver: 'w' },
    `ENGINE = ReplacingMergeTree(\`w\`) ORDER BY k SETTINGS ${window}`,
  ],
  [
    'ReplacingMergeTree',
    { sorting_key: 'k', ver: 'v', is_deleted: 'd' },
    `ENGINE = ReplacingMergeTree(\`v\`, \`d\`) ORDER BY k SETTINGS ${window}`,
  ],
  ['SummingMergeTree', { sorting_key: 'k' }, `ENGINE = SummingMergeTree ORDER BY k SETTINGS ${window}`],
  [
    'SummingMergeTree',
    { sorting_key: 'k', columns: '(v, f)' },
    `ENGINE = SummingMergeTree((\`v\`, \`f\`)) ORDER BY k SETTINGS ${window}`,
  ],
  [
    'SummingMergeTree',
    { sorting_key: 'k', columns: 'v' },
    `ENGINE = SummingMergeTree((\`v\`)) ORDER BY k SETTINGS ${window}`,
  ],
  [
    'AggregatingMergeTree',
    { sorting_key: 'k' },
    `ENGINE = AggregatingMergeTree ORDER BY k SETTINGS ${window}, allow_dimensions_outside_sorting_key = 1`,
  ],
  [
    'CollapsingMergeTree',
    { sorting_key: 'k', sign: 's' },
    `ENGINE = CollapsingMergeTree(\`s\`) ORDER BY k SETTINGS ${window}`,
  ],
  [
    'VersionedCollapsingMergeTree',
    { sorting_key: 'k', sign: 's', version: 'v' },
    `ENGINE = VersionedCollapsingMergeTree(\`s\`, \`v\`) ORDER BY k SETTINGS ${window}`,
  ],
  ['Join', { join_strictness: 'any', join_type: 'left', key_columns: 'k' }, 'ENGINE = Join(ANY, LEFT, `k`)'],
  [
    'Join',
    { join_strictness: 'ALL', join_type: 'FULL', key_columns: 'k, `x y`' },
    'ENGINE = Join(ALL, FULL, `k`, `x y`)',
  ],
  ...(
    [
      ['ANY', 'INNER'],
      ['ANY', 'RIGHT'],
      ['ALL', 'LEFT'],
      ['ALL', 'INNER'],
      ['ALL', 'RIGHT'],
      ['SEMI', 'LEFT'],
      ['SEMI', 'RIGHT'],
      ['ANTI', 'LEFT'],
      ['ANTI', 'RIGHT'],
    ] as const
  ).map(
    ([strictness, type]) =>
      [
        'Join',
        { join_strictness: strictness, join_type: type, key_columns: 'k' },
        `ENGINE = Join(${strictness}, ${type}, \`k\`)`,
      ] as const,
  ),
  [
    'Join',
    { join_strictness: 'ANY', join_type: 'LEFT', key_columns: 'k', settings: 'join_use_nulls = 1' },
    'ENGINE = Join(ANY, LEFT, `k`) SETTINGS join_use_nulls = 1',
  ],
  ['Null', {}, 'ENGINE = Null'],
  ['Null', { sorting_key: '', ttl: ' ' }, 'ENGINE = Null'],
]

const refused: readonly (readonly [string, Readonly<Record<string, string>>, string])[] = [
  [
    'TinyLog',
    {},
    "'TinyLog' is not known; use one of MergeTree, ReplacingMergeTree, SummingMergeTree, AggregatingMergeTree, CollapsingMergeTree, VersionedCollapsingMergeTree, Join, Null",
  ],
  ['mergetree', {}, "'mergetree' is not known; did you mean MergeTree?"],
  ['CollapsingMergeTree', {}, 'CollapsingMergeTree needs engine_sign'],
  ['VersionedCollapsingMergeTree', { sign: 's' }, 'VersionedCollapsingMergeTree needs engine_version'],
  ['Join', { join_strictness: 'ANY', join_type: 'LEFT' }, 'Join needs engine_key_columns'],
  [
    'MergeTree',
    { ver: 'v' },
    'MergeTree takes no engine_ver; it takes engine_partition_key, engine_sorting_key, engine_primary_key, engine_sampling_key, engine_ttl, engine_settings',
  ],
  ['Null', { sorting_key: 'k' }, 'Null takes no engine_sorting_key, nor any other'],
  ['MergeTree', { sorting_key: 'nosuch' }, "engine_sorting_key: column 'nosuch' is not in the schema"],
  ['MergeTree', { sorting_key: 'k, n' }, "engine_sorting_key: column 'n' is Nullable and cannot be in a key"],
  ['MergeTree', { sorting_key: 'l DESC' }, "engine_sorting_key: column 'l' is Nullable and cannot be in a key"],
  ['MergeTree', { sorting_key: 'u' }, "engine_sorting_key: column 'u' has a type that cannot be in a key"],
  ['MergeTree', { sorting_key: 'm' }, "engine_sorting_key: column 'm' has a type that cannot be in a key"],
  ['MergeTree', { sorting_key: 'j' }, "engine_sorting_key: column 'j' has a type that cannot be in a key"],
  ['ReplacingMergeTree', { ver: 'nosuch' }, "engine_ver: column 'nosuch' is not in the schema"],
  [
    'ReplacingMergeTree',
    { ver: 'k' },
    "engine_ver: column 'k' is String, but must be an integer, Float, Date or DateTime, and not Nullable",
  ],
  [
    'ReplacingMergeTree',
    { ver: 'n' },
    "engine_ver: column 'n' is Nullable(Int64), but must be an integer, Float, Date or DateTime, and not Nullable",
  ],
  ['ReplacingMergeTree', { ver: 'v, w' }, 'engine_ver takes one column'],
  ['ReplacingMergeTree', { ver: 'v + 1' }, 'engine_ver takes names of columns, with commas between'],
  ['ReplacingMergeTree', { is_deleted: 'd' }, 'engine_is_deleted needs engine_ver'],
  ['ReplacingMergeTree', { ver: 'v', is_deleted: 's' }, "engine_is_deleted: column 's' is Int8, but must be UInt8"],
  ['CollapsingMergeTree', { sign: 'd' }, "engine_sign: column 'd' is UInt8, but must be Int8"],
  [
    'SummingMergeTree',
    { sorting_key: 'k, v', columns: 'v' },
    "engine_columns: column 'v' is in engine_sorting_key too",
  ],
  [
    'Join',
    { join_strictness: 'SOME', join_type: 'LEFT', key_columns: 'k' },
    'engine_join_strictness must be one of ANY, ALL, SEMI, ANTI',
  ],
  [
    'Join',
    { join_strictness: 'ANTI', join_type: 'INNER', key_columns: 'k' },
    'engine_join_type of ANTI must be one of LEFT, RIGHT',
  ],
  [
    'Join',
    { join_strictness: 'ANY', join_type: 'LEFT', key_columns: 'nosuch' },
    "engine_key_columns: column 'nosuch' is not in the schema",
  ],
  ['MergeTree', { ttl: 'b + INTERVAL 1 DAY; DROP TABLE x' }, "engine_ttl has an unexpected character ';'"],
  ['MergeTree', { ttl: 'b + INTERVAL 1 DAY -- c' }, 'engine_ttl has a comment inside'],
  [
    'MergeTree',
    { ttl: "b + INTERVAL 1 DAY SETTINGS disk = 'x'" },
    'engine_ttl cannot hold SETTINGS, use engine_settings',
  ],
  ['MergeTree', { partition_key: 'toYear(b) ORDER BY k' }, 'engine_partition_key cannot hold ORDER'],
  ['MergeTree', { sorting_key: 'k) AS SELECT (1' }, "engine_sorting_key has ')' that closes nothing"],
  ['MergeTree', { sorting_key: "k, '" }, "Quote ' without its end"],
  ['MergeTree', { sorting_key: "file('/etc/passwd')" }, 'engine_sorting_key cannot call file()'],
  ['MergeTree', { ttl: 'b + (SELECT 1)' }, 'engine_ttl cannot hold a query'],
  ['MergeTree', { settings: "storage_policy = 's3'" }, `engine_settings cannot set 'storage_policy'${settingsHint}`],
  [
    'MergeTree',
    { settings: "disk = disk(type = local, path = '/')" },
    `engine_settings cannot set 'disk'${settingsHint}`,
  ],
  [
    'MergeTree',
    { settings: 'index_granularity' },
    "Expected '=' after 'index_granularity' in engine_settings, found the end",
  ],
  [
    'MergeTree',
    { settings: 'index_granularity = f(1)' },
    "engine_settings needs a number or a text in quotes for 'index_granularity'",
  ],
  ['MergeTree', { settings: 'compress_marks = 1, compress_marks = 0' }, "engine_settings has 'compress_marks' twice"],
  ['MergeTree', { settings: 'compress_marks = 1 b = 2' }, "Unexpected 'b' in engine_settings"],
  ['MergeTree', { settings: '= 1' }, 'engine_settings looks like name = value, …'],
]

t.test('every engine is read from its parameters, and the engine makes the table', async (t) => {
  const engine = new EngineSession()
  t.teardown(() => engine.close())
  for (const [name, options, clause] of accepted) {
    const definition = parseEngineDefinition(parameters(name, options), columns)
    const label = `${name} ${JSON.stringify(options)}`
    const written = engineClause(definition, columns)
    t.equal(written, clause, label)
    // A Join stores no JSON; no other engine cares.
    const stored = name === 'Join' ? columns.filter(({ type }) => type.kind !== 'json') : columns
    t.equal(engine.refusal(columnsClause(stored), written), null, `the engine takes ${label}`)
  }
})

t.test('wrong parameters are refused', async (t) => {
  for (const [name, options, reason] of refused) {
    const fault = faultOf(parameters(name, options))
    t.equal(fault?.message, `Wrong engine: ${reason}`, `${name} ${JSON.stringify(options)}`)
    t.equal(fault?.code, 'ENGINE_INVALID')
  }
})

t.test('no text makes the reader fail otherwise than with ENGINE_INVALID', async (t) => {
  const seed = testSeed()
  t.comment(`SEED=${seed}`)
  const seeded = new SeededRandom(seed)
  const random = (limit: number): number => seeded.below(limit)
  const pieces = [
    ...'()[],;=\'"`\\-+ ké',
    'toDate(',
    ' IN ',
    ' SETTINGS ',
    '--',
    '/*',
    ' k ',
    ' b ',
    ' 1 ',
    ' SELECT ',
    "x'",
  ]
  let takenCount = 0
  for (let round = 0; round < 10_000; round += 1) {
    const [name, options] = accepted[random(accepted.length)] ?? ['', {}]
    const spoilt = Object.entries(options).map(([option, value]) => {
      const at = random(value.length + 1)
      return [option, value.slice(0, at) + pieces[random(pieces.length)] + value.slice(at + random(2))] as const
    })
    const given = parameters(name, Object.fromEntries(spoilt))
    if (faultOf(given) !== null) continue
    takenCount += 1
    engineClause(parseEngineDefinition(given, columns), columns)
  }
  t.ok(takenCount > 100, `${takenCount} of 10000 were taken`)
})

t.test('other parameters of the request are left alone', async (t) => {
  const definition = parseEngineDefinition({ name: 'x', mode: 'create', schema: 'k String', format: 'csv' }, columns)
  t.same(definition, defaultEngine)
  t.same(parseEngineDefinition({ engine_sorting_key: 'k' }, columns), {
    name: 'MergeTree',
    options: { sorting_key: 'k' },
  })
})

t.test('tables get what their columns need of the engine', async (t) => {
  const engine = new EngineSession()
  t.teardown(() => engine.close())
  const dictionary = parseSchema('a LowCardinality(UInt8), `b.c` Array(String), d JSON(x LowCardinality(Int8))', {
    columnsMax: 3,
  })
  const clauses = [
    `ENGINE = MergeTree ORDER BY tuple() SETTINGS ${window}, share_nested_offsets = 0, allow_suspicious_low_cardinality_types = 1`,
    'ENGINE = Null SETTINGS allow_suspicious_low_cardinality_types = 1',
  ]
  for (const [index, name] of ['MergeTree', 'Null'].entries()) {
    const clause = engineClause({ name, options: {} }, dictionary)
    t.equal(clause, clauses[index])
    t.equal(engine.refusal(columnsClause(dictionary), clause), null, `the engine takes ${clause}`)
  }
})

t.test('the engine is told as it was given, without the settings that are ours', async (t) => {
  const options = { ver: 'd', sorting_key: 'a, b', settings: 'index_granularity = 1024' }
  t.equal(
    givenEngineText({ name: 'ReplacingMergeTree', options }),
    'ReplacingMergeTree(`d`) ORDER BY (a, b) SETTINGS index_granularity = 1024',
  )
  t.equal(givenEngineText({ name: 'AggregatingMergeTree', options: {} }), 'AggregatingMergeTree ORDER BY tuple()')
})

t.test('columns are written as CREATE TABLE takes them', async (t) => {
  const schema = "`a b` String `json:$.a` DEFAULT 'x' CODEC(ZSTD(1)), c Enum('q')"
  t.equal(
    columnsClause(parseSchema(schema, { columnsMax: 2 })),
    "`a b` String DEFAULT 'x' CODEC(ZSTD(1)), `c` Enum8('q' = 1)",
  )
})

function parameters(name: string, options: Readonly<Record<string, string>>): Record<string, string> {
  const prefixed = Object.entries(options).map(([option, value]) => [`engine_${option}`, value] as const)
  return { engine: name, ...Object.fromEntries(prefixed) }
}

function faultOf(given: Readonly<Record<string, string>>): ApiError | null {
  try {
    parseEngineDefinition(given, columns)
    return null
  } catch (error) {
    if (error instanceof ApiError) return error
    throw error
  }
}
