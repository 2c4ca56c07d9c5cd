/**
 * Keeps an engine running: starts its process, and starts it again when it has ended by itself.
 *
 * Sessions outlive processes: whoever holds one needs not know in which life of the engine it runs. A statement that runs
 * when the engine ends is refused with a `StoreError` of kind `stopped`; one that comes while it starts, waits. An engine
 * that ends again and again is given up.
 */
import { setTimeout as delay } from 'node:timers/promises'
import type { Logger } from '../../observe/logger.ts'
import { startRefusals } from '../../shared/errors/start-refusals.ts'
import { StoreError, stoppedError } from '../store-error.ts'
import { endOrphan, orphanOf } from './engine-orphan.ts'
import { type EngineEnd, EngineProcess, EngineRefused } from './engine-process.ts'
import type { EngineSession, OpenOrder, SessionRole } from './engine-session.types.ts'

export interface SupervisorOptions extends Omit<OpenOrder, 'roles'> {
  /** An engine that ends more often than this within ten minutes is given up: whoever supervises the service starts that anew. */
  readonly restartsMax: number
}

export interface SupervisorDeps {
  readonly logger: Logger
  /** Called before each start of the engine, while none runs. */
  readonly beforeStart: () => Promise<void>
  /** The engine has ended. Nothing must begin but in `control` sessions. */
  readonly onStopped: (end: EngineEnd) => void
  /** The engine is there again. Resolves when everything may begin; rejects when the engine is not fit for that. */
  readonly onStarted: () => Promise<void>
  /** The engine cannot be kept running. Nothing runs any more. */
  readonly onGivenUp: (error: Error) => void
}

const restartWindowMs = 600_000
const backoffFirstMs = 500
const backoffMaxMs = 30_000

/** What an engine that has outlived its service gets to end by itself, and then until it is gone. */
const orphanTimeMaxMs = 15_000
const orphanGraceMs = 3_000
const orphanIntervalMs = 100

interface Deferred {
  readonly promise: Promise<EngineProcess>
  readonly resolve: (engine: EngineProcess) => void
  readonly reject: (error: Error) => void
}

export class EngineSupervisor {
  readonly #order: Omit<OpenOrder, 'roles'>
  readonly #restartsMax: number
  readonly #deps: SupervisorDeps
  readonly #restarts: number[] = []
  readonly #closing = new AbortController()
  #sessions: SupervisedSession[] = []
  #engine: EngineProcess | undefined
  #next: Deferred = createDeferred()
  #adding: Promise<unknown> = Promise.resolve()
  /** The restart that is under way. */
  #restarting: Promise<void> | undefined
  /** The engine that is being made ready: nobody may wait for the next one meanwhile, which comes behind that. */
  #unready: EngineProcess | undefined

  constructor({ restartsMax, ...order }: SupervisorOptions, deps: SupervisorDeps) {
    this.#order = order
    this.#restartsMax = restartsMax
    this.#deps = deps
  }

  /** Makes sessions, before the engine is open. */
  sessions(role: SessionRole, count: number): readonly EngineSession[] {
    const made = Array.from({ length: count }, () => new SupervisedSession(role, (session) => this.#engineOf(session)))
    this.#sessions.push(...made)
    return made
  }

  /** Starts the engine. @throws StartRefusal when it cannot be opened. */
  async open(): Promise<void> {
    const { directory } = this.#order
    try {
      this.#use(await this.#startBehindOrphan())
    } catch (thrown) {
      this.#next.reject(closedError())
      if (thrown instanceof EngineRefused && thrown.isInUse) {
        throw startRefusals.DATA_DIR_IN_USE({ path: directory.replace(/\/[^/]*$/, ''), cause: thrown })
      }
      // The system's word on a file, before the engine was asked.
      if (thrown instanceof Error && 'syscall' in thrown) throw thrown
      throw startRefusals.ENGINE_NOT_OPENED({ path: directory, cause: thrown })
    }
  }

  /** Whether statements can run now. */
  get isRunning(): boolean {
    return this.#engine !== undefined
  }

  /** How often the engine has ended by itself. */
  endCount = 0

  /** As the engine that runs says it. */
  get silentSeconds(): number {
    return this.#engine?.silentSeconds ?? 0
  }

  /** The process of the engine, for what measures it. */
  get pid(): number | undefined {
    return this.#engine?.pid
  }

  /** A further session in the place of one whose statement does not end. Raises `StoreError`. */
  replace(lost: EngineSession): Promise<EngineSession> {
    const replacement = this.#adding.then(async () => {
      const old = this.#sessions.find((session) => session === lost)
      if (old === undefined) throw new Error('the session is none of this engine')
      const engine = this.#engine ?? (await this.#next.promise)
      const session = new SupervisedSession(old.role, (it) => this.#engineOf(it))
      session.place = { engine, number: await engine.add(old.role) }
      this.#sessions = this.#sessions.map((it) => (it === old ? session : it))
      return session
    })
    this.#adding = replacement.catch(() => undefined)
    return replacement
  }

  /** Closes a session that was replaced, once it runs nothing any more. */
  drop(session: EngineSession): void {
    if (!(session instanceof SupervisedSession)) return
    const { place } = session
    if (place !== undefined && place.engine === this.#engine) place.engine.drop(place.number)
  }

  /** Ends the engine, whatever runs in it, and starts it again. */
  restart(reason: string): void {
    void this.#engine?.kill(reason)
  }

  /** Closes the engine in order; past the time limit, at once. One that is being started is ended. */
  async close(timeMaxMs: number): Promise<void> {
    this.#closing.abort()
    this.#next.reject(closedError())
    const engine = this.#engine
    this.#engine = undefined
    await engine?.close(timeMaxMs)
    // Whoever opens the directory next finds nobody who still writes into it.
    await this.#restarting
  }

  #engineOf(session: SupervisedSession): EngineProcess | Promise<EngineProcess> {
    const { place } = session
    if (place !== undefined && place.engine === this.#engine) return place.engine
    if (this.#engine === undefined && this.#unready !== undefined) return Promise.reject(stoppedError())
    // One that was replaced has no place in a later engine.
    return this.#sessions.includes(session) ? this.#next.promise : Promise.reject(stoppedError())
  }

  async #startBehindOrphan(): Promise<EngineProcess> {
    const { directory } = this.#order
    const startMs = performance.now()
    for (;;) {
      try {
        return await this.#start()
      } catch (thrown) {
        const waitedMs = performance.now() - startMs
        const isOrphaned = thrown instanceof EngineRefused && thrown.isInUse && waitedMs < orphanTimeMaxMs
        if (
          this.#closing.signal.aborted ||
          !isOrphaned ||
          (orphanOf(directory) === null && waitedMs > orphanIntervalMs)
        )
          throw thrown
        if (waitedMs > orphanGraceMs) endOrphan(directory)
        await delay(orphanIntervalMs)
      }
    }
  }

  async #start(): Promise<EngineProcess> {
    const sessions = this.#sessions
    const order = { ...this.#order, roles: sessions.map(({ role }) => role) }
    await this.#deps.beforeStart()
    const engine = await EngineProcess.start(order, this.#deps.logger, this.#closing.signal)
    for (const [number, session] of sessions.entries()) session.place = { engine, number }
    return engine
  }

  /** From here on statements run. */
  #use(engine: EngineProcess): void {
    if (this.#closing.signal.aborted) throw closedError()
    if (engine.hasEnded) throw stoppedError()
    const { resolve } = this.#next
    this.#engine = engine
    this.#next = createDeferred()
    resolve(engine)
    engine.onEnd = (end) => this.#onEnded(engine, end)
  }

  #onEnded(engine: EngineProcess, end: EngineEnd): void {
    if (this.#engine !== engine) return
    this.#engine = undefined
    this.endCount += 1
    const { reason, lastWords, statementCount } = end
    const fields = { reason, statementCount, ...(lastWords === '' ? {} : { lastWords }) }
    this.#deps.logger.error(fields, 'The engine ended unexpectedly; it is started again.')
    this.#deps.onStopped(end)
    this.#restarting ??= this.#restart(reason)
  }

  async #restart(firstReason: string): Promise<void> {
    const { logger, onGivenUp } = this.#deps
    const startMs = performance.now()
    for (let reason = firstReason; !this.#closing.signal.aborted; ) {
      const waitMs = this.#backoffMs()
      if (waitMs === null) {
        this.#next.reject(closedError())
        onGivenUp(
          new Error(`the engine ended ${this.#restartsMax + 1} times in ten minutes, the last time by: ${reason}`),
        )
        return
      }
      const failure = await this.#tryRestart(waitMs)
      if (failure === null) {
        this.#restarting = undefined
        logger.info({ durationMs: Math.round(performance.now() - startMs) }, 'The engine runs again.')
        return
      }
      reason = failure.message
      if (!this.#closing.signal.aborted) logger.error({ err: failure }, 'The engine is not ready; it is started again.')
    }
  }

  /** Gives what it failed with. */
  async #tryRestart(waitMs: number): Promise<Error | null> {
    let engine: EngineProcess | undefined
    try {
      await delay(waitMs, undefined, { signal: this.#closing.signal })
      engine = await this.#startBehindOrphan()
      this.#unready = engine
      this.#use(engine)
      await this.#deps.onStarted()
      return this.#engine === engine ? null : new Error('the engine ended while it was made ready')
    } catch (thrown) {
      await engine?.kill('it could not be made ready')
      return thrown instanceof Error ? thrown : new Error(String(thrown))
    } finally {
      this.#unready = undefined
    }
  }

  /** What to wait before the next start, or null when there were too many. */
  #backoffMs(): number | null {
    const nowMs = performance.now()
    const recent = this.#restarts.filter((atMs) => nowMs - atMs < restartWindowMs)
    this.#restarts.splice(0, this.#restarts.length, ...recent, nowMs)
    if (recent.length >= this.#restartsMax) return null
    return recent.length === 0 ? 0 : Math.min(backoffFirstMs * 2 ** (recent.length - 1), backoffMaxMs)
  }
}

interface Place {
  readonly engine: EngineProcess
  readonly number: number
}

class SupervisedSession implements EngineSession {
  readonly role: SessionRole
  /** In which engine it is, and under which number; the supervisor keeps it. */
  place: Place | undefined
  readonly #engineOf: (session: SupervisedSession) => EngineProcess | Promise<EngineProcess>

  constructor(role: SessionRole, engineOf: (session: SupervisedSession) => EngineProcess | Promise<EngineProcess>) {
    this.role = role
    this.#engineOf = engineOf
  }

  run(sql: string): Promise<string> {
    return this.#run(sql, (payload) => payload.toString())
  }

  runForBytes(sql: string): Promise<Uint8Array> {
    return this.#run(sql, ownBytes)
  }

  #run<Output>(sql: string, read: (payload: Buffer) => Output): Promise<Output> {
    const engine = this.#engineOf(this)
    // The usual way takes no turn of its own: short queries would notice.
    return engine instanceof Promise ? engine.then(() => this.#runPlaced(sql, read)) : this.#runPlaced(sql, read)
  }

  #runPlaced<Output>(sql: string, read: (payload: Buffer) => Output): Promise<Output> {
    const { place } = this
    return place === undefined ? Promise.reject(stoppedError()) : place.engine.run(place.number, sql, read)
  }
}

/** A copy where the payload is a small part of what was received with it: that would live as long as the payload does. */
function ownBytes(payload: Buffer): Uint8Array {
  return payload.byteLength * 2 < payload.buffer.byteLength ? new Uint8Array(payload) : payload
}

function createDeferred(): Deferred {
  let resolve: Deferred['resolve'] = () => undefined
  let reject: Deferred['reject'] = () => undefined
  const promise = new Promise<EngineProcess>((give, refuse) => {
    resolve = give
    reject = refuse
  })
  // Nobody may wait for it.
  promise.catch(() => undefined)
  return { promise, resolve, reject }
}

function closedError(): StoreError {
  return new StoreError({ kind: 'closed', message: 'The store is closed' })
}
