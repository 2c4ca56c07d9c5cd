import type { BoundedCounts } from './bounded-counts.ts'
import { type Family, family, histograms, type Sample } from './family.ts'
import type { Recorder, RowsIn, SourceCounts } from './recorder.ts'

/** Names of what is counted by id; undefined for what is gone. */
export interface RecordedNames {
  readonly dataSourceName: (id: string) => string | undefined
  readonly pipeName: (id: string) => string | undefined
}

/** The families of all that was counted. */
export function recordedFamilies(recorder: Recorder, names: RecordedNames): readonly Family[] {
  return [
    ...requestFamilies(recorder),
    ...endpointFamilies(recorder, names),
    ...sourceFamilies(recorder.sources, names),
    histograms(
      'millrace_log_sync_duration_seconds',
      'Time of one write and sync of the log of events, which all events that wait for it share.',
      [{ labels: {}, times: recorder.logSyncs }],
    ),
    ...jobFamilies(recorder),
    family(
      'millrace_limit_hits_total',
      'Requests that a limit refused, by limit.',
      named(recorder.limits.entries(), 'limit'),
    ),
  ]
}

function requestFamilies({ routes, unmatched, errors }: Recorder): readonly Family[] {
  const asked = [...routes, unmatched].filter(({ codes }) => codes.total > 0)
  return [
    family(
      'millrace_http_requests_total',
      'Requests that were answered, by route, method and status.',
      asked.flatMap(({ method, route, codes }) =>
        [...codes.entries()].map(([code, value]) => ({ labels: { method, route, code: String(code) }, value })),
      ),
    ),
    histograms(
      'millrace_http_request_duration_seconds',
      'Time from the head of a request to the last byte of its answer, by route and method.',
      asked.map(({ method, route, times }) => ({ labels: { method, route }, times })),
    ),
    family(
      'millrace_http_errors_total',
      'Errors that were answered, by their code in docs/errors.md.',
      named(errors.entries(), 'error'),
    ),
  ]
}

function endpointFamilies({ endpoints }: Recorder, { pipeName }: RecordedNames): readonly Family[] {
  const all = [...endpoints.entries(pipeName)]
  return [
    histograms(
      'millrace_endpoint_request_duration_seconds',
      'Time of requests for the data of a pipe that were answered without an error, by pipe.',
      all.map(([pipe, { times }]) => ({ labels: { pipe }, times })),
    ),
    family(
      'millrace_endpoint_errors_total',
      'Requests for the data of a pipe that were answered with an error, by pipe and status.',
      all.flatMap(([pipe, { errorCodes }]) =>
        [...errorCodes.entries()].map(([code, value]) => ({ labels: { pipe, code: String(code) }, value })),
      ),
    ),
  ]
}

function sourceFamilies(sources: BoundedCounts<SourceCounts>, { dataSourceName }: RecordedNames): readonly Family[] {
  const all = [...sources.entries(dataSourceName)]
  const ofBoth = (count: (rows: RowsIn) => number): readonly Sample[] =>
    all.flatMap(([datasource, { events, imports }]) => [
      { labels: { datasource, way: 'events' }, value: count(events) },
      { labels: { datasource, way: 'import' }, value: count(imports) },
    ])
  return [
    family(
      'millrace_datasource_rows_total',
      'Rows that fit their data source, those of events as soon as they are acknowledged.',
      ofBoth(({ rows }) => rows),
    ),
    family(
      'millrace_datasource_quarantined_rows_total',
      'Rows and lines that were set aside, by data source.',
      ofBoth(({ quarantinedRows }) => quarantinedRows),
    ),
    family(
      'millrace_datasource_received_bytes_total',
      'Bytes of rows that came in: of events as the log has them, of imports unpacked, of Parquet files as they are.',
      ofBoth(({ bytes }) => bytes),
    ),
    histograms(
      'millrace_datasource_queryable_lag_seconds',
      'Time from the acknowledgement of the oldest event of a block to the moment from which queries see it.',
      all.map(([datasource, { lag: times }]) => ({ labels: { datasource }, times })),
    ),
  ]
}

function jobFamilies({ endedJobs }: Recorder): readonly Family[] {
  const all = [...endedJobs]
  return [
    family(
      'millrace_jobs_ended_total',
      'Jobs that have ended, by kind and status.',
      all.flatMap(([kind, { statuses }]) =>
        [...statuses.entries()].map(([status, value]) => ({ labels: { kind, status }, value })),
      ),
    ),
    histograms(
      'millrace_job_duration_seconds',
      'Time from the beginning of the work of a job to its end, by kind.',
      all.map(([kind, { times }]) => ({ labels: { kind }, times })),
    ),
  ]
}

function named(counts: Iterable<readonly [name: string, count: number]>, label: string): readonly Sample[] {
  return [...counts].map(([name, value]) => ({ labels: { [label]: name }, value }))
}
