/**
 * The engine and the pools of its sessions: what opens and shuts them when the engine ends, when a statement cannot be
 * stopped, and at the close.
 *
 * One caller must not stop all. A session whose statement does not end is replaced; when half of the readers' sessions are
 * lost so, the engine is started again, which frees them, but seldom. A statement that was at fault for either is refused.
 */
import type { SessionsState } from '../../metrics/service-state.types.ts'
import type { Logger } from '../../observe/logger.ts'
import { within } from '../../shared/within.ts'
import { StoreError, silentError, stoppedError } from '../store-error.ts'
import { CrashSuspects } from './crash-suspects.ts'
import type { EngineSession, ReaderLimits } from './engine-session.types.ts'
import { EngineSupervisor } from './engine-supervisor.ts'
import { fileReadsMax, LateReads } from './late-reads.ts'
import { SessionPool } from './session-pool.ts'
import { type Stuck, StuckRestarts } from './stuck-restarts.ts'

export interface DoorsOptions extends ReaderLimits {
  /** The engine's own directory. */
  readonly directory: string
  readonly configPath: string
  readonly insertsInFlightMax: number
  /** INSERTs that may run beside these because they are slow. */
  readonly slowInsertsMax: number
  readonly selectsInFlightMax: number
  readonly statementsInFlightMax: number
  /** Statements of each kind that may wait for their turn. */
  readonly waitingMax: number
  /** Longest time that a reader's statement waits. */
  readonly waitTimeMaxMs: number
  /** Restarts within ten minutes after which the engine is given up. */
  readonly restartsMax: number
  /** Brings the engine's files into order before each start of it. */
  readonly beforeStart: () => Promise<void>
}

/** Each takes a thread and the memory of a query; more at once would not end sooner. */
const copiesInFlightMax = 1
/** Of our own that go through rows. */
const workersMax = 2
/** Whoever writes rows of the service waits for each INSERT. */
const besidesWaitingMax = 2
/** What waits longer for a session of short statements is refused. */
const controlWaitMs = 60_000
/** The same holds of definitions that compute something. */
const definersMax = 2
/** What waits longer for them is refused; what they get beyond their limit of time until their session counts as lost. */
const definitionWaitMs = 10_000
const definitionLostAfterMs = 1_000
/** Readers wait so long for an engine that starts again, and are refused then until it is there. */
const restartWaitMs = 10_000
/** The part of the readers' sessions that one owner leaves to others. */
const readersLeftShare = 1 / 4
/** What other statements get to end before one runs alone; those that take longer run beside it. */
const aloneWaitMs = 10_000
/** The engine is started again for statements that cannot be stopped no more often than this. */
const stuckRestartIntervalMs = 300_000
/** When a session is looked at again that was lost while the engine was silent. */
const lostAgainMs = 5_000
/** What statements get to end when they are stopped at the close: this, and this part of the time for closing at most. */
const stopTimeMaxMs = 1_000
/** Queries are stopped by one statement at a time, and the close has one more. */
const stopsMax = 2
const stopShare = 0.05
const closeTimeMaxMs = 10_000

export class EngineDoors {
  readonly suspects = new CrashSuspects(() => performance.now())
  readonly writers: SessionPool<EngineSession>
  readonly readers: SessionPool<EngineSession>
  /** For short statements of our own, which nothing long may hold up. */
  readonly control: SessionPool<EngineSession>
  /** For statements of our own that go through rows. */
  readonly workers: SessionPool<EngineSession>
  readonly copiers: SessionPool<EngineSession>
  /** For statements that compute what a caller wrote: our own must never wait behind them. */
  readonly definers: SessionPool<EngineSession>
  readonly stoppers: SessionPool<EngineSession>
  /** For rows that the service tells of itself: they take no session from those of users. */
  readonly #besides: SessionPool<EngineSession>
  readonly fileReaders: SessionPool<EngineSession>
  readonly lateReads = new LateReads((areStuck) => {
    this.#stuckRestarts.ask({
      reason: 'reads of Parquet files that could not be stopped held threads of its',
      areStuck,
    })
  })
  /** Resolves when the engine cannot be kept running. */
  readonly failed: Promise<Error>
  readonly #supervisor: EngineSupervisor
  readonly #logger: Logger
  readonly #readerCount: number
  /** Opens the pools again that are shut. */
  #resume: (() => void) | undefined
  /** Resolves when they are open. */
  #opening: Promise<void> = Promise.resolve()
  #endOpening: () => void = () => undefined
  #refusing: NodeJS.Timeout | undefined
  #isRefusing = false
  #lastAlone: Promise<unknown> = Promise.resolve()
  readonly #stuckRestarts = new StuckRestarts({
    intervalMs: stuckRestartIntervalMs,
    nowMs: () => performance.now(),
    restart: (reason) => this.#restartStuck(reason),
  })
  #isStuckRestart = false

  /** @param mend brings what an engine left that ended into order, in control sessions; then the doors open again. */
  constructor(options: DoorsOptions, logger: Logger, mend: () => Promise<void>) {
    const { directory, configPath, queryTimeMaxMs, queryMemoryBytesMax, waitingMax, waitTimeMaxMs } = options
    const { beforeStart } = options
    this.#logger = logger
    let fail: (error: Error) => void = () => undefined
    this.failed = new Promise((resolve) => {
      fail = resolve
    })
    const supervisor = new EngineSupervisor(
      { directory, configPath, limits: { queryTimeMaxMs, queryMemoryBytesMax }, restartsMax: options.restartsMax },
      {
        logger,
        beforeStart,
        onStopped: () => this.#shut(),
        onStarted: async () => {
          await mend()
          this.#open()
        },
        onGivenUp: fail,
      },
    )
    this.#supervisor = supervisor
    const { statementsInFlightMax, insertsInFlightMax, selectsInFlightMax } = options
    this.#readerCount = selectsInFlightMax
    const control = supervisor.sessions('control', statementsInFlightMax)
    this.control = new SessionPool({
      purpose: 'control',
      sessions: control,
      waitingMax,
      waitTimeMaxMs: controlWaitMs,
      onLost: () => this.#onLostControl(),
    })
    const workers = supervisor.sessions('control', workersMax)
    this.workers = new SessionPool({ purpose: 'work', sessions: workers, waitingMax })
    const stopper = supervisor.sessions('stopper', 1)
    this.stoppers = new SessionPool({ purpose: 'stop', sessions: stopper, waitingMax: stopsMax })
    const writers = supervisor.sessions('writer', insertsInFlightMax + options.slowInsertsMax)
    this.writers = new SessionPool({ purpose: 'insert', sessions: writers, waitingMax })
    const readers = supervisor.sessions('reader', selectsInFlightMax)
    const onLost = (session: EngineSession): void => this.#onLost(session)
    const onReturned = (session: EngineSession): void => supervisor.drop(session)
    const watched = { onLost, onReturned }
    const lent = { waitingMax, waitTimeMaxMs, leftToOthers: Math.floor(selectsInFlightMax * readersLeftShare) }
    this.readers = new SessionPool({ purpose: 'query', sessions: readers, ...lent, ...watched })
    const besides = supervisor.sessions('control', 1)
    this.#besides = new SessionPool({ purpose: 'service rows', sessions: besides, waitingMax: besidesWaitingMax })
    const copiers = supervisor.sessions('copier', copiesInFlightMax)
    this.copiers = new SessionPool({ purpose: 'copy', sessions: copiers, waitingMax })
    this.definers = new SessionPool({
      purpose: 'definition',
      sessions: supervisor.sessions('definer', definersMax),
      waitingMax,
      waitTimeMaxMs: definitionWaitMs,
      lostAfterMs: definitionLostAfterMs,
      onLost: (session) => this.#onLostDefiner(session),
      onReturned,
    })
    const fileReaders = supervisor.sessions('control', fileReadsMax)
    this.fileReaders = new SessionPool({ purpose: 'file', sessions: fileReaders, waitingMax, waitTimeMaxMs })
  }

  /** @throws StartRefusal */
  open(): Promise<void> {
    return this.#supervisor.open()
  }

  /** Why readers and INSERTs cannot run, as a clause; null when they can. */
  get unreadyReason(): string | null {
    if (!this.#supervisor.isRunning || this.#resume !== undefined) return 'it has ended, and is started again'
    if (this.#silence !== null) return this.#silence
    if (!this.readers.isUsable) return 'queries that cannot be stopped hold all of its sessions'
    if (!this.control.isUsable) return 'statements of the service that do not end hold all of its sessions for them'
    return this.definers.isUsable ? null : 'definitions that cannot be stopped hold all of its sessions for definitions'
  }

  get #silence(): string | null {
    const { silentSeconds } = this.#supervisor
    return silentSeconds === 0 ? null : `its process gives no sign of life for ${silentSeconds} s`
  }

  get sessionStates(): readonly SessionsState[] {
    return [...this.#pools, this.stoppers].map((pool) => pool.state)
  }

  /** How often the engine has ended by itself. */
  get endCount(): number {
    return this.#supervisor.endCount
  }

  /** The process of the engine; undefined while there is none. */
  get pid(): number | undefined {
    return this.#supervisor.pid
  }

  /**
   * Runs a statement of a reader or an INSERT as its name deserves: beside others, or alone; `passesPause` says which.
   *
   * @throws StoreError `refused` when it was at fault, `stopped` for readers while an engine does not come back.
   */
  async admit<Result>(name: string, work: (passesPause: boolean) => Promise<Result>): Promise<Result> {
    switch (this.suspects.judge(name)) {
      case 'free':
        return await work(false)
      case 'alone':
        return await this.#runAlone(() => work(true))
      case 'ended-engine':
        throw refusedError(
          'The database crashed while it ran this query alone; the query is refused until the service restarts',
        )
      case 'unstoppable':
        throw refusedError(
          'The database could not stop this query, more than once; the query is refused for ten minutes',
        )
    }
  }

  /** Runs an INSERT of the service's own rows. Raises `StoreError`. */
  async insertBeside(sql: string): Promise<void> {
    await this.#besides.use((session) => session.run(sql))
  }

  /** What a statement is told that did not end in time: an engine that is silent or starts again is no fault of the statement. */
  lateError(error: StoreError): StoreError {
    if (this.#silence !== null) return silentError(this.#silence)
    return this.#supervisor.isRunning ? error : stoppedError()
  }

  /** @throws StoreError `stopped` or `silent` when readers need not wait. */
  throwIfRefusing(): void {
    if (this.#silence !== null) throw silentError(this.#silence)
    if (this.#isRefusing) throw stoppedError()
  }

  /** Takes no more statements; waits for those that run, and stops them when the time is over. */
  async drain(timeMaxMs: number, closeTimeMaxMs: number): Promise<void> {
    const stopMs = Math.min(stopTimeMaxMs, closeTimeMaxMs * stopShare)
    this.#stuckRestarts.close()
    this.#endOpening()
    const awaited = Promise.all(this.#pools.map((pool) => pool.close()))
    await within(this.#silence === null ? timeMaxMs : Math.min(stopTimeMaxMs, timeMaxMs), awaited)
    if (this.#isIdle) return
    this.#logger.warn({}, 'Statements ran for too long at the close of the store and are stopped.')
    const idle = Promise.all(this.#pools.map((pool) => pool.untilIdle()))
    const stopping = this.stoppers.use((session) => session.run('KILL QUERY WHERE 1 ASYNC')).catch(() => undefined)
    await within(stopMs, Promise.all([stopping, idle]))
  }

  /** Closes the engine: in order when nothing runs, else at once. */
  async close(): Promise<void> {
    clearTimeout(this.#refusing)
    const isIdle = this.#isIdle
    if (!isIdle)
      this.#logger.warn({}, 'Statements could not be stopped at the close of the store; the engine is ended.')
    await this.#supervisor.close(isIdle && this.#silence === null ? closeTimeMaxMs : 0)
  }

  get #pools(): readonly SessionPool<EngineSession>[] {
    return [
      this.writers,
      this.readers,
      this.control,
      this.workers,
      this.copiers,
      this.definers,
      this.fileReaders,
      this.#besides,
    ]
  }

  get #isIdle(): boolean {
    return this.#pools.every((pool) => pool.isIdle)
  }

  #shut(): void {
    // Before anybody is told that his statement was lost.
    if (!this.#isStuckRestart) this.suspects.onEnd()
    this.#isStuckRestart = false
    if (this.#resume !== undefined) return
    const resumes = [this.writers, this.readers, this.copiers, this.fileReaders, this.#besides].map((pool) =>
      pool.pause(),
    )
    this.#resume = () => {
      for (const resume of resumes) resume()
    }
    this.#opening = new Promise((resolve) => {
      this.#endOpening = resolve
    })
    this.#refusing = setTimeout(() => {
      this.#isRefusing = true
      this.readers.refuseWaiting(stoppedError())
    }, restartWaitMs)
  }

  #open(): void {
    clearTimeout(this.#refusing)
    this.#isRefusing = false
    const resume = this.#resume
    this.#resume = undefined
    resume?.()
    this.#endOpening()
  }

  async #runAlone<Result>(work: () => Promise<Result>): Promise<Result> {
    const { writers, readers, copiers } = this
    const runIfOpen = async (): Promise<Result> => {
      // The engine has ended while others were waited for, and what it left is not mended yet.
      if (this.#resume !== undefined) throw stoppedError()
      return await work()
    }
    const running = this.#lastAlone.then(async () => {
      await this.#opening
      return await writers.whilePaused(aloneWaitMs, () =>
        readers.whilePaused(aloneWaitMs, () => copiers.whilePaused(aloneWaitMs, runIfOpen)),
      )
    })
    this.#lastAlone = running.catch(() => undefined)
    return await running
  }

  #onLost(session: EngineSession): void {
    if (this.#isLostInSilence(this.readers, session, () => this.#onLost(session))) return
    const name = this.suspects.nameOf(session)
    if (name !== undefined) this.suspects.onLost(name)
    const lostCount = this.readers.lostCount + this.readers.replacedCount
    this.#logger.warn({ lostCount }, 'A query cannot be stopped; its session is lost until it ends.')
    if (lostCount * 2 >= this.#readerCount && this.#stuckRestarts.ask(this.#stuckQueries)) return
    if (this.readers.replacedCount < this.#readerCount) void this.#replace(this.readers, session)
  }

  #onLostControl(): void {
    this.#logger.warn({ lostCount: this.control.lostCount }, 'A statement of the service does not end.')
    const reason = 'statements of the service that did not end held all of its sessions for them'
    const areStuck = (): boolean => !this.control.isUsable
    if (areStuck()) this.#stuckRestarts.ask({ reason, areStuck })
  }

  #onLostDefiner(session: EngineSession): void {
    if (this.#isLostInSilence(this.definers, session, () => this.#onLostDefiner(session))) return
    const lostCount = this.#lostDefinerCount
    this.#logger.warn({ lostCount }, 'A definition cannot be stopped; its session is lost until it ends.')
    const areStuck = (): boolean => this.#lostDefinerCount >= definersMax
    const reason = 'definitions that could not be stopped held all of its sessions for definitions'
    if (areStuck() && this.#stuckRestarts.ask({ reason, areStuck })) return
    if (this.definers.replacedCount < definersMax) void this.#replace(this.definers, session)
  }

  get #lostDefinerCount(): number {
    return this.definers.lostCount + this.definers.replacedCount
  }

  /** Nothing of it is the statement's fault then, and its session comes back with the engine; looks again later. */
  #isLostInSilence(pool: SessionPool<EngineSession>, session: EngineSession, again: () => void): boolean {
    if (this.#silence === null) return false
    const lookAgain = (): void => {
      if (pool.isLost(session)) again()
    }
    setTimeout(lookAgain, lostAgainMs).unref()
    return true
  }

  get #stuckQueries(): Stuck {
    return {
      reason: 'queries that could not be stopped held half of its sessions for queries',
      areStuck: () => !this.readers.isUsable,
    }
  }

  async #replace(pool: SessionPool<EngineSession>, session: EngineSession): Promise<void> {
    try {
      const replacement = await this.#supervisor.replace(session)
      if (!pool.replace(session, replacement)) this.#supervisor.drop(replacement)
    } catch (err) {
      this.#logger.warn({ err }, 'The session of a statement that cannot be stopped could not be replaced.')
    }
  }

  /** INSERTs that cannot be stopped hold all places for the slow. */
  restartStuckInserts(areStuck: () => boolean): void {
    this.#stuckRestarts.ask({ reason: 'INSERTs that could not be stopped held all places for slow ones', areStuck })
  }

  #restartStuck(reason: string): void {
    // What happens to run is at no fault of this end.
    this.#isStuckRestart = this.#supervisor.isRunning
    this.#supervisor.restart(reason)
  }
}

function refusedError(message: string): StoreError {
  return new StoreError({ kind: 'refused', message })
}
