import type { Target } from './event-requests.ts'
import type { ServiceProcess } from './processes.ts'

type Format = 'csv' | 'ndjson'

/** The few calls of the service's API that benchmarks and the demo make. */
export interface ServiceClient {
  /** The text of an answer. @throws Error when it says that the call failed. */
  call(method: 'DELETE' | 'GET' | 'POST', path: string, body?: string): Promise<string>
  createDataSource(request: NewDataSource): Promise<void>
  dropDataSource(name: string): Promise<void>
  /** Where a body is appended, for whoever sends it. */
  appendTarget(name: string, format: Format | 'parquet'): Target
  /** Where events go; with `isWaiting` the answer comes when they are stored. */
  eventsTarget(name: string, isWaiting: boolean): Target
  append(name: string, format: Format, body: string): Promise<ImportResult>
  /** Answer of a query as text, in the format that its FORMAT clause names. */
  sql(query: string): Promise<string>
  rows<Row>(query: string): Promise<readonly Row[]>
}

export interface NewDataSource {
  readonly name: string
  readonly schema: string
  readonly format?: Format
  readonly sortingKey: string
  readonly partitionKey?: string
}

/** What an import of a body answers. */
export interface ImportResult {
  readonly error: string | false
  readonly quarantine_rows?: number
  readonly invalid_lines?: number
}

export function createServiceClient({ url, headers }: Pick<ServiceProcess, 'headers' | 'url'>): ServiceClient {
  const call: ServiceClient['call'] = async (method, path, body) => {
    const isJson = body !== undefined && path.startsWith('/v0/pipes')
    const response = await fetch(`${url}${path}`, {
      method,
      headers: isJson ? { ...headers, 'content-type': 'application/json' } : headers,
      ...(body === undefined ? {} : { body }),
    })
    const text = await response.text()
    if (!response.ok)
      throw new Error(`${method} ${path.slice(0, 99)} answered ${response.status}: ${text.slice(0, 999)}`)
    return text
  }
  const appendPath = (name: string, format: string) =>
    `/v0/datasources?${new URLSearchParams({ mode: 'append', name, format })}`
  const sql = (query: string) => call('POST', '/v0/sql', query)
  return {
    call,
    createDataSource: async ({ name, schema, format, sortingKey, partitionKey }) => {
      const query = new URLSearchParams({ name, schema, engine: 'MergeTree', engine_sorting_key: sortingKey })
      if (format !== undefined) query.set('format', format)
      if (partitionKey !== undefined) query.set('engine_partition_key', partitionKey)
      await call('POST', `/v0/datasources?${query}`)
    },
    dropDataSource: async (name) => {
      await call('DELETE', `/v0/datasources/${encodeURIComponent(name)}`)
    },
    appendTarget: (name, format) => ({ url: `${url}${appendPath(name, format)}`, headers }),
    eventsTarget: (name, isWaiting) => ({
      url: `${url}/v0/events?${new URLSearchParams({ name, ...(isWaiting ? { wait: 'true' } : {}) })}`,
      headers,
    }),
    append: async (name, format, body) => importResult(await call('POST', appendPath(name, format), body)),
    sql,
    rows: async <Row>(query: string) => {
      // The query names the columns of its rows.
      const { data } = JSON.parse(await sql(`${query} FORMAT JSON`)) as { readonly data: readonly Row[] }
      return data
    },
  }
}

export function importResult(text: string): ImportResult {
  return JSON.parse(text) as ImportResult // The documented answer of an import.
}
