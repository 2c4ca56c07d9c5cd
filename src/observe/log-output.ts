/**
 * Where the entries of the log go: into memory that is shared with a thread of its own, which writes them to stderr.
 *
 * Whoever logs never waits. When stderr is not read, entries are dropped and counted; the count is an entry once there is
 * room again.
 */
import { Worker } from 'node:worker_threads'
import { LogRing } from './log-ring.ts'
import type { LogWriterOptions } from './log-writer.ts'

export class LogOutput {
  readonly #ring = new LogRing()
  readonly #options: LogWriterOptions
  #thread: Worker | null = null

  constructor(options: LogWriterOptions) {
    this.#options = options
  }

  /** Takes one line of JSON with its line feed. */
  write(line: string): void {
    this.#put('entry', line, line.startsWith(errorStart) || line.startsWith(fatalStart))
  }

  /** Writes a text for people to stdout, behind all entries before it. */
  printOutput(text: string): void {
    this.#put('output-text', text, true)
  }

  /** Writes a text for people to stderr. */
  printError(text: string): void {
    this.#put('error-text', text, true)
  }

  /** Blocks the thread until everything is written; false when something is left after `timeoutMs`. */
  flush(timeoutMs: number): boolean {
    if (this.#thread === null) return true
    this.#ring.waitForReader(startTimeoutMs)
    return this.#ring.waitUntilEmpty(timeoutMs, Date.now)
  }

  #put(kind: 'entry' | 'error-text' | 'output-text', text: string, isError: boolean): void {
    this.#thread ??= startThread(this.#ring, this.#options)
    this.#ring.put(kind, text, isError)
  }
}

/** The thread starts in tens of milliseconds, and waits for no reader in that. */
const startTimeoutMs = 10_000
const errorStart = '{"level":"error"'
const fatalStart = '{"level":"fatal"'

const isCompiled = import.meta.url.endsWith('.js')
const threadUrl = new URL(`../../workers/log-writer.${isCompiled ? 'js' : 'ts'}`, import.meta.url)

function startThread(ring: LogRing, options: LogWriterOptions): Worker {
  const thread = new Worker(threadUrl, {
    workerData: { memory: ring.memory, options },
    execArgv: isCompiled ? [] : process.execArgv,
    // It holds one batch of entries and their texts.
    resourceLimits: { maxOldGenerationSizeMb: 32, maxYoungGenerationSizeMb: 4 },
  })
  // The log alone keeps no process alive.
  thread.unref()
  return thread
}
