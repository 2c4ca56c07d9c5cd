type Parameters = Readonly<Record<string, string>>

interface EngineCase {
  readonly schema: string
  readonly parameters: Parameters
  /** The engine as it is shown. */
  readonly full: string
  readonly rows: string
  /** With NAME for the data source. */
  readonly query: string
  readonly answer: string
}

/** Each row of the specification's tables of engines and their options. */
export const engineCases: Readonly<Record<string, EngineCase>> = {
  no_engine: {
    schema: 'a Int32',
    parameters: {},
    full: 'MergeTree ORDER BY tuple()',
    rows: '2\n1\n2\n',
    query: 'SELECT groupArray(a) FROM NAME',
    answer: '[2,1,2]',
  },
  merge_tree: {
    schema: 'a Int32, d Date, s String',
    parameters: {
      engine: 'MergeTree',
      engine_partition_key: 'toYYYYMM(d)',
      engine_sorting_key: 'intHash32(a), d, s',
      engine_primary_key: 'intHash32(a), d',
      engine_sampling_key: 'intHash32(a)',
      engine_ttl: "d + toIntervalYear(100) WHERE s = 'x'",
      engine_settings: 'index_granularity = 1024, ttl_only_drop_parts = 0',
    },
    full: "MergeTree PARTITION BY toYYYYMM(d) PRIMARY KEY (intHash32(a), d) ORDER BY (intHash32(a), d, s) SAMPLE BY intHash32(a) TTL d + toIntervalYear(100) WHERE s = 'x' SETTINGS index_granularity = 1024, ttl_only_drop_parts = 0",
    rows: '1,2026-01-01,x\n2,2026-02-01,y\n3,2026-02-02,z\n',
    query: 'SELECT uniqExact(_partition_id), count() FROM NAME SAMPLE 1',
    answer: '2\t3',
  },
  by_primary_key: {
    schema: 'a Int32, b Int32',
    parameters: { engine: 'MergeTree', engine_primary_key: 'a', engine_partition_key: '' },
    full: 'MergeTree PRIMARY KEY a ORDER BY a',
    rows: '2,1\n1,2\n',
    query: 'SELECT groupArray(a) FROM NAME',
    answer: '[1,2]',
  },
  descending: {
    schema: 'a Int32, b Nullable(Int32)',
    parameters: { engine_sorting_key: 'a, b', engine_settings: 'allow_nullable_key = 1' },
    full: 'MergeTree ORDER BY (a, b) SETTINGS allow_nullable_key = 1',
    rows: '2,1\n1,\n1,0\n',
    query: 'SELECT groupArray((a, b)) FROM NAME',
    answer: '[(1,0),(1,NULL),(2,1)]',
  },
  replacing: {
    schema: 'a Int32, s String',
    parameters: { engine: 'ReplacingMergeTree', engine_sorting_key: 'a' },
    full: 'ReplacingMergeTree ORDER BY a',
    rows: '1,old\n2,x\n1,new\n',
    query: 'SELECT groupArray((a, s)) FROM NAME FINAL',
    answer: "[(1,'new'),(2,'x')]",
  },
  replacing_by_version: {
    schema: 'a Int32, v UInt32, gone UInt8',
    parameters: {
      engine: 'ReplacingMergeTree',
      engine_sorting_key: 'a',
      engine_ver: 'v',
      engine_is_deleted: 'gone',
    },
    full: 'ReplacingMergeTree(`v`, `gone`) ORDER BY a',
    rows: '1,9,0\n1,3,0\n2,1,0\n2,2,1\n',
    query: 'SELECT groupArray((a, v)) FROM NAME FINAL',
    answer: '[(1,9)]',
  },
  summing: {
    schema: 'a Int32, n UInt64, m UInt64',
    parameters: { engine: 'SummingMergeTree', engine_sorting_key: 'a', engine_columns: 'n' },
    full: 'SummingMergeTree((`n`)) ORDER BY a',
    rows: '1,1,5\n1,2,6\n2,3,7\n',
    query: 'SELECT groupArray((a, n, m)) FROM NAME FINAL',
    answer: '[(1,3,5),(2,3,7)]',
  },
  summing_all: {
    schema: 'a Int32, n UInt64, m Float64',
    parameters: { engine: 'SummingMergeTree', engine_sorting_key: 'a' },
    full: 'SummingMergeTree ORDER BY a',
    rows: '1,1,5\n1,2,6\n',
    query: 'SELECT groupArray((a, n, m)) FROM NAME FINAL',
    answer: '[(1,3,11)]',
  },
  aggregating: {
    schema: 'a Int32, n SimpleAggregateFunction(max, Int32), other String',
    parameters: { engine: 'AggregatingMergeTree', engine_sorting_key: 'a' },
    full: 'AggregatingMergeTree ORDER BY a',
    rows: '1,4,x\n1,9,x\n1,2,x\n',
    query: 'SELECT groupArray((a, n, other)) FROM NAME FINAL',
    answer: "[(1,9,'x')]",
  },
  collapsing: {
    schema: 'a Int32, n Int32, sign Int8',
    parameters: { engine: 'CollapsingMergeTree', engine_sorting_key: 'a', engine_sign: 'sign' },
    full: 'CollapsingMergeTree(`sign`) ORDER BY a',
    rows: '1,4,1\n1,4,-1\n1,6,1\n',
    query: 'SELECT groupArray((a, n)) FROM NAME FINAL',
    answer: '[(1,6)]',
  },
  versioned_collapsing: {
    schema: 'a Int32, n Int32, sign Int8, v UInt8',
    parameters: {
      engine: 'VersionedCollapsingMergeTree',
      engine_sorting_key: 'a',
      engine_sign: 'sign',
      engine_version: 'v',
    },
    full: 'VersionedCollapsingMergeTree(`sign`, `v`) ORDER BY a',
    rows: '1,6,1,2\n1,4,-1,1\n1,4,1,1\n',
    query: 'SELECT groupArray((a, n)) FROM NAME FINAL',
    answer: '[(1,6)]',
  },
  nothing: {
    schema: 'a Int32',
    parameters: { engine: 'Null' },
    full: 'Null',
    rows: '1\n',
    query: 'SELECT count() FROM NAME',
    answer: '0',
  },
}
