import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import process from 'node:process'
import { createInterface } from 'node:readline'
import { repositoryRoot } from '../repository-root.ts'

/** What became of a test file. */
export interface FileRun {
  readonly file: string
  /** Lines of its TAP, and of what it wrote to stderr. */
  readonly said: readonly string[]
  readonly seconds: number
  /** Null when it passed. */
  readonly fault: string | null
}

interface Options {
  /** The next file, and undefined when there is none for this process any more. */
  readonly next: () => string | undefined
  readonly onEnd: (run: FileRun) => void
  /** How long the process may say nothing. */
  readonly silenceMaxSeconds: number
}

/** tap has a clock of its own, for each test; a week is none. */
const tapTimeoutSeconds = 604_800
const program = join(repositoryRoot, 'dist/test/support/runner/file-runner.js')

/** A process that runs test files one after another. A file in which it ends by itself has failed; the next need another process. */
export class FileProcess {
  readonly #child: ChildProcess
  readonly #options: Options
  readonly #silence: NodeJS.Timeout
  #file: string | null = null
  #said: string[] = []
  #startedAtMs = performance.now()
  #hasFailedFile = false
  readonly #ran: string[] = []

  constructor(options: Options) {
    this.#options = options
    this.#child = fork(program, {
      cwd: repositoryRoot,
      execArgv: ['--enable-source-maps'],
      env: { ...process.env, TAP: '1', TAP_TIMEOUT: String(tapTimeoutSeconds) },
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    })
    this.#silence = setTimeout(() => this.#child.kill('SIGKILL'), options.silenceMaxSeconds * 1_000)
    for (const stream of [this.#child.stdout, this.#child.stderr]) {
      if (stream !== null) createInterface({ input: stream }).on('line', (line) => this.#hear(line))
    }
    // tap sends messages of its own.
    this.#child.on('message', (message) => message === 'next' && this.#offer())
  }

  /** Resolves when the process has ended. */
  async ended(): Promise<void> {
    await once(this.#child, 'close')
    clearTimeout(this.#silence)
    const { exitCode, signalCode } = this.#child
    if (this.#file !== null) this.#tell(this.#endOf(exitCode, signalCode))
    else if (exitCode !== 0 && !this.#hasFailedFile) {
      // One of them did something that showed only after its end.
      this.#file = `the process of ${this.#ran.join(', ')}`
      this.#tell(this.#endOf(exitCode, signalCode))
    }
  }

  /** Only when the last file's end was heard: what a process says, and what it sends, come on ways of their own. */
  #offer(): void {
    if (this.#file !== null) {
      setImmediate(() => this.#offer())
      return
    }
    const file = this.#options.next()
    if (file !== undefined) this.#ran.push(file)
    this.#file = file ?? null
    this.#said = []
    this.#startedAtMs = performance.now()
    // A process that ends as it is sent a file is told of by its end.
    this.#child.send(file ?? 'end', () => undefined)
  }

  #hear(line: string): void {
    this.#silence.refresh()
    this.#said.push(line)
    const end = /^ {4}(not )?ok \d+ - (\S+)/.exec(line)
    if (end === null || end[2] !== this.#file) return
    this.#tell(end[1] === undefined ? null : 'failed')
  }

  #tell(fault: string | null): void {
    const seconds = (performance.now() - this.#startedAtMs) / 1_000
    this.#hasFailedFile ||= fault !== null
    this.#options.onEnd({ file: this.#file ?? '', said: this.#said, seconds, fault })
    this.#file = null
  }

  #endOf(exitCode: number | null, signalCode: string | null): string {
    const seconds = Math.round((performance.now() - this.#startedAtMs) / 1_000)
    return signalCode === null
      ? `exit code ${exitCode}`
      : `${signalCode} after ${seconds} s (it may say nothing for ${this.#options.silenceMaxSeconds} s)`
  }
}
