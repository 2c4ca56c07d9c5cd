import type { Test } from 'tap'
import type { Options } from '../../../src/config.ts'
import { readOptions } from '../../../src/config-reader.ts'
import type { LogFields, Logger } from '../../../src/observe/logger.ts'
import { openService, type Service } from '../../../src/service.ts'
import { mebibyte } from '../../../src/shared/bytes.ts'
import { openRawClient, type RawClient } from '../raw-client.ts'
import { createTestDirectory } from '../store/test-store.ts'

const adminToken = 'p.test.token'
const memoryBytes = 4096 * mebibyte

export interface Answer {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  /** The body as JSON; null when it is none. */
  readonly json: unknown
}

export interface Call {
  readonly body?: Uint8Array | string | FormData | ReadableStream
  readonly headers?: Readonly<Record<string, string>>
  readonly token?: string | null
  readonly signal?: AbortSignal
}

type Parameters = Readonly<Record<string, string>>

export interface LogEntry {
  readonly level: string
  readonly fields: LogFields
  readonly message: string
}

/** The whole service on a temporary directory and a free port, with its log in memory. */
export class TestService {
  readonly address: string
  readonly dataDir: string
  readonly log: TestLog
  /** Closes the service, once; a process can have one service open at a time. */
  readonly close: () => Promise<void>

  constructor({ address, close }: Service, { log, dataDir }: { readonly log: TestLog; readonly dataDir: string }) {
    this.address = address
    this.dataDir = dataDir
    this.close = close
    this.log = log
  }

  async call(
    method: string,
    path: string,
    { body, headers = {}, token = adminToken, ...more }: Call = {},
  ): Promise<Answer> {
    const authorization: Parameters = token === null ? {} : { authorization: `Bearer ${token}` }
    const response = await fetch(`${this.address}${path}`, {
      method,
      headers: { ...authorization, ...headers },
      ...more,
      ...(body === undefined ? {} : { body, duplex: 'half' as const }),
    })
    const text = await response.text()
    return { status: response.status, headers: response.headers, text, json: parseJson(text) }
  }

  create(name: string, schema: string, more: Parameters = {}): Promise<Answer> {
    return this.call('POST', `/v0/datasources?${new URLSearchParams({ name, schema, ...more })}`)
  }

  append(name: string, format: 'csv' | 'ndjson', body: Call['body'], call: Call = {}): Promise<Answer> {
    const parameters = new URLSearchParams({ mode: 'append', name, format })
    return this.call('POST', `/v0/datasources?${parameters}`, { ...call, ...(body === undefined ? {} : { body }) })
  }

  events(name: string, body: Call['body'], more: Parameters = {}, call: Call = {}): Promise<Answer> {
    const parameters = new URLSearchParams({ name, ...more })
    return this.call('POST', `/v0/events?${parameters}`, { ...call, ...(body === undefined ? {} : { body }) })
  }

  async sql(query: string): Promise<string> {
    const { status, text } = await this.call('POST', '/v0/sql', { body: query })
    if (status !== 200) throw new Error(`${query} answered ${status}: ${text}`)
    return text
  }

  /** Rows of a query, each as the texts of its cells. */
  async rows(query: string): Promise<readonly (readonly string[])[]> {
    const text = await this.sql(`${query} FORMAT TSV`)
    return text
      .split('\n')
      .slice(0, -1)
      .map((line) => line.split('\t'))
  }

  /** The id of a data source, by which the engine has its table. */
  async idOf(name: string): Promise<string> {
    const { json } = await this.call('GET', `/v0/datasources/${name}`)
    // The shape is what other tests check.
    return (json as { readonly id: string }).id
  }

  async count(name: string): Promise<number> {
    return Number(await this.sql(`SELECT count() FROM ${name} FORMAT TSV`))
  }

  /** Resolves when no events of the data source wait any more. */
  async untilStored(name: string): Promise<void> {
    for (;;) {
      const { status, json } = await this.call('GET', `/v0/datasources/${name}`)
      if (status !== 200) throw new Error(`${name} answered ${status}`)
      // The shape of the answer is what other tests check.
      const { events } = json as { readonly events: { readonly waiting_rows: number } }
      if (events.waiting_rows === 0) return
    }
  }

  /** A connection of one's own, and the head of a request on it. Whoever opens it destroys its socket. */
  openRaw(): Promise<RawClient> {
    return openRawClient(Number(new URL(this.address).port))
  }

  head(method: string, path: string, ...lines: readonly string[]): string {
    const all = [`${method} ${path} HTTP/1.1`, 'Host: localhost', `Authorization: Bearer ${adminToken}`, ...lines]
    return `${all.join('\r\n')}\r\n\r\n`
  }
}

/** Keeps every entry, and tells those who wait for one. */
export class TestLog implements Logger {
  readonly entries: LogEntry[] = []
  readonly #waiting = new Set<() => void>()

  /** The first entry with this message, now or later, that `isIt` says yes to. */
  async until(message: string, isIt: (fields: LogFields) => boolean = () => true): Promise<LogEntry> {
    // What is waited for may hang on a timer that keeps no process alive.
    const alive = setInterval(() => undefined, 60_000)
    try {
      for (;;) {
        const entry = this.entries.find((one) => one.message === message && isIt(one.fields))
        if (entry !== undefined) return entry
        await new Promise<void>((resolve) => this.#waiting.add(resolve))
      }
    } finally {
      clearInterval(alive)
    }
  }

  debug(fields: LogFields, message: string): void {
    this.#keep({ level: 'debug', fields, message })
  }

  info(fields: LogFields, message: string): void {
    this.#keep({ level: 'info', fields, message })
  }

  warn(fields: LogFields, message: string): void {
    this.#keep({ level: 'warn', fields, message })
  }

  error(fields: LogFields, message: string): void {
    this.#keep({ level: 'error', fields, message })
  }

  #keep(entry: LogEntry): void {
    this.entries.push(entry)
    for (const resolve of this.#waiting) resolve()
    this.#waiting.clear()
  }
}

/** For tests with bodies of many frames: with two workers, a later frame may be parsed before an earlier one. */
export const severalWorkers = { workers: 2 } as const

/**
 * The options of a start without any configuration, and what `given` changes. One worker parses, not one for each core: each takes a third
 * of the time of a start. A request that waits until its rows are stored may wait for minutes, so that no test fails on a slow machine.
 */
export function testOptions(given: Partial<Options>): Options {
  const reading = readOptions({ flags: [], environment: {}, machine: { coreCount: 2, memoryBytes } })
  if (reading.kind !== 'options') throw new Error('the defaults are options')
  return {
    ...reading.options,
    port: 0,
    workers: 1,
    adminToken,
    eventsWaitMaxMs: 240_000,
    serviceSources: 'off',
    ...given,
  }
}

/** Opens a service that the test's end closes; its directory goes with it. */
export async function openTestService(t: Test, given: Partial<Options> = {}): Promise<TestService> {
  const directory = await createTestDirectory()
  const log = new TestLog()
  const service = await openService(testOptions({ dataDir: directory.path, ...given }), log)
  t.teardown(async () => {
    await service.close()
    await directory.remove()
  })
  return new TestService(service, { log, dataDir: given.dataDir ?? directory.path })
}

/** Opens a service on a directory that outlives it; it is closed before the next one, at the end of the test at the latest. */
export async function liveOn(t: Test, dataDir: string, given: Partial<Options> = {}): Promise<TestService> {
  const log = new TestLog()
  const service = await openService(testOptions({ ...given, dataDir }), log)
  t.teardown(() => service.close())
  return new TestService(service, { log, dataDir })
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}
