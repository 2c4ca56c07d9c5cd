import type { Window } from './window.types.ts'

const firstCapacity = 64

/**
 * Counts requests in a window that slides: no more than `max` of them ever lie within `windowMs`.
 *
 * It keeps the time of each, eight bytes, and no more than `max` of them.
 */
export class ExactWindow implements Window {
  readonly max: number
  readonly windowMs: number
  /** A ring; the oldest is at `#first`. */
  #times: Float64Array
  #first = 0
  #count = 0

  constructor({ max, windowMs }: Pick<Window, 'max' | 'windowMs'>) {
    this.max = max
    this.windowMs = windowMs
    this.#times = new Float64Array(Math.min(max, firstCapacity))
  }

  usedAt(nowMs: number): number {
    while (this.#count > 0 && this.#oldestMs + this.windowMs <= nowMs) {
      this.#first = (this.#first + 1) % this.#times.length
      this.#count -= 1
    }
    return this.#count
  }

  resetMsAt(nowMs: number): number {
    return this.usedAt(nowMs) === 0 ? 0 : this.#oldestMs + this.windowMs - nowMs
  }

  add(nowMs: number): void {
    if (this.#count === this.#times.length) this.#grow()
    this.#times[(this.#first + this.#count) % this.#times.length] = nowMs
    this.#count += 1
  }

  get #oldestMs(): number {
    return this.#times[this.#first] ?? 0
  }

  #grow(): void {
    const times = new Float64Array(Math.min(this.max, 2 * this.#times.length))
    for (let index = 0; index < this.#count; index += 1) {
      times[index] = this.#times[(this.#first + index) % this.#times.length] ?? 0
    }
    this.#times = times
    this.#first = 0
  }
}
