import { eventsTable } from './event-receivers.ts'
import { workloads } from './workloads.ts'

/** A kind of view over the events, whose populate is measured. */
export interface RateCase {
  readonly name: string
  readonly sql: string
  /** Of the target. */
  readonly engine: Readonly<Record<string, string>>
  readonly tableColumns: string
  /** Two numbers over the target that are equal when the same rows are there. */
  readonly sums: string
}

export const rateCases: readonly RateCase[] = [
  {
    name: 'by hour',
    sql: `SELECT toStartOfHour(ts) AS hour, path, countState() AS hits, sumState(n) AS total FROM ${eventsTable} GROUP BY hour, path`,
    engine: { engine: 'AggregatingMergeTree', engine_sorting_key: 'hour, path' },
    tableColumns:
      'hour DateTime64(3), path String, hits AggregateFunction(count), total AggregateFunction(sum, UInt32)',
    sums: 'toFloat64(countMerge(hits)) AS rowCount, toFloat64(sumMerge(total)) AS added',
  },
  {
    // Groups of which each chunk has most, as it is with users where rows are sorted by time.
    name: 'by session',
    sql: `SELECT cityHash64(ts) % 200000 AS session, countState() AS hits, sumState(n) AS total FROM ${eventsTable} GROUP BY session`,
    engine: { engine: 'AggregatingMergeTree', engine_sorting_key: 'session' },
    tableColumns: 'session UInt64, hits AggregateFunction(count), total AggregateFunction(sum, UInt32)',
    sums: 'toFloat64(countMerge(hits)) AS rowCount, toFloat64(sumMerge(total)) AS added',
  },
  {
    name: 'by user',
    sql: `SELECT user, countState() AS hits, sumState(n) AS total, maxSimpleState(ts) AS last FROM ${eventsTable} GROUP BY user`,
    engine: { engine: 'AggregatingMergeTree', engine_sorting_key: 'user' },
    tableColumns:
      'user String, hits AggregateFunction(count), total AggregateFunction(sum, UInt32), last SimpleAggregateFunction(max, DateTime64(3))',
    sums: 'toFloat64(countMerge(hits)) AS rowCount, toFloat64(sumMerge(total)) AS added',
  },
  {
    name: 'plain',
    sql: `SELECT ts, user, path, n, v * 2 AS v FROM ${eventsTable} WHERE n % 10 != 3`,
    engine: { engine: 'MergeTree', engine_sorting_key: 'user, ts' },
    tableColumns: workloads.events.formats.ndjson.schema,
    sums: 'toFloat64(count()) AS rowCount, toFloat64(sum(n)) AS added',
  },
]

/** Views that one data source has, each of which takes a part of its rows. */
export const viewsOfIngest = 20

export const ingestSql = (index: number, table: string): string =>
  `SELECT user, toStartOfHour(ts) AS hour, countState() AS hits, sumState(n) AS total FROM ${table} WHERE n % ${viewsOfIngest} = ${index} GROUP BY user, hour`
