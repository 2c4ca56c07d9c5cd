// A service in a process of its own that writes all it has to say into files, and a client that keeps every answer.

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import { fileURLToPath } from 'node:url'
import { untilReady } from '../child-server.ts'

const mainPath = fileURLToPath(new URL('../../../src/main.js', import.meta.url))
const standstillMsMax = 120_000

export interface KeptAnswer {
  readonly what: string
  readonly status: number
  /** Headers and body. */
  readonly text: string
  readonly json: unknown
}

export interface SentRequest {
  readonly body?: string | Uint8Array
  readonly headers?: Readonly<Record<string, string>>
  /** Goes into the header; null sends none. The admin's by default. */
  readonly token?: string | null
  /** Whether the answer shows values because it was asked to. */
  readonly asksForValues?: boolean
}

export class SearchedService {
  readonly dataDir: string
  readonly logDir: string
  readonly port: number
  /** Those that were not asked for values. */
  readonly answers: KeptAnswer[] = []
  readonly statuses = new Map<number, number>()
  #child: ChildProcess | null = null
  #lives = 0

  constructor({ dataDir, logDir, port }: { readonly dataDir: string; readonly logDir: string; readonly port: number }) {
    this.dataDir = dataDir
    this.logDir = logDir
    this.port = port
  }

  get pid(): number {
    return this.#child?.pid ?? 0
  }

  /** What the file says that is there for people. */
  get adminToken(): string {
    return readFileSync(join(this.dataDir, 'admin-token'), 'utf8').trim()
  }

  /** Resolves when it answers. Logs are those of this life: `out-1`, `log-1`, … */
  async start(logFormat: 'json' | 'text'): Promise<void> {
    this.#lives += 1
    const files = ['out', 'log'].map((name) => openSync(join(this.logDir, `${name}-${this.#lives}`), 'a'))
    // An image of its memory would hold everything; the system makes none of this process.
    const command = 'ulimit -c 0; exec "$@"'
    const child = spawn('sh', ['-c', command, 'sh', process.execPath, '--enable-source-maps', mainPath], {
      cwd: this.logDir,
      stdio: ['ignore', ...files],
      env: {
        ...process.env,
        UV_THREADPOOL_SIZE: '16',
        MILLRACE_PORT: String(this.port),
        MILLRACE_DATA_DIR: this.dataDir,
        MILLRACE_LOG_LEVEL: 'trace',
        MILLRACE_LOG_FORMAT: logFormat,
        MILLRACE_FORM_BYTES_MAX: String(16 * 1024),
        MILLRACE_WORKERS: '1',
      },
    })
    for (const file of files) closeSync(file)
    this.#child = child
    await this.untilReady()
  }

  async untilReady(): Promise<void> {
    const child = this.#child
    if (child === null) throw new Error('it was not started')
    const url = `http://127.0.0.1:${this.port}/health/ready`
    await untilReady({ child, url, standstillMsMax, lastLog: () => this.log().slice(-2_000) })
  }

  /** All that this life has logged. */
  log(): string {
    return readFileSync(join(this.logDir, `log-${this.#lives}`), 'utf8')
  }

  async end(signal: NodeJS.Signals): Promise<void> {
    const child = this.#child
    if (child === null || child.exitCode !== null || child.signalCode !== null) return
    const ended = once(child, 'exit')
    child.kill(signal)
    await ended
  }

  async call(
    method: string,
    path: string,
    { body, headers = {}, token = this.adminToken, asksForValues = false }: SentRequest = {},
  ): Promise<KeptAnswer> {
    const authorization: Readonly<Record<string, string>> = token === null ? {} : { authorization: `Bearer ${token}` }
    const response = await fetch(`http://127.0.0.1:${this.port}${path}`, {
      method,
      headers: { ...authorization, ...headers },
      ...(body === undefined ? {} : { body }),
    })
    const text = await response.text()
    const answer = {
      what: `${method} ${path}`,
      status: response.status,
      text: `${JSON.stringify([...response.headers])}\n${text}`,
      json: parsed(text),
    }
    if (!asksForValues) this.answers.push(answer)
    this.statuses.set(answer.status, (this.statuses.get(answer.status) ?? 0) + 1)
    return answer
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    // Not every answer is JSON.
    return null
  }
}
