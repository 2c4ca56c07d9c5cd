// Limits that are approached and exceeded, told once a window. What is told is written down before it is sent, and again when it
// was taken: a restart repeats nothing that was sent and loses nothing that waits. A kill between the two may send it twice,
// under the same id.

import type { LimitBook } from '../limits/limit-book.ts'
import type { LimitHit, LimitHits } from '../limits/limit-hits.ts'
import type { Logger } from '../observe/logger.ts'
import type { LimitName } from '../shared/limit-names.ts'
import { within } from '../shared/within.ts'
import { notificationsSetting } from '../storage/disposable-records.ts'
import type { Settings } from '../storage/settings.ts'
import {
  type ChannelCounts,
  ChannelQueue,
  type ChannelQueueOptions,
  type WaitingNotification,
} from './channel-queue.ts'
import { LimitWatch, type LimitWatchOptions, type ToldTime } from './limit-watch.ts'
import type { Channel, ChannelName } from './notification.types.ts'
import { Rerun } from './rerun.ts'

export interface NotificationsOptions extends ChannelQueueOptions, LimitWatchOptions {
  readonly notificationsCheckMs: number
}

export interface NotificationsDeps {
  readonly channels: readonly Channel[]
  readonly limitBook: Pick<LimitBook, 'uses'>
  /** What is there of that which the rates do not count. */
  readonly countsOf: () => Promise<ReadonlyMap<LimitName, number>>
  readonly limitHits: Pick<LimitHits, 'onLimitHit'>
  readonly settings: Settings
  readonly logger: Pick<Logger, 'error' | 'info' | 'warn'>
  /** Epoch milliseconds. */
  readonly now: () => number
}

/** As it is written down. */
interface Kept {
  readonly told: readonly ToldTime[]
  readonly waiting: Readonly<Partial<Record<ChannelName, readonly WaitingNotification[]>>>
}

/** A connection that does not end is left alone then. */
const closeTimeMaxMs = 2_000
/** Sizes are asked of the engine, which may be starting again. */
const countTimeMaxMs = 10_000

export class Notifications {
  readonly #options: NotificationsOptions
  readonly #deps: NotificationsDeps
  readonly #watch: LimitWatch
  readonly #queues: readonly ChannelQueue[]
  readonly #unsubscribe: () => void
  #timer: NodeJS.Timeout | undefined
  readonly #looks: Rerun
  /** Of each queue: who answers late holds up neither the looks nor the other one. */
  readonly #sends: readonly Rerun[]
  #counting: Promise<ReadonlyMap<LimitName, number>> | null = null
  #isClosed = false
  #writing: Promise<void> = Promise.resolve()

  constructor(options: NotificationsOptions, deps: NotificationsDeps) {
    this.#options = options
    this.#deps = deps
    const text = deps.settings.read(notificationsSetting)
    // Nobody but this class writes it.
    const kept: Kept = text === undefined ? { told: [], waiting: {} } : (JSON.parse(text) as Kept)
    this.#watch = new LimitWatch(options, kept.told)
    this.#queues = deps.channels.map(
      (channel) => new ChannelQueue(options, { channel, logger: deps.logger, kept: kept.waiting[channel.name] ?? [] }),
    )
    this.#looks = new Rerun(() => this.#logged(() => this.#look()))
    this.#sends = this.#queues.map(
      (queue) => new Rerun(() => this.#logged(() => queue.sendDue(deps.now, () => this.#write()))),
    )
    this.#unsubscribe = deps.limitHits.onLimitHit((hit) => this.#note(hit))
  }

  get counts(): readonly ChannelCounts[] {
    return this.#queues.map(({ counts }) => counts)
  }

  /** Looks at intervals from now on. */
  start(): void {
    this.#timer = setInterval(() => void this.check(), this.#options.notificationsCheckMs).unref()
  }

  /** Looks at the limits, and sends what is due. It never fails: what goes wrong is logged, and done again later. */
  async check(): Promise<void> {
    await this.#looks.ask()
    await Promise.all(this.#sends.map((sends) => sends.ask()))
  }

  async close(): Promise<void> {
    this.#isClosed = true
    clearInterval(this.#timer)
    this.#unsubscribe()
    for (const queue of this.#queues) await queue.close()
    await within(closeTimeMaxMs, Promise.all([this.#looks, ...this.#sends].map(({ running }) => running)))
  }

  #note(hit: LimitHit): void {
    // The caller is answered first.
    if (this.#watch.note(hit)) setImmediate(() => void this.check())
  }

  async #logged(run: () => Promise<void>): Promise<void> {
    if (this.#isClosed) return
    try {
      await run()
    } catch (err) {
      this.#deps.logger.error({ err }, 'Notifications have failed; they are tried again.')
    }
  }

  async #look(): Promise<void> {
    const uses = this.#deps.limitBook.uses(await this.#counts())
    const notifications = this.#watch.take(uses, this.#deps.now())
    if (notifications.length === 0) return
    for (const notification of notifications) {
      for (const queue of this.#queues) queue.add(notification)
    }
    await this.#write()
  }

  /** Nothing where they cannot be told, or not in time: refusals and rates are known all the same. */
  async #counts(): Promise<ReadonlyMap<LimitName, number>> {
    // Who has not answered yet is not asked once more.
    this.#counting ??= this.#countNow().finally(() => {
      this.#counting = null
    })
    const counting = this.#counting
    return (await within(countTimeMaxMs, counting)) ? await counting : new Map()
  }

  async #countNow(): Promise<ReadonlyMap<LimitName, number>> {
    try {
      return await this.#deps.countsOf()
    } catch (err) {
      this.#deps.logger.warn({ err }, 'How much of some limits is used is not known; it is asked again.')
      return new Map()
    }
  }

  /** One after the other. */
  async #write(): Promise<void> {
    this.#writing = this.#writing.then(() => this.#writeNow())
    await this.#writing
  }

  async #writeNow(): Promise<void> {
    const waiting = Object.fromEntries(this.#queues.map((queue) => [queue.name, queue.waiting]))
    const kept: Kept = { told: this.#watch.told, waiting }
    try {
      await this.#deps.settings.write(notificationsSetting, JSON.stringify(kept))
    } catch (err) {
      this.#deps.logger.warn({ err }, 'Notifications could not be kept; a restart may repeat or forget some.')
    }
  }
}
