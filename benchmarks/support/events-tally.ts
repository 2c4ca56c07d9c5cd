import type { ReadyRequest } from './events-bodies.ts'
import type { SentEvents } from './events-sender.types.ts'
import type { HttpAnswer } from './http-answers.ts'
import { monotonicMs } from './monotonic-clock.ts'

/** Counts what was acknowledged, and refuses answers that nobody expects. */
export class EventsTally {
  private readonly requests: readonly ReadyRequest[]
  private readonly expectedStatus: number
  private readonly cpuAtStart = process.cpuUsage()
  private bodyCount = 0
  private rowCount = 0
  private total = 0
  private refusedCount = 0
  private lastAnswerAtMs = 0

  constructor(requests: readonly ReadyRequest[], expectedStatus: number) {
    this.requests = requests
    this.expectedStatus = expectedStatus
  }

  /**
   * True when the body was taken, false when it was refused for now.
   * @throws Error on every other answer.
   */
  count(bodyIndex: number, answer: HttpAnswer): boolean {
    this.lastAnswerAtMs = monotonicMs()
    if (answer.status === 503) {
      this.refusedCount += 1
      return false
    }
    if (answer.status !== this.expectedStatus) {
      throw new Error(`answered ${answer.status}: ${answer.body.toString().slice(0, 2_000)}`)
    }
    const request = this.requests[bodyIndex % this.requests.length]
    this.bodyCount += 1
    this.rowCount += request?.rowCount ?? 0
    this.total += request?.total ?? 0
    return true
  }

  sent(startedAtMs: number): SentEvents {
    const { bodyCount, rowCount, total, refusedCount } = this
    const { user, system } = process.cpuUsage(this.cpuAtStart)
    const elapsedMs = this.lastAnswerAtMs - startedAtMs
    return { elapsedMs, bodyCount, rowCount, total, refusedCount, cpuSeconds: (user + system) / 1e6 }
  }
}
