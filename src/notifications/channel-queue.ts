import type { Logger } from '../observe/logger.ts'
import { type Channel, type ChannelName, DeliveryFailure, type Notification } from './notification.types.ts'

/** A notification that a channel has not taken yet. Plain JSON. */
export interface WaitingNotification {
  readonly notification: Notification
  readonly attemptCount: number
  /** Epoch milliseconds. */
  readonly nextAtMs: number
}

/** What became of notifications since the start. */
export interface ChannelCounts {
  readonly channel: ChannelName
  readonly sentCount: number
  /** Attempts that were not taken. */
  readonly failedCount: number
  /** Given up: no room, no attempt left, or refused for good. */
  readonly droppedCount: number
  readonly waitingCount: number
}

export interface ChannelQueueOptions {
  readonly notificationsAttemptsMax: number
  readonly notificationsWaitingMax: number
}

const retryMs = 60_000
const retryMsMax = 3_600_000

/** Notifications that wait for one channel, oldest first. */
export class ChannelQueue {
  readonly #options: ChannelQueueOptions
  readonly #channel: Channel
  readonly #logger: Pick<Logger, 'error' | 'info' | 'warn'>
  #waiting: readonly WaitingNotification[]
  #sentCount = 0
  #failedCount = 0
  #droppedCount = 0
  #isClosed = false

  /** @param kept what an earlier process has left. */
  constructor(
    options: ChannelQueueOptions,
    deps: {
      readonly channel: Channel
      readonly logger: Pick<Logger, 'error' | 'info' | 'warn'>
      readonly kept: readonly WaitingNotification[]
    },
  ) {
    this.#options = options
    this.#channel = deps.channel
    this.#logger = deps.logger
    this.#waiting = deps.kept.slice(0, options.notificationsWaitingMax)
  }

  get name(): ChannelName {
    return this.#channel.name
  }

  get waiting(): readonly WaitingNotification[] {
    return this.#waiting
  }

  get counts(): ChannelCounts {
    return {
      channel: this.name,
      sentCount: this.#sentCount,
      failedCount: this.#failedCount,
      droppedCount: this.#droppedCount,
      waitingCount: this.#waiting.length,
    }
  }

  add(notification: Notification): void {
    if (this.#waiting.length >= this.#options.notificationsWaitingMax) {
      this.#drop(notification, 'too many notifications wait')
      return
    }
    this.#waiting = [...this.#waiting, { notification, attemptCount: 0, nextAtMs: notification.atMs }]
  }

  /**
   * Sends what is due until one fails: who does not take it would not take the next one either.
   *
   * @param onChange called after each attempt, and waited for, so that a restart knows what was sent.
   */
  async sendDue(now: () => number, onChange: () => Promise<void>): Promise<void> {
    for (const waiting of this.#waiting) {
      if (this.#isClosed) return
      // A clock that was set back must not hold it up for longer than the longest pause.
      const isDue = waiting.nextAtMs <= now() || waiting.nextAtMs > now() + retryMsMax
      if (!isDue) continue
      const isSent = await this.#send(waiting, now)
      await onChange()
      if (!isSent) return
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true
    await this.#channel.close()
  }

  async #send(waiting: WaitingNotification, now: () => number): Promise<boolean> {
    const { notification } = waiting
    try {
      await this.#channel.send(notification)
    } catch (error) {
      if (!(error instanceof DeliveryFailure)) throw error
      // It is sent again after the restart.
      if (!this.#isClosed) this.#noteFailure(waiting, error, now())
      return false
    }
    this.#sentCount += 1
    this.#replace(waiting, null)
    const { limit, level } = notification
    this.#logger.info({ channel: this.name, limit, level }, 'A notification was sent.')
    return true
  }

  #noteFailure(waiting: WaitingNotification, { message: reason, isFinal }: DeliveryFailure, nowMs: number): void {
    const attemptCount = waiting.attemptCount + 1
    const { limit, level } = waiting.notification
    this.#failedCount += 1
    if (isFinal || attemptCount >= this.#options.notificationsAttemptsMax) {
      this.#replace(waiting, null)
      this.#drop(waiting.notification, reason)
      return
    }
    const nextAtMs = nowMs + Math.min(retryMsMax, retryMs * 2 ** (attemptCount - 1))
    this.#replace(waiting, { ...waiting, attemptCount, nextAtMs })
    const fields = { channel: this.name, limit, level, reason, attemptCount }
    this.#logger.warn(fields, 'A notification was not taken; it is sent again.')
  }

  #drop({ limit, level }: Notification, reason: string): void {
    this.#droppedCount += 1
    this.#logger.error({ channel: this.name, limit, level, reason }, 'A notification was dropped.')
  }

  #replace(waiting: WaitingNotification, other: WaitingNotification | null): void {
    this.#waiting = this.#waiting.flatMap((one) => (one !== waiting ? [one] : other === null ? [] : [other]))
  }
}
