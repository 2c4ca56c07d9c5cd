import type { TemplateLimits } from './template.types.ts'
import { limitFault } from './template-error.ts'

/** Counts what one rendering costs, so that no template can run for ever or fill the memory. */
export class Meter {
  readonly #limits: TemplateLimits
  #steps = 0
  #evaluations = 0

  constructor(limits: TemplateLimits) {
    this.#limits = limits
  }

  /** @throws TemplateFault when loops have turned, and functions have touched, more than they may. */
  spend(steps: number): void {
    this.#steps += steps
    if (this.#steps <= this.#limits.loopIterationsMax) return
    throw limitFault(`the template makes more than ${this.#limits.loopIterationsMax} loop iterations`)
  }

  /** Counts one expression. @throws TemplateFault when large bodies of loops make too many of them. */
  countEvaluation(): void {
    this.#evaluations += 1
    const evaluationsMax = this.#limits.loopIterationsMax * evaluationsPerIteration
    if (this.#evaluations <= evaluationsMax) return
    throw limitFault(`the template evaluates more than ${evaluationsMax} expressions`)
  }

  /** Long texts cost by their length, short ones nothing. @throws TemplateFault when one is too long. */
  checkText(length: number): void {
    if (length > this.#limits.renderedCharactersMax) {
      throw limitFault(`a text in the template is longer than ${this.#limits.renderedCharactersMax} characters`)
    }
    this.spend(length >>> 8)
  }

  /** @throws TemplateFault for an integer of thousands of digits. */
  checkInteger(value: bigint): bigint {
    if (value < integerMax && value > -integerMax) return value
    throw limitFault('an integer in the template has more than 512 bits')
  }
}

const integerMax = 1n << 512n
const evaluationsPerIteration = 20
