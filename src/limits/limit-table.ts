// The one table of limits: what each bounds, for whom, and which option sets it. `GET /v0/limits` and docs/limits.md are made of
// it. A limit of the specification whose object is not there yet stands in it too, so that nobody looks for it in vain.

import type { LimitName } from '../shared/limit-names.ts'
import { type OveragePrices, overageCostMax } from './overage.ts'
import { processorMsPerMinute } from './processor-time.ts'

/** The options that limits are made of. 0 sets no limit where an option may be 0. */
export interface LimitOptions extends OveragePrices {
  readonly plan: string
  readonly planVariant: string
  readonly schemaCreatesPerMinuteMax: number
  readonly importsPerMinuteMax: number
  readonly eventsPerSecondMax: number
  readonly eventsCreatesPerMinuteMax: number
  readonly variablesRequestsPerSecondMax: number
  readonly queriesPerSecondMax: number
  readonly queriesBurstFactor: number
  readonly queriesOverage: 'count' | 'plan' | 'refuse'
  readonly queriesPerDayMax: number
  readonly processorPercentMax: number
  readonly processorBurstFactor: number
  readonly processorBaseRateMs: number
  readonly connectionsPerAddressMax: number
  readonly dataSourcesMax: number
  readonly columnsMax: number
  readonly tokensMax: number
  readonly storageBytesMax: number
  readonly storageOverage: 'refuse' | 'tell'
  readonly bodyUploadBytesMax: number
  readonly multipartBytesMax: number
  readonly multipartParquetBytesMax: number
  readonly formBytesMax: number
  readonly parquetBytesMax: number
  readonly decompressedBytesMax: number
  readonly partitionsPerBodyMax: number
  readonly eventsBodyBytesMax: number
  readonly sqlBytesMax: number
  readonly resultBytesMax: number
  readonly queryTimeMaxMs: number
  readonly queryThreadsMax: number
  readonly deleteJobsActiveMax: number
  readonly jobsWaitingMax: number
  readonly jobsWaitingPerTokenMax: number
  readonly jobResultsBytesMax: number
  readonly jobResultsBytesPerTokenMax: number
  readonly recordBytesMax: number
  readonly urlBytesMax: number
  readonly urlTimeMaxMs: number
  readonly engineMemoryBytesMax: number
}

export type LimitGroup = 'rates' | 'costs' | 'objects' | 'ingestion' | 'queries' | 'jobs' | 'no object yet'

/** For whom a limit counts. */
export type LimitScope = 'service' | 'address' | 'token' | 'data source' | 'request'

export interface LimitRow {
  readonly name: LimitName
  readonly group: LimitGroup
  readonly scope: LimitScope
  /** What it bounds, without an article or an end: `Data Sources`. */
  readonly what: string
  readonly unit: 'bytes' | 'ms' | 'money' | null
  /** Seconds of its window; null where it has none. */
  readonly windowSeconds: number | null
  /** The options that set it. */
  readonly options: readonly (keyof LimitOptions)[]
  /** Null for none. */
  readonly max: (options: LimitOptions) => number | null
}

/** Variables that a workspace may have; the catalog holds to it. */
const secretsMax = 100
const minuteSeconds = 60
const daySeconds = 86_400

const inService = { scope: 'service', unit: null, windowSeconds: null } as const
const perSecond = { group: 'rates', scope: 'service', unit: null, windowSeconds: 1 } as const
const perMinute = { ...perSecond, windowSeconds: minuteSeconds } as const
const object = { group: 'objects', ...inService } as const
const job = { group: 'jobs', ...inService } as const
const size = { group: 'ingestion', scope: 'request', unit: 'bytes', windowSeconds: null } as const
const query = { group: 'queries', scope: 'request', unit: 'bytes', windowSeconds: null } as const

/** A limit that one option sets. */
function by(option: NumericOption): Pick<LimitRow, 'max' | 'options'> {
  return { options: [option], max: (options) => options[option] || null }
}

type NumericOption = Exclude<keyof LimitOptions, 'plan' | 'planVariant' | 'queriesOverage' | 'storageOverage'>

/** A limit whose object the service does not have. */
function absent(name: LimitName, what: string): LimitRow {
  return { name, what, group: 'no object yet', ...inService, options: [], max: () => null }
}

export const limitTable: readonly LimitRow[] = [
  {
    name: 'creates_from_schema',
    what: 'Data Sources created from a schema',
    ...perMinute,
    ...by('schemaCreatesPerMinuteMax'),
  },
  {
    name: 'imports',
    what: 'Creations from files and URLs, appends and replaces, together',
    ...perMinute,
    ...by('importsPerMinuteMax'),
  },
  { name: 'events', what: 'Requests with events', ...perSecond, ...by('eventsPerSecondMax') },
  {
    name: 'creates_by_events',
    what: 'Data Sources created by events',
    ...perMinute,
    ...by('eventsCreatesPerMinuteMax'),
  },
  { name: 'secret_requests', what: 'Requests about variables', ...perSecond, ...by('variablesRequestsPerSecondMax') },
  {
    name: 'queries_per_second',
    what: 'Queries, with bursts',
    ...perSecond,
    options: ['queriesPerSecondMax', 'queriesBurstFactor'],
    max: ({ queriesPerSecondMax, queriesBurstFactor }) => queriesPerSecondMax * queriesBurstFactor || null,
  },
  {
    name: 'queries_per_minute',
    what: 'Queries on the average, where overage is refused',
    ...perMinute,
    options: ['queriesPerSecondMax', 'queriesOverage'],
    max: (options) => (isOverageCounted(options) ? null : options.queriesPerSecondMax * minuteSeconds || null),
  },
  { name: 'queries_per_day', what: 'Queries', ...perSecond, windowSeconds: daySeconds, ...by('queriesPerDayMax') },
  {
    name: 'processor_time',
    what: 'Processor time of queries, with bursts',
    ...perMinute,
    unit: 'ms',
    options: ['processorPercentMax', 'processorBurstFactor', 'processorBaseRateMs'],
    max: (options) => processorMsPerMinute(options.processorPercentMax) * options.processorBurstFactor || null,
  },
  {
    name: 'token_requests',
    what: 'Requests with one JWT that has `limits.rps`',
    ...perSecond,
    scope: 'token',
    options: [],
    max: () => null,
  },
  {
    name: 'connections',
    what: 'Connections of one address',
    group: 'rates',
    ...inService,
    scope: 'address',
    ...by('connectionsPerAddressMax'),
  },
  {
    name: 'overage_costs',
    what: 'Costs of queries over the rate in a month; told of, and never refused',
    group: 'costs',
    ...inService,
    unit: 'money',
    options: ['overagePriceMicros', 'baseFeeMicros', 'overageCostPercentMax'],
    max: (options) => (isOverageCounted(options) ? overageCostMax(options) : null),
  },
  { name: 'data_sources', what: 'Data Sources', ...object, ...by('dataSourcesMax') },
  { name: 'columns', what: 'Columns of a Data Source', ...object, scope: 'data source', ...by('columnsMax') },
  { name: 'tokens', what: 'Static tokens', ...object, ...by('tokensMax') },
  { name: 'secrets', what: 'Variables', ...object, options: [], max: () => secretsMax },
  { name: 'materialized_views', what: 'Materialized Views', ...object, options: [], max: () => null },
  {
    name: 'storage',
    what: 'Bytes on disk; told of, and refused only where the option says so',
    ...object,
    unit: 'bytes',
    ...by('storageBytesMax'),
    options: ['storageBytesMax', 'storageOverage'],
  },
  { name: 'body_upload_size', what: 'Rows that are the body of a request', ...size, ...by('bodyUploadBytesMax') },
  { name: 'multipart_size', what: 'CSV or NDJSON file in a form', ...size, ...by('multipartBytesMax') },
  { name: 'multipart_parquet_size', what: 'Parquet file in a form', ...size, ...by('multipartParquetBytesMax') },
  { name: 'form_size', what: 'Form', ...size, ...by('formBytesMax') },
  { name: 'parquet_file_size', what: 'Parquet file', ...size, ...by('parquetBytesMax') },
  { name: 'uncompressed_file_size', what: 'File when it is unpacked', ...size, ...by('decompressedBytesMax') },
  { name: 'events_request_size', what: 'Body of events', ...size, ...by('eventsBodyBytesMax') },
  { name: 'record_size', what: 'One record', ...size, ...by('recordBytesMax') },
  { name: 'url_file_size', what: 'File at a URL, as it is sent', ...size, ...by('urlBytesMax') },
  { name: 'url_import_time', what: 'Import by URL', ...size, unit: 'ms', ...by('urlTimeMaxMs') },
  {
    name: 'parts_at_once',
    what: 'Partitions of the rows of one body',
    ...size,
    unit: null,
    ...by('partitionsPerBodyMax'),
  },
  { name: 'sql_length', what: 'Query as text', ...query, ...by('sqlBytesMax') },
  { name: 'result_size', what: 'Answer of a query', ...query, ...by('resultBytesMax') },
  { name: 'query_time', what: 'Run of a query', ...query, unit: 'ms', ...by('queryTimeMaxMs') },
  {
    name: 'query_memory',
    what: 'Memory of a query',
    ...query,
    options: ['engineMemoryBytesMax'],
    max: ({ engineMemoryBytesMax }) => Math.floor(engineMemoryBytesMax / 2),
  },
  { name: 'query_threads', what: 'Threads of a query', ...query, unit: null, ...by('queryThreadsMax') },
  { name: 'delete_jobs', what: 'Deletes of rows that wait and work', ...job, ...by('deleteJobsActiveMax') },
  { name: 'jobs_waiting', what: 'Jobs of one kind that wait', ...job, ...by('jobsWaitingMax') },
  {
    name: 'jobs_waiting_per_token',
    what: 'Jobs of one kind and token that wait',
    ...job,
    scope: 'token',
    ...by('jobsWaitingPerTokenMax'),
  },
  {
    name: 'job_results',
    what: 'Results of queries that ran as jobs',
    ...job,
    unit: 'bytes',
    ...by('jobResultsBytesMax'),
  },
  {
    name: 'job_results_per_token',
    what: 'Results of queries that one token ran as jobs',
    ...job,
    scope: 'token',
    unit: 'bytes',
    ...by('jobResultsBytesPerTokenMax'),
  },
  absent('workspaces', 'Workspaces'),
  absent('members', 'Members'),
  absent('branches', 'Branches, main included'),
  absent('copy_pipes', 'Copy Pipes'),
  absent('copy_jobs', 'Copy jobs, and the rows and the time of each'),
  absent('sink_pipes', 'Sink Pipes'),
  absent('sink_jobs', 'Sink jobs, and the memory and the time of each'),
  absent('kafka_topics', 'Kafka topics'),
  absent('object_store_imports', 'Appends from an object store, by file'),
  absent('table_store_imports', 'Imports from a table store'),
  absent('llm_credits', 'Credits for language models'),
]

/** Whether queries over the rate are counted as overage, as they are billed, and not refused. */
export function isOverageCounted({ plan, queriesOverage }: Pick<LimitOptions, 'plan' | 'queriesOverage'>): boolean {
  const isPaidPlan = plan !== 'unlimited' && plan !== 'free'
  return queriesOverage === 'count' || (queriesOverage === 'plan' && isPaidPlan)
}
