import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import process from 'node:process'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { untilReady } from '../child-server.ts'
import { nodeFlags } from '../node-flags.ts'
import { repositoryRoot } from '../repository-root.ts'
import { findEnginePid, untilEngine } from '../store/engine-pid.ts'

const mainPath = fileURLToPath(new URL('../../../src/main.js', import.meta.url))
const standstillMsMax = 120_000
const engineEnded = 'The engine ended unexpectedly; it is started again.'

export const killToken = 'p.kill.token'

/** The service ends its engine with itself, and starts it again when that ends alone. */
export type Victim = 'service' | 'engine' | 'both'
export const victims: readonly Victim[] = ['service', 'engine', 'both']

/** What the service said over all its lives. */
export interface ServiceWords {
  /** Records of blocks that were never stored, dropped at a start. */
  repairs: number
  /** Entries that were read out of the log at a start. */
  entriesRead: number
  /** Ends of the engine alone, which the service outlived. */
  engineEnds: number
  /** Lines of the level error, but for those. */
  readonly errors: string[]
}

/** The service in a process of its own, on the same directory and port in each of its lives. */
export class KillService {
  readonly address: string
  readonly words: ServiceWords = { repairs: 0, entriesRead: 0, engineEnds: 0, errors: [] }
  readonly #environment: NodeJS.ProcessEnv
  #child: ChildProcess | null = null
  #rest = ''

  constructor(dataDirectory: string, port: number, more: NodeJS.ProcessEnv = {}) {
    this.address = `http://127.0.0.1:${port}`
    this.#environment = {
      ...process.env,
      UV_THREADPOOL_SIZE: '16',
      MILLRACE_PORT: String(port),
      MILLRACE_DATA_DIR: dataDirectory,
      MILLRACE_ADMIN_TOKEN: killToken,
      MILLRACE_LOG_LEVEL: 'info',
      MILLRACE_WORKERS: '1',
      // Small, so that blocks and segments end often: that is where a kill hurts.
      MILLRACE_EVENTS_FLUSH_IDLE_MS: '5',
      MILLRACE_EVENTS_FLUSH_AGE_MS: '30',
      MILLRACE_EVENTS_LOG_BYTES_MAX: String(64 * 1024 * 1024),
      ...more,
    }
  }

  /** Of the process that runs. */
  get pid(): number {
    return this.#child?.pid ?? 0
  }

  /** Resolves when the service answers. */
  async start(): Promise<void> {
    const child = spawn(process.execPath, [...nodeFlags(repositoryRoot), mainPath], {
      stdio: ['ignore', 'ignore', 'pipe'],
      env: this.#environment,
    })
    this.#child = child
    this.#rest = ''
    child.stderr.setEncoding('utf8')
    child.stderr.on('data', (text: string) => this.#read(text))
    const lastLog = (): string => this.words.errors.at(-1) ?? this.#rest
    await untilReady({ child, url: `${this.address}/health/ready`, standstillMsMax, lastLog })
  }

  /** Gives the exit code; null of a process that was killed. */
  async end(signal: 'SIGKILL' | 'SIGTERM'): Promise<number | null> {
    const child = this.#child
    if (child === null || child.exitCode !== null || child.signalCode !== null) return child?.exitCode ?? null
    const ended = once(child, 'exit')
    child.kill(signal)
    await ended
    return child.exitCode
  }

  /** Kills processes, and resolves when the service works again. */
  async kill(victim: Victim): Promise<void> {
    const engine = this.#child?.pid === undefined ? null : findEnginePid(this.#child.pid)
    if (victim !== 'service' && engine !== null) process.kill(engine, 'SIGKILL')
    if (victim === 'engine') {
      await untilEngine(this.#child?.pid, engine)
      this.words.engineEnds += 1
      return
    }
    await this.end('SIGKILL')
    await this.start()
  }

  /** A request of ours, outside of what is killed. */
  async call(method: string, path: string, body?: string): Promise<unknown> {
    const headers = { authorization: `Bearer ${killToken}` }
    const response = await fetch(`${this.address}${path}`, { method, headers, ...(body === undefined ? {} : { body }) })
    const text = await response.text()
    if (!response.ok) throw new Error(`${path} answered ${response.status}: ${text}`)
    return text === '' ? null : JSON.parse(text)
  }

  /** Resolves when nothing of the data source waits in the log. */
  async untilStored(dataSource: string): Promise<void> {
    for (;;) {
      // The answer's shape is what other tests check.
      const { events } = (await this.call('GET', `/v0/datasources/${dataSource}`)) as {
        readonly events: { readonly waiting_rows: number }
      }
      if (events.waiting_rows === 0) return
      await delay(20)
    }
  }

  #read(text: string): void {
    const lines = (this.#rest + text).split('\n')
    this.#rest = lines.pop() ?? ''
    for (const line of lines) this.#readLine(line)
  }

  #readLine(line: string): void {
    const entry = parseOrNull(line)
    if (entry === null) return
    if (entry['orphanCount'] !== undefined) this.words.repairs += Number(entry['orphanCount'])
    if (entry['msg'] === 'The log is read.') this.words.entriesRead += Number(entry['entryCount'])
    // An engine that is killed is told, and so is each request that was under way.
    const isOfKill = entry['msg'] === engineEnded || entry['code'] === 'ENGINE_RESTARTED'
    if (entry['level'] === 'error' && !isOfKill) this.words.errors.push(line.slice(0, 2_000))
  }
}

function parseOrNull(line: string): Record<string, unknown> | null {
  try {
    // Lines of the service's log are objects.
    return JSON.parse(line) as Record<string, unknown>
  } catch {
    // The engine's own words, or a line that a kill cut off.
    return null
  }
}
