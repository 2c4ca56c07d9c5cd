import { DeliveryFailure } from './notification.types.ts'

export interface SendingTimes {
  /** Until the message is out. */
  readonly timeMaxMs: number
  /** From then on. */
  readonly answerTimeMaxMs: number
}

/** How long a close waits for the answer to a message that is out. */
const closeTimeMaxMs = 1_000

/** How long one sending may take: until the message is out, and from then on until the server has answered. */
export class SendingClock {
  /** What it was ended with; null where the clock did not end it. */
  failure: DeliveryFailure | null = null
  readonly #controller = new AbortController()
  readonly #answerTimeMaxMs: number
  #timer: NodeJS.Timeout
  #isOut = false

  constructor({ timeMaxMs, answerTimeMaxMs }: SendingTimes) {
    this.#answerTimeMaxMs = answerTimeMaxMs
    const late = 'the mail server did not take the e-mail in time (--notifications-timeout-ms)'
    this.#timer = setTimeout(() => this.#end(late), timeMaxMs)
  }

  get signal(): AbortSignal {
    return this.#controller.signal
  }

  noteOut(): void {
    this.#isOut = true
    this.#wait(this.#answerTimeMaxMs, 'the mail server got the e-mail, and did not say in time whether it takes it')
  }

  /** What is out may be taken in a moment, and would come twice otherwise. */
  close(): void {
    this.#wait(this.#isOut ? closeTimeMaxMs : 0, 'the service ended')
  }

  stop(): void {
    clearTimeout(this.#timer)
  }

  #wait(timeMaxMs: number, reason: string): void {
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => this.#end(reason), timeMaxMs)
  }

  #end(reason: string): void {
    this.failure = new DeliveryFailure(reason, { isFinal: false })
    this.#controller.abort()
  }
}
