import { bodiesPerSecond, storedRowsPerSecond } from './events-case.ts'
import type { EventsCaseResult, EventsRun, ReceiverName } from './events-case.types.ts'
import { type Spread, spreadOf } from './statistics.ts'
import { textTable } from './text-table.ts'

const titles: Readonly<Record<ReceiverName, string>> = {
  millrace: 'Millrace',
  clickhouse: 'ClickHouse, async_insert',
  fastify: 'bare Fastify route',
}

const header = [
  'body',
  'receiver',
  'requests/s',
  'thousand rows/s',
  'until stored',
  'CPU s per million rows',
  'CPU %',
  'main thread µs a request',
  'sender CPU %',
  'refused',
  'ratio min',
  'median',
  'max',
]

/** One line for each case and receiver: medians, and the spread of the ratio of each round. */
export function eventsTable(results: readonly EventsCaseResult[]): string {
  const rows = results.flatMap((result) => [
    lineOf(result, 'millrace', result.ratio),
    lineOf(result, 'clickhouse', null),
    lineOf(result, 'fastify', result.share),
  ])
  return `${textTable(header, rows)}

Ratios are pairs of one round: on Millrace's line its requests by ClickHouse's, on Fastify's line Millrace's requests by
Fastify's. Until stored: thousand rows a second, by the time until a query finds the last row${storedRatios(results)}.`
}

function storedRatios(results: readonly EventsCaseResult[]): string {
  return results.map(({ name, storedRatio }) => `; ${name} ${storedRatio.median.toFixed(2)} × ClickHouse`).join('')
}

function lineOf(result: EventsCaseResult, name: ReceiverName, ratio: Spread | null): readonly string[] {
  const runs = result.rounds.map((round) => round[name])
  const median = (value: (run: EventsRun) => number) => spreadOf(runs.map(value)).median
  return [
    result.name,
    titles[name],
    Math.round(median(bodiesPerSecond)).toString(),
    median((run) => (bodiesPerSecond(run) * result.rowsPerBody) / 1_000).toFixed(1),
    name === 'fastify' ? '' : median((run) => storedRowsPerSecond(run) / 1_000).toFixed(1),
    median((run) => (run.cpuSeconds / run.rowCount) * 1e6).toFixed(2),
    Math.round(median((run) => (run.cpuSeconds / (run.elapsedMs + run.storedAfterMs)) * 1e5)).toString(),
    name === 'clickhouse' ? '' : median((run) => (run.mainThreadSeconds / run.bodyCount) * 1e6).toFixed(1),
    Math.round(median((run) => (run.senderCpuSeconds / run.elapsedMs) * 1e5)).toString(),
    runs.reduce((total, run) => total + run.refusedCount, 0).toString(),
    ...(ratio === null ? ['', '', ''] : [ratio.min, ratio.median, ratio.max].map((value) => value.toFixed(2))),
  ]
}
