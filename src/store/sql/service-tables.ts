// What the tables behind the service data sources consist of. They lie beside those of the data sources, with names that none of
// these can have; whoever looks for tables of data sources goes by ids.
//
// Names, order and types of columns are public: https://www.tinybird.co/docs/monitoring/service-datasources; `tokens_log` and `limits_log`
// are of this service alone.

/** What tells how long rows are kept: single requests, days added up, or what was done to data sources, and by jobs. */
export type KeptRows = 'requests' | 'totals' | 'operations'

export interface ServiceTable {
  /** Names with types, in order. */
  readonly columns: readonly (readonly [name: string, type: string])[]
  readonly engine: string
  readonly partitionKey: string
  readonly sortingKey: string
  /** The column that the age of a row is told by. */
  readonly timeColumn: string
  readonly kept: KeptRows
  /** Where rows come as other fields than the columns: these, and the expressions over them, one for each column named. */
  readonly filledFrom?: {
    readonly fields: string
    readonly expressions: Readonly<Record<string, string>>
  }
}

const logged = { engine: 'MergeTree', partitionKey: 'toDate(timestamp)', timeColumn: 'timestamp' } as const

export const serviceTables = {
  pipe_stats_rt: {
    columns: [
      ['start_datetime', 'DateTime'],
      ['pipe_id', 'String'],
      ['pipe_name', 'String'],
      ['duration', 'Float64'],
      ['read_bytes', 'UInt64'],
      ['read_rows', 'UInt64'],
      ['result_rows', 'UInt64'],
      ['url', 'String'],
      ['error', 'UInt8'],
      ['request_id', 'String'],
      ['token', 'String'],
      ['token_name', 'String'],
      ['status_code', 'Int32'],
      ['method', 'String'],
      ['parameters', 'Map(String, String)'],
      ['release', 'String'],
      ['user_agent', 'String'],
      ['resource_tags', 'Array(String)'],
      ['cpu_time', 'Float64'],
      ['memory_usage', 'UInt64'],
    ],
    engine: 'MergeTree',
    partitionKey: 'toDate(start_datetime)',
    sortingKey: 'start_datetime',
    timeColumn: 'start_datetime',
    kept: 'requests',
  },
  pipe_stats: {
    columns: [
      ['date', 'Date'],
      ['pipe_id', 'String'],
      ['pipe_name', 'String'],
      ['view_count', 'UInt64'],
      ['error_count', 'UInt64'],
      ['avg_duration_state', 'AggregateFunction(avg, Float64)'],
      ['quantile_timing_state', 'AggregateFunction(quantilesTiming(0.9, 0.95, 0.99), Float64)'],
      ['read_bytes_sum', 'UInt64'],
      ['read_rows_sum', 'UInt64'],
      ['resource_tags', 'Array(String)'],
    ],
    engine: 'SummingMergeTree((view_count, error_count, read_bytes_sum, read_rows_sum))',
    partitionKey: 'toYYYYMM(date)',
    sortingKey: 'date, pipe_id, pipe_name, resource_tags',
    timeColumn: 'date',
    kept: 'totals',
    filledFrom: {
      fields: `date Date, pipe_id String, pipe_name String, view_count UInt64, error_count UInt64,
        durations Array(Float64), read_bytes_sum UInt64, read_rows_sum UInt64`,
      expressions: {
        date: 'date',
        pipe_id: 'pipe_id',
        pipe_name: 'pipe_name',
        view_count: 'view_count',
        error_count: 'error_count',
        avg_duration_state: "arrayReduce('avgState', durations)",
        quantile_timing_state: "arrayReduce('quantilesTimingState(0.9, 0.95, 0.99)', durations)",
        read_bytes_sum: 'read_bytes_sum',
        read_rows_sum: 'read_rows_sum',
      },
    },
  },
  endpoint_errors: {
    columns: [
      ['start_datetime', 'DateTime'],
      ['request_id', 'String'],
      ['pipe_id', 'String'],
      ['pipe_name', 'String'],
      ['params', 'Map(String, String)'],
      ['url', 'String'],
      ['status_code', 'Int32'],
      ['error', 'String'],
    ],
    engine: 'MergeTree',
    partitionKey: 'toDate(start_datetime)',
    sortingKey: 'start_datetime',
    timeColumn: 'start_datetime',
    kept: 'operations',
  },
  datasources_ops_log: {
    columns: [
      ['timestamp', 'DateTime'],
      ['event_type', 'String'],
      ['datasource_id', 'String'],
      ['datasource_name', 'String'],
      ['result', 'String'],
      ['elapsed_time', 'Float64'],
      ['error', 'String'],
      ['import_id', 'String'],
      ['job_id', 'String'],
      ['request_id', 'String'],
      ['rows', 'UInt64'],
      ['rows_quarantine', 'UInt64'],
      ['blocks_ids', 'Array(String)'],
      ['Options.Names', 'Array(String)'],
      ['Options.Values', 'Array(String)'],
      ['pipe_id', 'String'],
      ['pipe_name', 'String'],
      ['read_rows', 'UInt64'],
      ['read_bytes', 'UInt64'],
      ['written_rows', 'UInt64'],
      ['written_bytes', 'UInt64'],
      ['written_rows_quarantine', 'UInt64'],
      ['written_bytes_quarantine', 'UInt64'],
      ['operation_id', 'String'],
      ['release', 'String'],
      ['resource_tags', 'Array(String)'],
      ['cpu_time', 'Float64'],
      ['memory_usage', 'UInt64'],
    ],
    ...logged,
    sortingKey: 'timestamp',
    kept: 'operations',
  },
  block_log: {
    columns: [
      ['timestamp', 'DateTime'],
      ['import_id', 'String'],
      ['job_id', 'String'],
      ['request_id', 'String'],
      ['source', 'String'],
      ['block_id', 'String'],
      ['status', 'String'],
      ['datasource_id', 'String'],
      ['datasource_name', 'String'],
      ['start_offset', 'UInt64'],
      ['end_offset', 'UInt64'],
      ['rows', 'UInt64'],
      ['parser', 'String'],
      ['quarantine_lines', 'UInt64'],
      ['empty_lines', 'UInt64'],
      ['bytes', 'UInt64'],
      ['processing_time', 'Float64'],
      ['processing_error', 'String'],
    ],
    ...logged,
    sortingKey: 'timestamp',
    kept: 'operations',
  },
  jobs_log: {
    columns: [
      ['job_id', 'String'],
      ['job_type', 'String'],
      ['workspace_id', 'String'],
      ['pipe_id', 'String'],
      ['pipe_name', 'String'],
      ['created_at', 'DateTime'],
      ['updated_at', 'DateTime'],
      ['started_at', 'DateTime'],
      ['status', 'String'],
      ['error', 'String'],
      ['job_metadata', 'String'],
    ],
    // A job has a row for each status that it has had until they are merged; readers see the last.
    engine: 'ReplacingMergeTree(updated_at)',
    partitionKey: 'toYYYYMM(created_at)',
    sortingKey: 'created_at, job_id',
    timeColumn: 'updated_at',
    kept: 'operations',
  },
  datasources_storage: {
    columns: [
      ['timestamp', 'DateTime'],
      ['datasource_id', 'String'],
      ['datasource_name', 'String'],
      ['bytes', 'UInt64'],
      ['rows', 'UInt64'],
      ['bytes_quarantine', 'UInt64'],
      ['rows_quarantine', 'UInt64'],
    ],
    engine: 'MergeTree',
    partitionKey: 'toYYYYMM(timestamp)',
    sortingKey: 'timestamp, datasource_id',
    timeColumn: 'timestamp',
    kept: 'totals',
  },
  tokens_log: {
    columns: [
      ['timestamp', 'DateTime'],
      ['event_type', 'String'],
      ['token', 'String'],
      ['token_name', 'String'],
      ['editor', 'String'],
      ['editor_name', 'String'],
      ['changed_fields', 'Array(String)'],
      ['scopes', 'Array(String)'],
    ],
    ...logged,
    sortingKey: 'timestamp',
    kept: 'operations',
  },
  limits_log: {
    columns: [
      ['timestamp', 'DateTime'],
      ['limit_name', 'String'],
      ['error_code', 'String'],
      ['status_code', 'Int32'],
      ['request_id', 'String'],
      ['token', 'String'],
      ['token_name', 'String'],
      ['resource', 'String'],
    ],
    ...logged,
    sortingKey: 'timestamp',
    kept: 'operations',
  },
} as const satisfies Readonly<Record<string, ServiceTable>>

export type ServiceTableName = keyof typeof serviceTables

// Object.keys gives plain strings; the table has these keys and no others.
export const serviceTableNames = Object.keys(serviceTables) as readonly ServiceTableName[]

/** The name of a table in the engine. */
export function serviceTableInEngine(name: ServiceTableName): string {
  return `service_${name}`
}
