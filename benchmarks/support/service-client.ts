import { Readable } from 'node:stream'
import ndjson from 'ndjson'
import type { SenderRequest } from './body-sender.types.ts'

/** The few calls of the service's API that benchmarks and the demo make. */
export interface ServiceClient {
  createDataSource(request: NewDataSource): Promise<void>
  dropDataSource(name: string): Promise<void>
  /** The request that appends a body, for whoever sends it. */
  appendRequest(name: string, format: 'csv' | 'ndjson'): SenderRequest
  /** The request that sends events; with `isWaiting` it is answered when they are stored. */
  eventsRequest(name: string, isWaiting: boolean): SenderRequest
  append(name: string, format: 'csv' | 'ndjson', body: Uint8Array): Promise<ImportResult>
  /** Answer of a query as text, in the format that its FORMAT clause names. */
  sql(query: string): Promise<string>
  rows<Row>(query: string): Promise<readonly Row[]>
}

export interface NewDataSource {
  readonly name: string
  readonly schema: string
  readonly format: 'csv' | 'ndjson'
  readonly sortingKey: string
}

/** What an import of a body answers. */
export interface ImportResult {
  readonly error: string | false
  readonly quarantine_rows?: number
  readonly invalid_lines?: number
}

export function createServiceClient(url: string, adminToken: string): ServiceClient {
  const headers = { authorization: `Bearer ${adminToken}` }
  const call = async (method: string, path: string, body?: Uint8Array | string): Promise<string> => {
    const response = await fetch(`${url}${path}`, { method, headers, ...(body === undefined ? {} : { body }) })
    const text = await response.text()
    if (!response.ok)
      throw new Error(`${method} ${path.slice(0, 80)} answered ${response.status}: ${text.slice(0, 2_000)}`)
    return text
  }
  const appendPath = (name: string, format: string) =>
    `/v0/datasources?${new URLSearchParams({ mode: 'append', name, format })}`
  const sql = (query: string) => call('POST', '/v0/sql', query)
  return {
    createDataSource: async ({ name, schema, format, sortingKey }) => {
      const parameters = { name, schema, format, engine: 'MergeTree', engine_sorting_key: sortingKey }
      await call('POST', `/v0/datasources?${new URLSearchParams(parameters)}`)
    },
    dropDataSource: async (name) => {
      await call('DELETE', `/v0/datasources/${encodeURIComponent(name)}`)
    },
    appendRequest: (name, format) => ({ url: `${url}${appendPath(name, format)}`, headers }),
    eventsRequest: (name, isWaiting) => ({
      url: `${url}/v0/events?${new URLSearchParams({ name, ...(isWaiting ? { wait: 'true' } : {}) })}`,
      headers,
    }),
    append: async (name, format, body) => parseImportResult(await call('POST', appendPath(name, format), body)),
    sql,
    rows: async <Row>(query: string) => {
      const lines = Readable.from([await sql(`${query} FORMAT JSONEachRow`)])
      const rows: Row[] = []
      // The parser is a stream of an older kind, without `toArray`.
      for await (const row of lines.pipe(ndjson.parse())) rows.push(row)
      return rows
    },
  }
}

export function parseImportResult(text: string): ImportResult {
  return JSON.parse(text) as ImportResult // The documented answer of an import.
}
