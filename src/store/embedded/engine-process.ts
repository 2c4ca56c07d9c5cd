/**
 * The process of the engine, as the service sees it: one life of it, from its start to its end, whatever that is.
 *
 * The engine is native code that runs what callers wrote. In a process of its own, a crash, a statement that cannot be
 * stopped, or memory that runs away end that process, and the service goes on.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import type { Socket } from 'node:net'
import process from 'node:process'
import { fileURLToPath } from 'node:url'
import type { Logger } from '../../observe/logger.ts'
import { stoppedError, toStoreError } from '../store-error.ts'
import { CrashWatch } from './crash-watch.ts'
import { engineEnvironment } from './engine-environment.ts'
import { answerKinds, type Frame, FrameReader, requestKinds, textFrame } from './engine-frames.ts'
import type { EngineRefusal, OpenOrder, SessionRole } from './engine-session.types.ts'
import { LastWords } from './last-words.ts'

/** How a process of the engine ended. */
export interface EngineEnd {
  /** Why, as far as that is known. */
  readonly reason: string
  /** What it wrote on stderr at last. */
  readonly lastWords: string
  /** Statements that ran. */
  readonly statementCount: number
}

/** The engine did not open; nothing runs any more. */
export class EngineRefused extends Error {
  override readonly name = 'EngineRefused'
  readonly isInUse: boolean

  constructor({ isInUse, reason }: EngineRefusal) {
    super(reason)
    this.isInUse = isInUse
  }
}

interface Waiter {
  /** The payload may be used until this returns. */
  readonly give: (payload: Buffer) => void
  readonly refuse: (error: Error) => void
}

const watchIntervalMs = 1_000
/** Beats that may be missing, one a second, before the process is looked at, counts as silent, and is ended in any case. */
const beatsMissedMax = 3
const beatsMissedSilent = 5
const beatsMissedEnd = 120
/** How long a process that was killed may take to be gone; one that waits for a disk cannot be killed. */
const killTimeMaxMs = 5_000

/** The number of the frames that are of no session. */
const noSession = 0

export class EngineProcess {
  /** Resolves when the process is gone. Never rejects. */
  readonly ended: Promise<EngineEnd>
  /** Told of the end before those whose statements ran are. */
  onEnd: ((end: EngineEnd) => void) | undefined
  readonly #child: ChildProcess
  readonly #connection: Socket
  readonly #waiters = new Map<number, Waiter>()
  readonly #lastWords: LastWords
  readonly #opened: Promise<void>
  #opening: Waiter | undefined
  #adding: Waiter | undefined
  #end: EngineEnd | undefined
  #reason: string | undefined
  #beatsMissed = 0
  /** An engine that opens thousands of tables says nothing meanwhile. */
  #isOpen = false
  #crashWatch: CrashWatch | undefined
  readonly #logger: Logger
  /** The end of this process, whatever it comes by, must not leave one behind that is stopped, or waits for a disk. */
  readonly #endAtExit = (): void => {
    this.#child.kill('SIGKILL')
  }

  private constructor(order: OpenOrder, logger: Logger) {
    this.#logger = logger
    const entry = fileURLToPath(import.meta.resolve('./engine-child.js'))
    // The number of this process tells an engine that has outlived its service from one that has not.
    const args = [
      '--single-threaded-gc',
      '--no-allocation-site-pretenuring',
      '--enable-source-maps',
      entry,
      String(process.pid),
    ]
    this.#child = spawn(process.execPath, args, {
      // The last one is our own stderr, for one line at the end of the service.
      stdio: ['ignore', 'ignore', 'pipe', 'pipe', 2],
      env: engineEnvironment(order.roles.length),
    })
    this.#lastWords = new LastWords(this.#child.stderr, logger)
    // `pipe` of a descriptor beyond the third is a socket, both ways.
    this.#connection = this.#child.stdio[3] as Socket
    this.#opened = new Promise((resolve, reject) => {
      this.#opening = { give: () => resolve(), refuse: reject }
    })
    const reader = new FrameReader((frame) => this.#take(frame))
    this.#connection.on('data', (chunk: Buffer) => reader.push(chunk))
    // A write to a process that is gone; its end is told by the process itself.
    this.#connection.on('error', () => undefined)
    this.ended = this.#untilEnded()
    this.#connection.write(textFrame(requestKinds.open, noSession, JSON.stringify(order)))
    const watch = setInterval(() => this.#look(), watchIntervalMs)
    watch.unref()
    process.on('exit', this.#endAtExit)
    void this.ended.then(() => {
      clearInterval(watch)
      process.off('exit', this.#endAtExit)
    })
  }

  /**
   * Starts the process and opens the engine in it; the sessions have the numbers of their places in `order.roles`. The signal
   * ends it before it is open.
   *
   * @throws EngineRefused; StoreError `stopped` when the process ended meanwhile.
   */
  static async start(order: OpenOrder, logger: Logger, signal: AbortSignal): Promise<EngineProcess> {
    signal.throwIfAborted()
    const engine = new EngineProcess(order, logger)
    const end = (): void => void engine.kill('it was closed')
    signal.addEventListener('abort', end)
    try {
      await engine.#opened
      return engine
    } catch (thrown) {
      await engine.kill('it did not open')
      throw thrown
    } finally {
      signal.removeEventListener('abort', end)
    }
  }

  get pid(): number | undefined {
    return this.#child.pid
  }

  /** For how many seconds the process has given no sign of life, when these are more than load explains; else 0. */
  get silentSeconds(): number {
    return this.#isOpen && this.#beatsMissed >= beatsMissedSilent ? this.#beatsMissed : 0
  }

  get hasEnded(): boolean {
    return this.#end !== undefined
  }

  /** Precondition: the session runs nothing. `read` gets a payload that is valid until it returns. Raises `StoreError`. */
  run<Output>(session: number, sql: string, read: (payload: Buffer) => Output): Promise<Output> {
    return new Promise((resolve, reject) => {
      if (this.#end !== undefined) {
        reject(stoppedError())
        return
      }
      if (this.#reason !== undefined) {
        // It ends: whoever repeats the statement must not come to the same engine.
        void this.ended.then(() => reject(stoppedError()))
        return
      }
      const give = (payload: Buffer): void => {
        try {
          resolve(read(payload))
        } catch (thrown) {
          reject(thrown)
        }
      }
      this.#waiters.set(session, { give, refuse: reject })
      this.#connection.write(textFrame(requestKinds.run, session, sql))
    })
  }

  /** Opens a further session; one at a time. Raises `StoreError`. */
  add(role: SessionRole): Promise<number> {
    return new Promise((resolve, reject) => {
      if (this.#end !== undefined) {
        reject(stoppedError())
        return
      }
      this.#adding = { give: (payload) => resolve(Number(payload.toString())), refuse: reject }
      this.#connection.write(textFrame(requestKinds.add, noSession, role))
    })
  }

  /** Closes a session that runs nothing and will not run anything. */
  drop(session: number): void {
    if (this.#end === undefined) this.#connection.write(textFrame(requestKinds.drop, session, ''))
  }

  /** Ends the process at once, whatever runs in it. Resolves when it is gone. */
  async kill(reason: string): Promise<void> {
    this.#reason ??= reason
    this.#child.kill('SIGKILL')
    await this.#gone(killTimeMaxMs)
  }

  /** Closes the engine in order; past the time limit, at once. Precondition: nothing runs. */
  async close(timeMaxMs: number): Promise<void> {
    this.#reason = 'it was closed'
    this.#connection.write(textFrame(requestKinds.close, noSession, ''))
    if (!(await this.#gone(timeMaxMs))) await this.kill(this.#reason)
  }

  async #gone(timeMaxMs: number): Promise<boolean> {
    let timer: NodeJS.Timeout | undefined
    const late = new Promise<boolean>((resolve) => {
      timer = setTimeout(resolve, timeMaxMs, false)
    })
    const isGone = await Promise.race([this.ended.then(() => true), late])
    clearTimeout(timer)
    return isGone
  }

  #take({ kind, session, payload }: Frame): void {
    if (this.silentSeconds > 0)
      this.#logger.info({ seconds: this.#beatsMissed }, 'The engine gives signs of life again.')
    this.#beatsMissed = 0
    switch (kind) {
      case answerKinds.output:
        this.#answer(session)?.give(payload)
        return
      case answerKinds.failed:
        this.#answer(session)?.refuse(toStoreError(new Error(payload.toString())))
        return
      case answerKinds.opened:
        this.#isOpen = true
        this.#opening?.give(payload)
        this.#opening = undefined
        return
      case answerKinds.refused:
        // The process writes what `EngineRefusal` says.
        this.#opening?.refuse(new EngineRefused(JSON.parse(payload.toString()) as EngineRefusal))
        return
      case answerKinds.added:
        this.#adding?.give(payload)
        return
      case answerKinds.notAdded:
        this.#adding?.refuse(toStoreError(new Error(payload.toString())))
        return
      case answerKinds.crashed:
        this.#reason ??= `a native fault in its thread ${payload.toString()}`
    }
  }

  #answer(session: number): Waiter | undefined {
    const waiter = this.#waiters.get(session)
    this.#waiters.delete(session)
    return waiter
  }

  /** The process watches its threads itself, and beats; only where its event loop is in the handler, nothing comes. */
  #look(): void {
    this.#beatsMissed += 1
    if (this.silentSeconds === beatsMissedSilent) {
      this.#logger.error(
        { seconds: beatsMissedSilent },
        'The engine gives no sign of life: queries are refused meanwhile.',
      )
    }
    if (this.#beatsMissed < beatsMissedMax || this.pid === undefined) return
    this.#crashWatch ??= new CrashWatch(this.pid)
    const thread = this.#crashWatch.crashedThread()
    if (thread !== null) void this.kill(`a native fault in its thread ${thread}`)
    else if (this.#isOpen && this.#beatsMissed > beatsMissedEnd)
      void this.kill(`no sign of life for ${beatsMissedEnd} s`)
  }

  #untilEnded(): Promise<EngineEnd> {
    return new Promise((resolve) => {
      const end = (how: string): void => {
        if (this.#end !== undefined) return
        const statementCount = this.#waiters.size
        this.#end = { reason: this.#reason ?? how, lastWords: this.#lastWords.text, statementCount }
        // Before those who wait for statements.
        this.onEnd?.(this.#end)
        resolve(this.#end)
        const waiters = [...this.#waiters.values(), this.#opening, this.#adding]
        this.#waiters.clear()
        for (const waiter of waiters) waiter?.refuse(stoppedError())
      }
      // `close` and not `exit`: what was answered before the end is read to its end.
      this.#child.on('close', (code, signal) => end(signal === null ? `exit code ${code}` : `signal ${signal}`))
      this.#child.on('error', (error) => end(`it could not be run: ${error.message}`))
    })
  }
}
