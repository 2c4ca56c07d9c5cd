/**
 * Changes of data sources after which the engine knows their blocks no more: before one, what waits is stored, and a barrier
 * that no replay crosses is written into the log.
 *
 * 1. `withBarrier` refuses new events while the change runs; `withHold` takes them into the log, and stores them behind it.
 * 2. A data source has one change at a time.
 */
import type { DataSource } from '../../catalog/data-source.types.ts'
import type { Logger } from '../../observe/logger.ts'
import { errors } from '../../shared/errors/errors.ts'
import type { BarrierRequest, EventsRequest, HoldReason } from '../ingest.types.ts'
import type { MemoryBudget } from '../memory-budget.ts'
import type { DataSourceEvents } from './data-source-events.ts'
import type { EventsByDataSource } from './events-by-data-source.ts'
import type { EventsLog } from './events-log.ts'

export interface ChangeBarriersDeps {
  readonly sources: Pick<EventsByDataSource, 'find' | 'of' | 'remove'>
  /** Resolves when what was taken of a data source is in the log. */
  readonly settle: (stream: string) => Promise<void>
  readonly log: Pick<EventsLog, 'barrier'>
  /** Told before blocks of data sources may not be repeated any more. */
  readonly beforeBarrier?: ((dataSourceIds: readonly string[]) => Promise<void>) | undefined
  readonly budget: Pick<MemoryBudget, 'give' | 'tryTake'>
  readonly logger: Logger
  /** How long what waits may take to be stored before a change. */
  readonly drainMsMax: number
  /** When there may be room in memory again. */
  readonly retryAfterSeconds: () => number
}

/** What waits is stored by then as a rule, or has failed for good. */
const blockedRetrySeconds = 1

/** As `HoldOptions` has it. */
export interface BarrierHold {
  readonly reason: HoldReason
  readonly keepsBlocks?: boolean
}

interface RunningHold {
  readonly reason: HoldReason
  readonly ended: Promise<void>
}

/** What is done with what waits before a hold. */
interface BegunHold {
  readonly reason: HoldReason
  readonly ready: (events: DataSourceEvents) => Promise<void>
}

export class ChangeBarriers {
  readonly #deps: ChangeBarriersDeps
  /** Data sources whose events wait in the log until a change of them has ended, and when it has. */
  readonly #holds = new Map<string, RunningHold>()
  /** Of these, the ones whose barrier is under way: new events wait for it. Never rejects. */
  readonly #barring = new Map<string, Promise<unknown>>()

  constructor(deps: ChangeBarriersDeps) {
    this.#deps = deps
  }

  /** See `Ingest.withBarrier`. */
  async withBarrier<Result>(
    { dataSource, isFinal, condition, keepsBlocks = false }: BarrierRequest,
    change: () => Promise<Result>,
  ): Promise<Result> {
    const events = this.#deps.sources.of(dataSource)
    for (let hold = this.#holds.get(dataSource.id); hold !== undefined; hold = this.#holds.get(dataSource.id)) {
      // What is to go for good has been hidden already, and must go.
      if (!isFinal) this.refuseHeld(dataSource)
      await hold.ended
    }
    if (events.isBarred) throw blocked(dataSource)
    events.isBarred = true
    let isOver = false
    try {
      await this.#deps.settle(events.stream)
      const isDrained = await events.drain(this.#deps.drainMsMax)
      if (!isDrained && (!isFinal || condition !== undefined)) throw blocked(dataSource)
      await condition?.()
      if (!keepsBlocks) await this.#deps.beforeBarrier?.([dataSource.id])
      isOver = isFinal
      // From here on nothing of it is inserted, whatever is left: the engine is about to forget its tokens.
      if (isFinal) await this.#giveUp(events, dataSource)
      await this.#deps.log.barrier(events.stream, isFinal)
      return await change()
    } finally {
      // Who still has the events of what is gone must not write into the log behind its last barrier.
      if (!isOver) events.isBarred = false
    }
  }

  /** See `Ingest.withHold`. */
  async withHold<Result>(
    dataSources: readonly DataSource[],
    change: () => Promise<Result>,
    { reason, keepsBlocks = false }: BarrierHold,
  ): Promise<Result> {
    const ready = async (events: DataSourceEvents): Promise<void> => {
      await this.#drain(events)
      if (!keepsBlocks) await this.#deps.beforeBarrier?.([events.stream])
      if (events.mayHaveEntries) await this.#deps.log.barrier(events.stream, false)
    }
    return await this.#withHold(dataSources, change, { reason, ready })
  }

  /** See `Ingest.withStill`. */
  async withStill<Result>(
    dataSources: readonly DataSource[],
    look: () => Promise<Result>,
    reason: HoldReason,
  ): Promise<Result> {
    return await this.#withHold(dataSources, look, { reason, ready: (events) => this.#drain(events) })
  }

  async #withHold<Result>(
    dataSources: readonly DataSource[],
    change: () => Promise<Result>,
    { reason, ready }: BegunHold,
  ): Promise<Result> {
    for (const { id, name } of dataSources) {
      this.refuseHeld({ id, name })
      if (this.#deps.sources.find(id)?.isBarred === true) throw errors.DATASOURCE_BUSY({ name, what: 'changed' })
    }
    let end = (): void => undefined
    const ended = new Promise<void>((resolve) => {
      end = resolve
    })
    for (const { id } of dataSources) this.#holds.set(id, { reason, ended })
    try {
      const held = await this.#hold(dataSources, ready)
      try {
        return await change()
      } finally {
        for (const events of held) events.release()
      }
    } finally {
      for (const { id } of dataSources) this.#holds.delete(id)
      end()
    }
  }

  /** See `Ingest.isHeld`. */
  isHeld(dataSourceId: string): boolean {
    return this.#holds.has(dataSourceId)
  }

  /** See `Ingest.refuseHeld`. */
  refuseHeld({ id, name }: Pick<DataSource, 'id' | 'name'>): void {
    const hold = this.#holds.get(id)
    if (hold !== undefined) throw errors.DATASOURCE_BUSY({ name, what: hold.reason })
  }

  /** Whether new events must wait with `untilHeld`. */
  isHoldBeginning(dataSourceId: string): boolean {
    return this.#barring.has(dataSourceId)
  }

  /**
   * Waits while a hold begins, which stores what came before; the time for that is bounded.
   * @throws BACKLOG_FULL (503) when there is no memory for the body meanwhile.
   */
  async untilHeld({ dataSource, body }: Pick<EventsRequest, 'body' | 'dataSource'>): Promise<void> {
    const barrier = this.#barring.get(dataSource.id)
    if (barrier === undefined) return
    const { budget, retryAfterSeconds } = this.#deps
    const heldBytes = body.length
    if (!budget.tryTake(heldBytes)) throw errors.BACKLOG_FULL({ retryAfterSeconds: retryAfterSeconds() })
    await barrier
    budget.give(heldBytes)
    // Whoever waited for the barriers first, and lifts the bars, has heard of them by then.
    await new Promise<void>((resolve) => setImmediate(resolve))
  }

  /** Makes all of them ready, and holds what comes from then on. */
  async #hold(dataSources: readonly DataSource[], ready: BegunHold['ready']): Promise<readonly DataSourceEvents[]> {
    const all = dataSources.map((dataSource) => this.#deps.sources.of(dataSource))
    for (const events of all) events.isBarred = true
    const barriers = Promise.allSettled(all.map(ready))
    for (const { id } of dataSources) this.#barring.set(id, barriers)
    try {
      const failed = (await barriers).find((outcome) => outcome.status === 'rejected')
      if (failed !== undefined) throw failed.reason
      for (const events of all) events.hold()
      return all
    } finally {
      for (const events of all) events.isBarred = false
      for (const { id } of dataSources) this.#barring.delete(id)
    }
  }

  /** Stores what waits. */
  async #drain(events: DataSourceEvents): Promise<void> {
    await this.#deps.settle(events.stream)
    if (!(await events.drain(this.#deps.drainMsMax))) throw blocked(events)
  }

  async #giveUp(events: DataSourceEvents, { name }: DataSource): Promise<void> {
    await events.close()
    const { waitingRows } = events.status
    const fields = { dataSource: name, waitingRows }
    if (waitingRows > 0) this.#deps.logger.warn(fields, 'Events go with their data source.')
    this.#deps.sources.remove(events.stream)
  }
}

function blocked({ name }: Pick<DataSource, 'name'>): Error {
  return errors.CHANGE_BLOCKED({ name, retryAfterSeconds: blockedRetrySeconds })
}
