import { setTimeout as delay } from 'node:timers/promises'
import type { SessionsState } from '../../metrics/service-state.types.ts'
import { assert } from '../../shared/assert.ts'
import { abortedError, StoreError } from '../store-error.ts'
import { SessionShares } from './session-shares.ts'

interface SessionPoolOptions<Session> {
  /** For the message of the error that a full line gives: `insert`, `query`. */
  readonly purpose: string
  readonly sessions: readonly Session[]
  /** Most callers that may wait for a session at once. */
  readonly waitingMax: number
  /** Sessions that one owner leaves to others, whatever it asks for; 0 when absent. See `SessionShares`. */
  readonly leftToOthers?: number
  /** Longest time that a caller waits, and is refused then as if the line were full; absent for any time. */
  readonly waitTimeMaxMs?: number
  /** What work gets beyond its time limit until its session counts as lost; 5 s when absent. */
  readonly lostAfterMs?: number
  /** Told of a session that is lost; see `replace`. */
  readonly onLost?: (session: Session) => void
  /** Told of a session that was replaced, when its work has ended after all. */
  readonly onReturned?: (session: Session) => void
}

/** How long work may take until whoever waits for it is told that it is late. */
export interface TimeLimit {
  readonly timeMaxMs: number
  readonly lateError: () => StoreError
}

/** How a session is lent. */
export interface Lending {
  /** Takes a statement out of the line. */
  readonly signal?: AbortSignal
  /** Lends a free session also while the pool is paused: to the one who paused it. */
  readonly passesPause?: boolean
  /** Who asks, where sessions are shared among owners; absent is nobody in particular, who has no share to hold to. */
  readonly owner?: string | undefined
}

const lostAfterMsDefault = 5_000

interface Waiter<Session> {
  readonly owner: string | undefined
  readonly give: (session: Session) => void
  readonly refuse: (error: StoreError) => void
}

/**
 * Sessions that are lent to one statement each, in the order in which statements came; where they have owners, one that holds
 * fewer sessions comes first.
 *
 * An embedded session runs one statement at a time, so a session is either free or lent, never shared. The line of
 * waiting statements has a maximum; whoever comes beyond it is refused at once with a `StoreError` of kind `busy`.
 */
export class SessionPool<Session> {
  readonly #purpose: string
  readonly #free: Session[]
  readonly #waitingMax: number
  readonly #shares: SessionShares<Session>
  readonly #waitTimeMaxMs: number | undefined
  readonly #sessionCount: number
  // A Set keeps the order of arrival and lets an aborted waiter leave from the middle.
  readonly #waiters = new Set<Waiter<Session>>()
  readonly #idleWaiters: (() => void)[] = []
  /** Wait for the end of all work whose caller has not been told that it is late. */
  readonly #awaitedWaiters: (() => void)[] = []
  /** Their callers were told, and wait no more. */
  readonly #late = new Set<Session>()
  /** Their work does not end. */
  readonly #lost = new Set<Session>()
  /** The same of those whose places others have. */
  readonly #replaced = new Set<Session>()
  readonly #lostAfterMs: number
  readonly #onLost: (session: Session) => void
  readonly #onReturned: (session: Session) => void
  #isClosed = false
  #pauseCount = 0

  constructor({ purpose, sessions, waitingMax, leftToOthers, waitTimeMaxMs, ...lost }: SessionPoolOptions<Session>) {
    assert(sessions.length > 0, 'a session pool needs a session')
    this.#purpose = purpose
    this.#free = [...sessions]
    this.#sessionCount = sessions.length
    this.#waitingMax = waitingMax
    this.#shares = new SessionShares(sessions.length, leftToOthers ?? 0)
    this.#waitTimeMaxMs = waitTimeMaxMs
    this.#lostAfterMs = lost.lostAfterMs ?? lostAfterMsDefault
    this.#onLost = lost.onLost ?? (() => undefined)
    this.#onReturned = lost.onReturned ?? (() => undefined)
  }

  get waitingCount(): number {
    return this.#waiters.size
  }

  get lentCount(): number {
    return this.#sessionCount - this.#free.length
  }

  /** Sessions whose work does not end, and whose places nobody has. */
  get lostCount(): number {
    return this.#lost.size
  }

  /** The same, whose places others have. */
  get replacedCount(): number {
    return this.#replaced.size
  }

  isLost(session: Session): boolean {
    return this.#lost.has(session)
  }

  get isIdle(): boolean {
    return this.lentCount === 0 && this.replacedCount === 0
  }

  get state(): SessionsState {
    return {
      purpose: this.#purpose,
      count: this.#sessionCount,
      busyCount: this.lentCount,
      lostCount: this.lostCount,
      waitingCount: this.waitingCount,
    }
  }

  /** Whether there are sessions that come back. */
  get isUsable(): boolean {
    return this.lostCount < this.#sessionCount
  }

  /**
   * Runs `work` with a session of its own, which goes back when the promise settles.
   *
   * Once `work` runs, stopping it is up to `work`.
   *
   * @throws StoreError `busy`, `aborted` or `closed`, and whatever `work` throws.
   */
  async use<Result>(work: (session: Session) => Promise<Result>, lending: Lending = {}): Promise<Result> {
    const session = await this.#take(lending)
    try {
      return await work(session)
    } finally {
      this.#giveBack(session)
    }
  }

  /**
   * The same for work that may not end when it should: the engine cannot be stopped within a block, nor while it plans. Its
   * caller is told in time, and the session stays lent until the work has ended, whatever comes of it.
   *
   * @throws StoreError `lateError`, and what `use` throws.
   */
  async lendWithin<Result>(
    work: (session: Session) => Promise<Result>,
    { timeMaxMs, lateError }: TimeLimit,
    lending: Lending = {},
  ): Promise<Result> {
    const session = await this.#take(lending)
    return await new Promise<Result>((resolve, reject) => {
      let timer = setTimeout(() => {
        reject(lateError())
        this.#late.add(session)
        this.#tellAwaited()
        timer = setTimeout(() => this.#lose(session), this.#lostAfterMs)
        timer.unref()
      }, timeMaxMs)
      // Once the time is over, neither of them changes anything.
      work(session)
        .then(resolve, reject)
        .finally(() => {
          clearTimeout(timer)
          this.#giveBack(session)
        })
    })
  }

  /**
   * Runs `work` while no statement of this pool begins, and none runs either, unless one takes longer than `timeMaxMs` to
   * end. Statements that come meanwhile wait, until the last pause is over.
   */
  async whilePaused<Result>(timeMaxMs: number, work: () => Promise<Result>): Promise<Result> {
    const resume = this.pause()
    const timer = new AbortController()
    try {
      // Aborting the timer rejects it, and that is no failure.
      await Promise.race([
        this.untilIdle(),
        delay(timeMaxMs, undefined, { signal: timer.signal }).catch(() => undefined),
      ])
      return await work()
    } finally {
      timer.abort()
      resume()
    }
  }

  /** From here on no statement of this pool begins, until the function is called that this gives. */
  pause(): () => void {
    this.#pauseCount += 1
    let isOver = false
    return () => {
      if (isOver) return
      isOver = true
      this.#pauseCount -= 1
      if (!this.#isPaused) this.#serveWaiters()
    }
  }

  /** Refuses the statements that wait. */
  refuseWaiting(error: StoreError): void {
    for (const waiter of this.#waiters) waiter.refuse(error)
    this.#waiters.clear()
  }

  /** Puts a session into the place of a lost one. False when that has come back meanwhile. */
  replace(lost: Session, replacement: Session): boolean {
    if (!this.#lost.delete(lost)) return false
    this.#late.delete(lost)
    this.#replaced.add(lost)
    this.#shares.giveBack(lost)
    this.#free.push(replacement)
    if (!this.#isPaused) this.#serveWaiters()
    return true
  }

  /** Refuses new and waiting statements, and resolves when nobody waits for one any more; see `isIdle`. */
  async close(): Promise<void> {
    this.#isClosed = true
    this.refuseWaiting(closedError())
    if (this.#isAwaited) await new Promise<void>((resolve) => this.#awaitedWaiters.push(resolve))
  }

  /** Resolves when no session is lent any more. */
  async untilIdle(): Promise<void> {
    if (this.lentCount > 0) await new Promise<void>((resolve) => this.#idleWaiters.push(resolve))
  }

  get #isPaused(): boolean {
    return this.#pauseCount > 0
  }

  #lose(session: Session): void {
    this.#lost.add(session)
    this.#onLost(session)
  }

  get #isAwaited(): boolean {
    return this.lentCount > this.#late.size
  }

  #tellAwaited(): void {
    if (this.#isAwaited) return
    for (const resolve of this.#awaitedWaiters.splice(0)) resolve()
  }

  async #take({ signal, passesPause = false, owner }: Lending): Promise<Session> {
    if (this.#isClosed) throw closedError()
    if (signal?.aborted) throw abortedError()
    // A free session beside a waiting line is there in a pause, or where those who wait hold their share.
    const mayTake = passesPause || (!this.#isPaused && this.#shares.hasRoom(owner))
    const session = mayTake ? this.#free.pop() : undefined
    if (session === undefined) {
      this.#refuseLongLine(owner)
      return await this.#wait(signal, owner)
    }
    this.#shares.take(session, owner)
    return session
  }

  #refuseLongLine(owner: string | undefined): void {
    const { size } = this.#waiters
    const shareMax = this.#shares.shareOf(this.#waitingMax)
    if (size < shareMax) return
    if (size >= this.#waitingMax) throw this.#busyError()
    if (owner === undefined) return
    let own = 0
    for (const waiter of this.#waiters) if (waiter.owner === owner) own += 1
    if (own >= shareMax) throw this.#busyError()
  }

  #wait(signal: AbortSignal | undefined, owner: string | undefined): Promise<Session> {
    return new Promise((resolve, reject) => {
      let timer: NodeJS.Timeout | undefined
      const end = (): void => {
        clearTimeout(timer)
        signal?.removeEventListener('abort', leave)
        this.#waiters.delete(waiter)
      }
      const waiter: Waiter<Session> = {
        owner,
        give: (session) => {
          end()
          resolve(session)
        },
        refuse: (error) => {
          end()
          reject(error)
        },
      }
      const leave = (): void => waiter.refuse(abortedError())
      this.#waiters.add(waiter)
      signal?.addEventListener('abort', leave, { once: true })
      if (this.#waitTimeMaxMs === undefined) return
      timer = setTimeout(() => waiter.refuse(this.#busyError()), this.#waitTimeMaxMs)
    })
  }

  #giveBack(session: Session): void {
    this.#lost.delete(session)
    this.#late.delete(session)
    if (this.#replaced.delete(session)) {
      this.#onReturned(session)
      return
    }
    this.#shares.giveBack(session)
    this.#free.push(session)
    if (!this.#isPaused) this.#serveWaiters()
    this.#tellAwaited()
    if (this.lentCount > 0) return
    for (const resolve of this.#idleWaiters.splice(0)) resolve()
  }

  #serveWaiters(): void {
    while (this.#free.length > 0) {
      const waiter = this.#shares.nextOf(this.#waiters)
      const session = waiter === undefined ? undefined : this.#free.pop()
      if (waiter === undefined || session === undefined) return
      this.#waiters.delete(waiter)
      this.#shares.take(session, waiter.owner)
      waiter.give(session)
    }
  }

  #busyError(): StoreError {
    const message = `Too many statements wait for a free ${this.#purpose} session; repeat it later`
    return new StoreError({ kind: 'busy', message })
  }
}

function closedError(): StoreError {
  return new StoreError({ kind: 'closed', message: 'The store is closed' })
}
