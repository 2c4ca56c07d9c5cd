import { assert } from '../../src/shared/assert.ts'

export interface Spread {
  readonly min: number
  readonly median: number
  readonly max: number
}

/** Least, middle and greatest of at least one value; an even count gives the mean of the two in the middle. */
export function spreadOf(values: readonly number[]): Spread {
  assert(values.length > 0, 'a spread is of at least one value')
  const sorted = values.toSorted((a, b) => a - b)
  const at = (index: number) => sorted[index] ?? Number.NaN
  const upper = Math.floor(sorted.length / 2)
  const median = sorted.length % 2 === 1 ? at(upper) : (at(upper - 1) + at(upper)) / 2
  return { min: at(0), median, max: at(sorted.length - 1) }
}
