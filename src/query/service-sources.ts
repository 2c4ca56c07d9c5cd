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
}

/** @param areFilled whether the service writes rows; false gives all of them as they are without any. */
export function createServiceSources(areFilled: boolean): FindServiceSource {
  return (parts) => {
    const [workspace, name = ''] = parts
    if (workspace !== 'tinybird') return undefined
    if (Object.hasOwn(emptySchemas, name)) return emptySource(parts, emptySchemas[name] ?? '')
    if (!isTableName(name)) return undefined
    const table = serviceTables[name]
    return areFilled ? filledSource(parts, name) : emptySource(parts, schemaOf(table))
  }
}

function isTableName(name: string): name is ServiceTableName {
  return Object.hasOwn(serviceTables, name)
}

function schemaOf({ columns }: ServiceTable): string {
  return columns.map(([name, type]) => `\`${name}\` ${type}`).join(', ')
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
