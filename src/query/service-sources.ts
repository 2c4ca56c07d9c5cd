// The service data sources of the workspace, `tinybird.X` in SQL: what a service tells of its own work.
//
// Their columns are there, so that pipes over them can be saved and read as in the hosted service; nothing is written into
// them yet, and so they have no rows.

import type { QuerySource } from '../sql/source.types.ts'

/** Names, columns and types are public: https://www.tinybird.co/docs/monitoring/service-datasources */
const schemas: Readonly<Record<string, string>> = {
  pipe_stats_rt: `start_datetime DateTime, pipe_id String, pipe_name String, duration Float64, read_bytes UInt64,
    read_rows UInt64, result_rows UInt64, url String, error UInt8, request_id String, token String, token_name String,
    status_code Int32, method String, parameters Map(String, String), release String, user_agent String,
    resource_tags Array(String), cpu_time Float64, memory_usage UInt64`,
  pipe_stats: `date Date, pipe_id String, pipe_name String, view_count UInt64, error_count UInt64,
    avg_duration_state AggregateFunction(avg, Float64), quantile_timing_state
    AggregateFunction(quantilesTiming(0.9, 0.95, 0.99), Float64), read_bytes_sum UInt64, read_rows_sum UInt64,
    resource_tags Array(String)`,
  endpoint_errors: `start_datetime DateTime, request_id String, pipe_id String, pipe_name String,
    params Map(String, String), url String, status_code Int32, error String`,
  datasources_ops_log: `timestamp DateTime, event_type String, datasource_id String, datasource_name String,
    result String, elapsed_time Float64, error String, import_id String, job_id String, request_id String, rows UInt64,
    rows_quarantine UInt64, blocks_ids Array(String), Options Nested(Names String, Values String), pipe_id String,
    pipe_name String, read_rows UInt64, read_bytes UInt64, written_rows UInt64, written_bytes UInt64,
    written_rows_quarantine UInt64, written_bytes_quarantine UInt64, operation_id String, release String,
    resource_tags Array(String), cpu_time Float64, memory_usage UInt64`,
  block_log: `timestamp DateTime, import_id String, job_id String, request_id String, source String, block_id String,
    status String, datasource_id String, datasource_name String, start_offset UInt64, end_offset UInt64, rows UInt64,
    parser String, quarantine_lines UInt64, empty_lines UInt64, bytes UInt64, processing_time Float64,
    processing_error String`,
  jobs_log: `job_id String, job_type String, workspace_id String, pipe_id String, pipe_name String,
    created_at DateTime, updated_at DateTime, started_at DateTime, status String, error String, job_metadata String`,
  kafka_ops_log: `timestamp DateTime, datasource_id String, topic String, partition Int16, msg_type String, lag Int64,
    processed_messages Int64, processed_bytes Int64, committed_messages Int64, msg String`,
  datasources_storage: `timestamp DateTime, datasource_id String, datasource_name String, bytes UInt64, rows UInt64,
    bytes_quarantine UInt64, rows_quarantine UInt64`,
  sinks_ops_log: `timestamp DateTime, service String, pipe_id String, pipe_name String, token_name String,
    result String, error String, elapsed_time Float64, job_id String, read_rows UInt64, written_rows UInt64,
    read_bytes UInt64, written_bytes UInt64, output Array(String), parameters Map(String, String),
    options Map(String, String)`,
  bi_stats_rt: `start_datetime DateTime, query String, query_normalized String, error_code Int32, error String,
    duration UInt64, read_rows UInt64, read_bytes UInt64, result_rows UInt64, result_bytes UInt64`,
}

/** A service data source by the parts of its name; undefined when there is none of this name. */
export function findServiceSource(parts: readonly string[]): QuerySource | undefined {
  const [workspace, table = ''] = parts
  const schema = workspace === 'tinybird' && Object.hasOwn(schemas, table) ? schemas[table] : undefined
  if (schema === undefined) return undefined
  const name = parts.join('.')
  const oneLine = schema.replaceAll(/\s+/g, ' ')
  // The query names no source, so it needs no names.
  return {
    kind: 'query',
    id: name,
    name,
    sql: () => `SELECT * FROM null('${oneLine}')`,
    scope: { find: () => undefined },
  }
}
