import type { LimitUse } from '../limits/limit-book.ts'
import type { LimitHit } from '../limits/limit-hits.ts'

/** Of a limit that is approached, or exceeded. */
export type NotificationLevel = 'warning' | 'alert'

/** What operators are told, as it is kept and sent. Plain JSON. */
export interface Notification
  extends Pick<LimitUse, 'days' | 'max' | 'scope' | 'unit' | 'used' | 'what' | 'windowSeconds'> {
  /** The same in all attempts and channels, so that whoever gets it twice can tell. */
  readonly id: string
  readonly level: NotificationLevel
  readonly limit: LimitUse['name']
  /** Epoch milliseconds. */
  readonly atMs: number
  /** Epoch milliseconds; null where no window counts. */
  readonly resetAtMs: number | null
  /** The refusal that it is about; null where nothing was refused. */
  readonly refusal: Pick<LimitHit, 'code' | 'requestId' | 'resource' | 'status' | 'tokenId' | 'tokenName'> | null
  readonly documentation: string
  /** One line. */
  readonly title: string
  readonly text: string
}

export type ChannelName = 'email' | 'webhook'

/** One way on which notifications leave. */
export interface Channel {
  readonly name: ChannelName
  /** Resolves once it is taken, or fails within a bounded time. @throws DeliveryFailure */
  send(notification: Notification): Promise<void>
  /** Ends what is under way. */
  close(): Promise<void>
}

/** Why a notification was not taken, in words that have no secret: they go into the log. */
export class DeliveryFailure extends Error {
  override readonly name = 'DeliveryFailure'
  /** Whether another attempt would be refused too. */
  readonly isFinal: boolean

  constructor(message: string, { isFinal }: { readonly isFinal: boolean }) {
    super(message)
    this.isFinal = isFinal
  }
}
