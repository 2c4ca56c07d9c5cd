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

export interface MedianInterval {
  readonly low: number
  readonly median: number
  readonly high: number
}

/** The median and an interval that holds the true one with at least 95 % (by ranks, so of at least six values). */
export function medianInterval(values: readonly number[]): MedianInterval {
  const sorted = values.toSorted((a, b) => a - b)
  // How often at most `rank` of n fair coins show heads: both tails together stay within 5 %.
  let rank = 0
  let chance = 0.5 ** sorted.length
  for (let tail = chance; 2 * tail <= 0.05; tail += chance) {
    rank += 1
    chance *= (sorted.length - rank + 1) / rank
  }
  const low = sorted[Math.max(0, rank - 1)] ?? Number.NaN
  const high = sorted[sorted.length - Math.max(1, rank)] ?? Number.NaN
  return { low, median: spreadOf(values).median, high }
}

export interface Percentiles {
  readonly p50: number
  readonly p99: number
  readonly max: number
}

/** By nearest rank: each is a value that occurred. Sorts `values` in place, of which there is at least one. */
export function percentilesOf(values: Float64Array): Percentiles {
  assert(values.length > 0, 'percentiles are of at least one value')
  const sorted = values.sort()
  const at = (share: number) => sorted[Math.ceil(share * sorted.length) - 1] ?? Number.NaN
  return { p50: at(0.5), p99: at(0.99), max: at(1) }
}

/** Slope of the straight line through the points with the least squares, in units of y by one of x; 0 without two different x. */
export function slopeOf(points: readonly { readonly x: number; readonly y: number }[]): number {
  const mean = (of: (point: { x: number; y: number }) => number) =>
    points.reduce((total, point) => total + of(point), 0) / points.length
  const [meanX, meanY] = [mean(({ x }) => x), mean(({ y }) => y)]
  const variance = mean(({ x }) => (x - meanX) ** 2)
  return variance > 0 ? mean(({ x, y }) => (x - meanX) * (y - meanY)) / variance : 0
}
