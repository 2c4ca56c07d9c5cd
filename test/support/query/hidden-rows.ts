// Three copies of the same data sources and pipes: two whose hidden rows differ, and one that has none. Whoever is shown the
// visible rows alone must get the same from each of them.

/** What stands behind the names of a copy: two with hidden rows, and the reference, which has none. */
export const suffixes = ['_x', '_y', '_r'] as const
export type Suffix = (typeof suffixes)[number]

/** The data sources. Readers see all rows of `open`, and read `outs` through pipes alone. */
export const sourceBases = ['ev', 'rep', 'joined', 'outs', 'open'] as const
export type SourceBase = (typeof sourceBases)[number]

/** Columns of all of them: names and types. */
export const columns = [
  ['id', 'UInt64'],
  ['tenant', 'LowCardinality(String)'],
  ['n', 'Int32'],
  ['s', 'String'],
  ['tags', 'Array(LowCardinality(String))'],
  ['d', 'Date'],
] as const

/** A query of the rows that readers are shown of each data source. */
export const visible =
  "SELECT number AS id, if(number % 3 = 0, 'b', 'a') AS tenant, toInt32(number % 17) AS n, toString(number * 7) AS s, [tenant, s] AS tags, toDate('2024-01-01') + number % 60 AS d FROM numbers(40)"

const hidden: Readonly<Record<Suffix, string | null>> = {
  _x: "SELECT number * 2 + 7 AS id, 'SECRETT' AS tenant, -3 AS n, concat('SECRET', toString(number)) AS s, ['SECRETA'] AS tags, toDate('2024-02-05') AS d FROM numbers(30)",
  _y: "SELECT number + 1000 AS id, concat('SECRETT', toString(number % 9)) AS tenant, toInt32(number) - 500 AS n, 'SECRETZ' AS s, ['SECRETB', 'SECRETC'] AS tags, toDate('2031-05-05') + number % 2000 AS d FROM numbers(9000)",
  _r: null,
}

/** A query of the rows that a data source has besides; null for none. */
export function hiddenIn(base: SourceBase, suffix: Suffix): string | null {
  return base === 'open' ? null : hidden[suffix]
}

export interface PipeDefinition {
  readonly base: string
  /** Queries by the names of their nodes. */
  readonly nodes: Readonly<Record<string, string>>
  /** The node that is published; undefined for none, and then the last one is read. */
  readonly endpoint?: string
}

/** Pipes over data sources, and over each other. */
export function pipesOf(suffix: Suffix): readonly PipeDefinition[] {
  return [
    {
      base: 'rows',
      nodes: {
        raw: `SELECT * FROM outs${suffix} WHERE n != 3`,
        all: 'SELECT id, tenant AS who, tenant, n, s, tags, d FROM raw ORDER BY id',
      },
    },
    {
      base: 'over',
      nodes: { all: `SELECT id, who AS tenant, n + 1 AS n, s, tags, d FROM rows${suffix}` },
      endpoint: 'all',
    },
    {
      base: 'inner',
      nodes: { first: `SELECT * FROM ev${suffix}`, all: 'SELECT * FROM first ORDER BY id' },
      endpoint: 'all',
    },
    {
      base: 'fixed',
      nodes: {
        all: `% SELECT * FROM outs${suffix} WHERE tenant = {{String(tenant, 'a')}} AND n > {{Int32(low, -9)}} ORDER BY id`,
      },
      endpoint: 'all',
    },
    {
      base: 'under',
      nodes: { all: `% SELECT * FROM fixed${suffix} WHERE n < {{Int32(high, 99)}} ORDER BY id` },
      endpoint: 'all',
    },
  ]
}
