// The service data sources of the workspace, `tinybird.X` in SQL: what a service tells of its own work.
//
// Those that the service fills are tables (`store/sql/service-tables.ts`). The others have their columns, so that pipes over them
// can be saved and read as in the hosted service, and no rows, as there is nothing here that they could tell of.

import type { QuerySource, Source, TableSource } from '../sql/source.types.ts'
import {
  type ServiceTable,
  type ServiceTableName,
  serviceTableInEngine,
  serviceTables,
} from '../store/sql/service-tables.ts'
import { workspaceDatabase } from '../store/workspace-database.ts'
import type { FindServiceSource } from './workspace.types.ts'

/** Names, columns and types are public: https://www.tinybird.co/docs/monitoring/service-datasources */
const emptySchemas: Readonly<Record<string, string>> = {
  kafka_ops_log: `timestamp DateTime, datasource_id String, topic String, partition Int16, msg_type String, lag Int64,
    processed_messages Int64, processed_bytes Int64, committed_messages Int64, msg String`,
  sinks_ops_log: `timestamp DateTime, service String, pipe_id String, pipe_name String, token_name String,
    result String, error String, elapsed_time Float64, job_id String, read_rows UInt64, written_rows UInt64,
    read_bytes UInt64, written_bytes UInt64, output Array(String), parameters Map(String, String),
    options Map(String, String)`,
  bi_stats_rt: `start_datetime DateTime, query String, query_normalized String, error_code Int32, error String,
    duration UInt64, read_rows UInt64, read_bytes UInt64, result_rows UInt64, result_bytes UInt64`,
  bi_stats: `date Date, database String, query_normalized String, view_count UInt64, error_count UInt64,
    avg_duration_state AggregateFunction(avg, Float64), quantile_timing_state
    AggregateFunction(quantilesTiming(0.9, 0.95, 0.99), Float64), read_bytes_sum UInt64, read_rows_sum UInt64,
    avg_result_rows_state AggregateFunction(avg, Float64), avg_result_bytes_state AggregateFunction(avg, Float64)`,
  data_transfer: `timestamp DateTime, event String, origin_provider String, origin_region String,
    destination_provider String, destination_region String, kind String, bytes UInt64`,
  datasources_ops_stats: `event_date Date, event_type String, pipe_id String, pipe_name String, error_count UInt64,
    executions UInt64, avg_elapsed_time_state AggregateFunction(avg, Float64), quantiles_state
    AggregateFunction(quantilesTiming(0.9, 0.95, 0.99), Float64), read_bytes UInt64, read_rows UInt64,
    written_rows UInt64, written_bytes UInt64, written_rows_quarantine UInt64, written_bytes_quarantine UInt64,
    resource_tags Array(String)`,
  llm_usage: `start_time DateTime, end_time DateTime, request_id String, user_id String, workspace_id String,
    feature String, origin String, model String, provider String, input_tokens UInt64, output_tokens UInt64,
    duration Float64, cost Float64, error String`,
}

/** Of the organization alone, beside what its workspaces have. */
const organizationSchemas: Readonly<Record<string, string>> = {
  workspaces: 'workspace_id String, name String, created_at DateTime, deleted_at DateTime',
  processed_data: 'date Date, workspace_id String, read_bytes UInt64, written_bytes UInt64',
}

/** @param areFilled whether the service writes rows; false gives all of them as they are without any. */
export function createServiceSources(areFilled: boolean): FindServiceSource {
  return (parts) => {
    const [workspace, name = ''] = parts
    const isOfOrganization = workspace === 'organization'
    if (isOfOrganization && Object.hasOwn(organizationSchemas, name))
      return emptySource(parts, organizationSchemas[name] ?? '')
    const isFilled = areFilled && !isOfOrganization && isTableName(name)
    if (isFilled) return filledSource(parts, name)
    const schema = schemaOf(name)
    if (schema === undefined) return undefined
    // The organization tells which of its workspaces a row is of.
    const hasWorkspace = /\bworkspace_id\b/.test(schema)
    return emptySource(parts, isOfOrganization && !hasWorkspace ? `workspace_id String, ${schema}` : schema)
  }
}

function isTableName(name: string): name is ServiceTableName {
  return Object.hasOwn(serviceTables, name)
}

function schemaOf(name: string): string | undefined {
  if (Object.hasOwn(emptySchemas, name)) return emptySchemas[name]
  if (!isTableName(name)) return undefined
  const { columns }: ServiceTable = serviceTables[name]
  return columns.map(([column, type]) => `\`${column}\` ${type}`).join(', ')
}

function filledSource(parts: readonly string[], name: ServiceTableName): Source {
  const source = tableSource(parts, name)
  if (serviceTables[name].engine !== latestRowsEngine) return source
  // Rows of one key become one when they are merged, and until then the last one counts.
  return { ...queryOf(parts, 'SELECT * FROM rows FINAL'), scope: { find: () => source } }
}

const latestRowsEngine = 'ReplacingMergeTree(updated_at)'

function tableSource(parts: readonly string[], name: ServiceTableName): TableSource {
  const table: ServiceTable = serviceTables[name]
  return {
    kind: 'table',
    database: workspaceDatabase,
    table: serviceTableInEngine(name),
    name: parts.join('.'),
    columns: table.columns.map(([column]) => column),
    isJoin: false,
    isMergeTree: true,
    filter: null,
  }
}

/** The query names no source, so it needs no names. */
function emptySource(parts: readonly string[], schema: string): QuerySource {
  return queryOf(parts, `SELECT * FROM null('${schema.replaceAll(/\s+/g, ' ')}')`)
}

function queryOf(parts: readonly string[], sql: string): QuerySource {
  const name = parts.join('.')
  return { kind: 'query', id: name, name, sql: () => sql, scope: { find: () => undefined } }
}
