import { once } from 'node:events'
import { get, type IncomingMessage } from 'node:http'
import { assert } from '../../src/shared/assert.ts'
import type { ServiceProcess } from './processes.ts'
import { createServiceClient } from './service-client.ts'

/** What a service needs in its environment to read files from loopback. */
export const loopbackUrls = { MILLRACE_URL_ALLOW: '127.0.0.1', MILLRACE_URL_ALLOW_HTTP: 'true' }

export interface UrlImport {
  readonly dataSource: string
  readonly format: 'csv' | 'ndjson' | 'parquet'
  readonly url: string
  readonly rowCount: number
}

/** Appends a file by its URL, all rows of it. Gives the milliseconds from the request to the end of the job. */
export async function importFromUrl(service: ServiceProcess, expected: UrlImport): Promise<number> {
  const { dataSource, format, url, rowCount } = expected
  const startedAtMs = performance.now()
  const query = new URLSearchParams({ mode: 'append', name: dataSource, format, url })
  const { id } = JSON.parse(await createServiceClient(service).call('POST', `/v0/datasources?${query}`)) as {
    readonly id: string // As documented of each import by URL.
  }
  const last = await lastLineOf(service, `/v0/jobs/${id}?progress=true`)
  const elapsedMs = performance.now() - startedAtMs
  const job = JSON.parse(last) as { readonly status: string; readonly imported_rows: number }
  assert(job.status === 'done' && job.imported_rows === rowCount, `the job ended as ${last.slice(0, 900)}`)
  return elapsedMs
}

/** Reads lines to their end, and gives the last one. */
async function lastLineOf({ url, headers }: ServiceProcess, path: string): Promise<string> {
  const request = get(`${url}${path}`, { headers, agent: false })
  const [response] = (await once(request, 'response')) as [IncomingMessage] // The event's one argument, by node:http.
  const text = Buffer.concat(await response.toArray()).toString()
  return text.trim().split('\n').at(-1) ?? ''
}
