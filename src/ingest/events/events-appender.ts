/**
 * Takes bodies of events on behalf of requests: whether there is room, whether they are repeats, and when they are answered.
 *
 * A body is answered when it is on disk, or, if its sender waits, when the engine has it.
 */
import type { DataSource } from '../../catalog/data-source.types.ts'
import { errors } from '../../shared/errors/errors.ts'
import type { EventsOutcome, EventsRequest } from '../ingest.types.ts'
import type { MemoryBudget } from '../memory-budget.ts'
import type { ParsePool } from '../parse/parse-pool.ts'
import { recordsOf, refuseLongRecords, refuseManyRows } from '../parse/record-body.ts'
import type { BacklogLimit } from './backlog-limit.ts'
import { BodyBatcher, type TakenBody } from './body-batcher.ts'
import type { DataSourceEvents } from './data-source-events.ts'
import type { EventsStatus, LoggedBatch } from './events.types.ts'
import type { EventsLog } from './events-log.ts'
import { bodyKey, type IdempotencyIndex, type RequestKey, requestKey } from './idempotency-index.ts'

export interface EventsAppenderOptions {
  /** Bytes of bodies that are parsed together. */
  readonly frameBytes: number
  readonly recordBytesMax: number
  readonly eventsWaitMaxMs: number
  /** `key`: by the header alone. `body`: also by the bytes of the body. */
  readonly eventsIdempotency: 'body' | 'key'
  readonly now: () => number
  /** When there may be room again: for a data source whose backlog is full, or in memory. */
  readonly retryAfterSeconds: (status?: EventsStatus) => number
}

interface EventsAppenderDeps {
  readonly pool: ParsePool
  readonly log: Pick<EventsLog, 'append'>
  readonly keys: IdempotencyIndex
  readonly budget: MemoryBudget
  readonly backlog: Pick<BacklogLimit, 'isReached'>
  readonly eventsOf: (dataSource: DataSource) => DataSourceEvents
}

export class EventsAppender {
  readonly #deps: EventsAppenderDeps
  readonly #options: EventsAppenderOptions
  readonly #batcher: BodyBatcher
  /** Bodies that are neither in the log nor refused, by stream. */
  readonly #underWay = new Map<string, Set<Promise<TakenBody>>>()

  constructor(deps: EventsAppenderDeps, options: EventsAppenderOptions) {
    this.#deps = deps
    this.#options = options
    const { pool, log, keys, eventsOf } = deps
    const onLogged = (dataSource: DataSource, batch: LoggedBatch): void => eventsOf(dataSource).add(batch, dataSource)
    this.#batcher = new BodyBatcher({ pool, log, keys, onLogged }, options)
  }

  /**
   * Resolves when the body is on disk, or stored if its sender waits.
   * @throws RECORD_TOO_LARGE (413), BACKLOG_FULL, VIEW_BLOCKS (503) with nothing taken; what the log refuses with; VIEW_FAILED (422).
   */
  async append(request: EventsRequest): Promise<EventsOutcome> {
    const events = this.#deps.eventsOf(request.dataSource)
    const key = this.#keyOf(request)
    if (key !== null) {
      const known = await this.#answered(key)
      if (known !== null) return await this.#outcomeOf(events, known, request)
    }
    const taken = await this.#take(request, events, key)
    if (request.isWaiting) return await this.#outcomeOf(events, taken, request)
    return outcome(taken, taken.sequence === null)
  }

  /** Resolves when what was taken of a data source, or of all, is in the log. */
  async settle(stream?: string): Promise<void> {
    const all = stream === undefined ? [...this.#underWay.values()] : [this.#underWay.get(stream) ?? new Set()]
    await Promise.allSettled(all.flatMap((promises) => [...promises]))
  }

  #keyOf({ dataSource, idempotencyKey, framing, body }: EventsRequest): RequestKey | null {
    if (idempotencyKey !== null) return requestKey([dataSource.id, 'key', idempotencyKey], body)
    if (this.#options.eventsIdempotency === 'key') return null
    return bodyKey([dataSource.id, 'body', framing], body)
  }

  /** What the first request with this key was answered with; null when this one is the first, which then is under way. */
  async #answered(key: RequestKey): Promise<TakenBody | null> {
    const { keys } = this.#deps
    for (;;) {
      const known = keys.find(key, this.#options.now())
      if (known === undefined) {
        keys.begin(key)
        return null
      }
      if (known.kind === 'answered') {
        if (known.bodyText !== key.bodyText) throw errors.IDEMPOTENCY_KEY_REUSED()
        const { rowCount, quarantinedRowCount, rowsUpTo } = known
        return { counts: { rowCount, quarantinedRowCount }, sequence: rowsUpTo }
      }
      await known.settled
    }
  }

  async #outcomeOf(events: DataSourceEvents, taken: TakenBody, request: EventsRequest): Promise<EventsOutcome> {
    const { sequence } = taken
    const isStored =
      sequence === null || (request.isWaiting && (await events.untilStored(sequence, this.#options.eventsWaitMaxMs)))
    return outcome(taken, isStored)
  }

  /** Resolves when the body is in the log. Written with as few promises as it takes: it runs for every request. */
  #take(request: EventsRequest, events: DataSourceEvents, key: RequestKey | null): Promise<TakenBody> {
    const { budget, keys } = this.#deps
    try {
      this.#refuseWhenBlocked(request, events)
      if (!budget.tryTake(request.body.length)) throw this.#backlogFull()
    } catch (error) {
      if (key !== null) keys.forget(key)
      return Promise.reject(error)
    }
    const logged = new Promise<TakenBody>((resolve, reject) => {
      const records = recordsOf(request.body, request.framing)
      refuseLongRecords(records, this.#options.recordBytesMax)
      refuseManyRows(records, request.dataSource.columns)
      this.#batcher.add({ request, records, key, resolve, reject })
    })
    const letGo = (): void => {
      budget.give(request.body.length)
      if (key !== null) keys.forget(key)
    }
    this.#track(events.stream, logged)
    return logged.then(
      (taken) => {
        this.#untrack(events.stream, logged)
        // A batch without rows is not in the log, and nobody else gives the bytes back.
        if (taken.sequence === null) letGo()
        return taken
      },
      (error: unknown) => {
        this.#untrack(events.stream, logged)
        letGo()
        throw error
      },
    )
  }

  #refuseWhenBlocked({ isWaiting, refusal = null }: EventsRequest, events: DataSourceEvents): void {
    if (refusal !== null) throw refusal
    const { status } = events
    const { failure } = status
    if (events.isBarred) throw errors.DATASOURCE_CHANGING({ name: events.name, retryAfterSeconds: 1 })
    if (this.#deps.backlog.isReached(status)) throw this.#backlogFull(status)
    if (!isWaiting || failure?.kind !== 'view') return
    const retryAfterSeconds = Math.max(1, Math.ceil((failure.retryAtMs - this.#options.now()) / 1000))
    throw errors.VIEW_BLOCKS({ reason: failure.message, retryAfterSeconds })
  }

  #backlogFull(status?: EventsStatus): Error {
    return errors.BACKLOG_FULL({ retryAfterSeconds: this.#options.retryAfterSeconds(status) })
  }

  #track(stream: string, logged: Promise<TakenBody>): void {
    const ofStream = this.#underWay.get(stream)
    if (ofStream === undefined) this.#underWay.set(stream, new Set([logged]))
    else ofStream.add(logged)
  }

  #untrack(stream: string, logged: Promise<TakenBody>): void {
    const ofStream = this.#underWay.get(stream)
    ofStream?.delete(logged)
    if (ofStream?.size === 0) this.#underWay.delete(stream)
  }
}

function outcome({ counts, sequence }: TakenBody, isStored: boolean): EventsOutcome {
  const { rowCount: successfulRows, quarantinedRowCount: quarantinedRows } = counts
  return { successfulRows, quarantinedRows, isStored, place: sequence ?? 0 }
}
