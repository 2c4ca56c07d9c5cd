import { crc32 } from 'node:zlib'
import type { Test } from 'tap'
import type { Options } from '../../../src/config.ts'
import { type Answer, openTestService, severalWorkers, type TestService } from '../api/test-service.ts'
import { answerFile, type Answer as FileAnswerer, openRemoteServer, type RemoteServer } from '../remote-server.ts'

/** What lets a service read files of this machine, and try again soon. */
export const urlOptions: Partial<Options> = {
  ...severalWorkers,
  urlAllow: '127.0.0.1',
  urlAllowHttp: true,
  urlRetryDelayMaxMs: 20,
}

/** What `GET /v0/jobs/<id>` tells of an import by URL. */
export interface UrlJob {
  readonly id: string
  readonly import_id: string
  readonly status: string
  readonly is_cancellable: boolean
  readonly datasource?: { readonly id: string; readonly name: string }
  readonly statistics: { readonly row_count: number } | null
  readonly urls?: readonly string[]
  readonly bytes_read?: number
  readonly bytes_total?: number | null
  readonly rows_read?: number
  readonly imported_rows?: number
  readonly quarantine_rows?: number
  readonly invalid_lines?: number
  readonly progress_percentage?: number | null
  readonly remaining_seconds?: number | null
  readonly warnings?: readonly string[]
  readonly error?: string
  readonly errors?: readonly string[]
  readonly blocks?: readonly object[]
  readonly block_log?: readonly { readonly status: string }[]
}

export interface UrlService {
  readonly service: TestService
  readonly server: RemoteServer
  /** Paths of the server, each with its answer; others are 404. */
  readonly files: Map<string, FileAnswerer>
  /** Starts an import of these paths, and gives its answer. */
  start(parameters: Readonly<Record<string, string>>, ...paths: readonly string[]): Promise<Answer>
  /** The same to its end. */
  run(parameters: Readonly<Record<string, string>>, ...paths: readonly string[]): Promise<UrlJob>
}

/** A service, and a server of files that it may read. @param opened one that has `urlOptions`, where it need not be a new one. */
export async function openUrlService(t: Test, given: Partial<Options> = {}, opened?: TestService): Promise<UrlService> {
  const files = new Map<string, FileAnswerer>()
  const server = await openRemoteServer(t, (request, response) => {
    const answer = files.get(new URL(request.url ?? '', 'http://server').pathname)
    if (answer === undefined) response.writeHead(404).end()
    else answer(request, response)
  })
  const service = opened ?? (await openTestService(t, { ...urlOptions, ...given }))
  const start: UrlService['start'] = (parameters, ...paths) => {
    const urls = paths.map((path): [string, string] => ['url', `${server.origin}${path}`])
    const query = new URLSearchParams([...Object.entries(parameters), ...urls])
    return service.call('POST', `/v0/datasources?${query}`)
  }
  return {
    service,
    server,
    files,
    start,
    run: async (parameters, ...paths) => await untilEnded(service, jobIdOf(await start(parameters, ...paths))),
  }
}

export function jobIdOf({ status, json, text }: Answer): string {
  if (status !== 200) throw new Error(`the import answered ${status}: ${text}`)
  // The shape is what a test of its own checks.
  return (json as { readonly job_id: string }).job_id
}

/** All that is told of the job, with `debug` as it is given. */
export async function jobOf(service: TestService, id: string, debug = ''): Promise<UrlJob> {
  const { status, json, text } = await service.call('GET', `/v0/jobs/${id}?debug=${debug}`)
  if (status !== 200) throw new Error(`the job answered ${status}: ${text}`)
  return json as UrlJob
}

/** Lines of the progress of a job, until its end. */
export async function progressOf(service: TestService, id: string): Promise<readonly UrlJob[]> {
  const { text } = await service.call('GET', `/v0/jobs/${id}?progress=true`)
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as UrlJob)
}

export async function untilEnded(service: TestService, id: string): Promise<UrlJob> {
  await progressOf(service, id)
  return await jobOf(service, id)
}

/** A file whose first bytes come, and nothing behind them before the gate is open. */
export function heldFile(content: Buffer, byteCount: number, gate: { isOpen: boolean }): FileAnswerer {
  return (request, response) => {
    if (gate.isOpen) {
      answerFile({ content })(request, response)
      return
    }
    response.writeHead(200, { 'content-length': content.length, etag: '"one"' })
    response.write(content.subarray(0, byteCount))
  }
}

/** Waits until a job that has not ended is as it should be. */
export async function until(service: TestService, id: string, isIt: (job: UrlJob) => boolean): Promise<UrlJob> {
  for (;;) {
    const job = await jobOf(service, id, 'block_log')
    if (isIt(job)) return job
    if (['done', 'error', 'cancelled'].includes(job.status)) throw new Error(`it has ended: ${JSON.stringify(job)}`)
  }
}

/** Closes the service in the middle of a job, and opens it anew over the same directory. */
export async function reopen(t: Test, { service }: Pick<UrlService, 'service'>, given: object): Promise<TestService> {
  const beganAt = performance.now()
  await service.close()
  t.comment(`closed in ${Math.round(performance.now() - beganAt)} ms`)
  return await openTestService(t, { ...urlOptions, ...given, dataDir: service.dataDir })
}

export interface TestRow {
  readonly id: number
  readonly name: string
}

/** Rows whose names are quoted, have line feeds in quotes, and are of several lengths; ids from `firstId` on. */
export function testRows(count: number, firstId = 0): readonly TestRow[] {
  return Array.from({ length: count }, (_, index) => {
    const id = firstId + index
    return { id, name: `a "name", ${'x'.repeat(id % 17)}${id % 5 === 0 ? '\n,' : ''}é${id * 7919}` }
  })
}

export const testSchema = 'id UInt64, name String'
export const testJsonSchema = 'id UInt64 `json:$.id`, name String `json:$.name`'

export function csvOf(rows: readonly TestRow[], { hasHeader = true } = {}): Buffer {
  const lines = rows.map(({ id, name }) => `${id},"${name.replaceAll('"', '""')}"\n`)
  return Buffer.from(`${hasHeader ? 'id,name\n' : ''}${lines.join('')}`)
}

export function ndjsonOf(rows: readonly TestRow[]): Buffer {
  return Buffer.from(rows.map((row) => `${JSON.stringify(row)}\n`).join(''))
}

/** Count and checksum: each row once, with its own name, whatever the order. */
export function sumOf(rows: readonly TestRow[]): readonly [count: string, ids: string, names: string] {
  const ids = rows.reduce((total, { id }) => total + BigInt(id), 0n)
  const names = rows.reduce((total, { id, name }) => total + (BigInt(crc32(name)) ^ BigInt(id)), 0n)
  return [String(rows.length), String(ids), String(names)]
}

/** The same of what a data source has. */
export async function storedSumOf(service: TestService, name: string): Promise<readonly string[]> {
  const query = `SELECT count(), sum(id), sum(bitXor(toUInt64(CRC32(name)), toUInt64(id))) FROM ${name}`
  const [sum = []] = await service.rows(query)
  return sum
}
