/** Views into targets of every engine, over a source `sales` of days, users, numbers and prices. */
/** A view into a target, and what is damaged in it. */
export interface EngineCase {
  readonly sql: string
  readonly target: Readonly<Record<string, string>>
  /** Rows of January that the target has more then, and what is said of the partition. */
  readonly damage: object
  readonly seen: object
}

export const byMonth = { engine_partition_key: 'toYYYYMM(day)' }
export const engineCases: Readonly<Record<string, EngineCase>> = {
  plain: {
    sql: 'SELECT day, user, v * 2 AS w FROM sales WHERE v > 2',
    target: { engine: 'MergeTree', engine_sorting_key: 'day', ...byMonth },
    damage: { day: '2026-01-05', user: 'ghost', w: 1 },
    seen: { rows_missing: 0, rows_extra: 1, rows_different: 0 },
  },
  values: {
    sql: "SELECT day, toLowCardinality(user) AS user, if(v % 3 = 0, NULL, v)::Nullable(UInt64) AS maybe, [user, 'x'] AS list, map(user, v) AS map, (v, user) AS pair, if(v % 4 = 0, nan, price) AS price, toFloat32(price) AS small, concat('{\"a\":', toString(v), '}')::JSON AS doc FROM sales",
    target: { engine: 'MergeTree', engine_sorting_key: 'day', ...byMonth },
    damage: {
      day: '2026-01-01',
      user: 'u1',
      list: ['x'],
      map: { u1: 1 },
      pair: [1, 'u1'],
      price: 0,
      small: 0,
      doc: { a: 1 },
    },
    seen: { rows_missing: 0, rows_extra: 1, rows_different: 0 },
  },
  groups: {
    sql: 'SELECT day, countState() AS n, maxSimpleState(v) AS top FROM sales GROUP BY day',
    target: { engine: 'MergeTree', engine_sorting_key: 'day', ...byMonth },
    damage: { day: '2026-01-01', top: 9_999 },
    seen: { rows_missing: 0, rows_extra: 0, rows_different: 1, samples: ["('2026-01-01')"] },
  },
  merged: {
    sql: 'SELECT day, sumState(price) AS total, quantilesExactState(0.5, 0.9)(price) AS q, uniqState(user) AS users, argMaxState(user, v) AS best, anyState(user) AS some, maxSimpleState(v) AS top FROM sales GROUP BY day',
    target: { engine: 'AggregatingMergeTree', engine_sorting_key: 'day', ...byMonth },
    damage: { day: '2026-01-01', top: 9_999 },
    seen: { rows_missing: 0, rows_extra: 0, rows_different: 1, samples: ["('2026-01-01')"] },
  },
  summed: {
    sql: 'SELECT day, count() AS n, sum(v) AS w, sum(price) AS p, any(user) AS some FROM sales GROUP BY day',
    target: { engine: 'SummingMergeTree', engine_sorting_key: 'day', ...byMonth },
    damage: { day: '2026-01-05', n: 1, w: 0, p: 0, some: '' },
    seen: { rows_missing: 0, rows_extra: 1, rows_different: 0, samples: ["('2026-01-05')"] },
  },
  last: {
    sql: 'SELECT user, day, v, price FROM sales',
    target: { engine: 'ReplacingMergeTree', engine_sorting_key: 'user', engine_ver: 'v', ...byMonth },
    damage: { day: '2026-01-01', user: 'u1', v: 9_999, price: 0 },
    seen: { rows_missing: 0, rows_extra: 0, rows_different: 1, samples: ["('u1')"] },
  },
  unversioned: {
    sql: 'SELECT user, day, v FROM sales',
    target: { engine: 'ReplacingMergeTree', engine_sorting_key: 'user', ...byMonth },
    damage: { day: '2026-01-05', user: 'ghost', v: 1 },
    seen: { rows_missing: 0, rows_extra: 1, rows_different: 0, samples: ["('ghost')"] },
  },
  signed: {
    sql: 'SELECT user, day, v, toInt8(if(v % 5 = 0, -1, 1)) AS sign FROM sales',
    target: { engine: 'CollapsingMergeTree', engine_sorting_key: 'user, v', engine_sign: 'sign', ...byMonth },
    damage: { day: '2026-01-01', user: 'ghost', v: 1, sign: 1 },
    seen: { rows_missing: 0, rows_extra: 1, rows_different: 0 },
  },
  versioned: {
    sql: 'SELECT user, day, v, toInt8(if(v % 5 = 0, -1, 1)) AS sign FROM sales',
    target: {
      ...{ engine: 'VersionedCollapsingMergeTree', engine_sorting_key: 'user, v' },
      ...{ engine_sign: 'sign', engine_version: 'v', ...byMonth },
    },
    damage: { day: '2026-01-01', user: 'ghost', v: 1, sign: 1 },
    seen: { rows_missing: 0, rows_extra: 1, rows_different: 0 },
  },
  deleting: {
    sql: 'SELECT user, day, v, toUInt8(v % 5 = 0) AS gone FROM sales',
    target: {
      ...{ engine: 'ReplacingMergeTree', engine_sorting_key: 'user' },
      ...{ engine_ver: 'v', engine_is_deleted: 'gone', ...byMonth },
    },
    damage: { day: '2026-01-01', user: 'ghost', v: 9_999, gone: 0 },
    seen: { rows_missing: 0, rows_extra: 1, rows_different: 0, samples: ["('ghost')"] },
  },
}

export const salesSchema = 'day Date, user String, v UInt64, price Float64'

/** Rows of two months, as many of each. */
export function salesRows(from: number, count: number): readonly object[] {
  return Array.from({ length: count }, (_, row) => {
    const n = from + row
    return { day: `2026-0${1 + (n % 2)}-01`, user: `u${n % 7}`, v: n, price: n / 10 }
  })
}
