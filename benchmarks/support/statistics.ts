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

/** The middle value. */
export function medianOf(values: readonly number[]): number {
  return spreadOf(values).median
}

/** Cells of a table: least, middle and greatest with two decimals; empty ones for nothing. */
export function spreadCells(values: readonly number[]): readonly string[] {
  if (values.length === 0) return ['', '', '']
  const { min, median, max } = spreadOf(values)
  return [min, median, max].map((value) => value.toFixed(2))
}

/** An interval that holds the true median with at least 95 % (by ranks, so of at least six values). */
export function medianInterval(values: readonly number[]): { readonly low: number; readonly high: number } {
  const sorted = values.toSorted((a, b) => a - b)
  // How often at most `rank` of n fair coins show heads: both tails together stay within 5 %.
  let rank = 0
  // As a logarithm: of a thousand coins the first chances are less than the least number.
  let logChance = sorted.length * Math.log(0.5)
  for (let tail = Math.exp(logChance); 2 * tail <= 0.05; tail += Math.exp(logChance)) {
    rank += 1
    logChance += Math.log((sorted.length - rank + 1) / rank)
  }
  const low = sorted[Math.max(0, rank - 1)] ?? Number.NaN
  const high = sorted[sorted.length - Math.max(1, rank)] ?? Number.NaN
  return { low, high }
}

/**
 * The middle of many ratios that scatter evenly in their logarithms (Hodges and Lehmann: the median of the means of all pairs), and
 * an interval that holds it with about 95 % (Wilcoxon's ranks). It needs fewer of them than the median for the same interval.
 */
export function middleOf(ratios: readonly number[]): {
  readonly middle: number
  readonly low: number
  readonly high: number
} {
  assert(ratios.length > 9, 'the ranks of at least ten ratios are near to a normal distribution')
  const logs = Float64Array.from(ratios, Math.log)
  const count = logs.length
  const means = new Float64Array((count * (count + 1)) / 2)
  let at = 0
  for (let one = 0; one < count; one += 1) {
    for (let other = one; other < count; other += 1) {
      means[at] = ((logs[one] ?? 0) + (logs[other] ?? 0)) / 2
      at += 1
    }
  }
  means.sort()
  const spread = 1.96 * Math.sqrt((count * (count + 1) * (2 * count + 1)) / 24)
  const rank = Math.max(0, Math.floor(means.length / 2 - spread))
  const ratioAt = (index: number) => Math.exp(means[index] ?? Number.NaN)
  return { middle: ratioAt(means.length >> 1), low: ratioAt(rank), high: ratioAt(means.length - 1 - rank) }
}

export interface Percentiles {
  readonly p50: number
  readonly p99: number
  readonly max: number
}

/** By nearest rank, of at least one value: each is a value that occurred. */
export function percentilesOf(values: readonly number[]): Percentiles {
  assert(values.length > 0, 'percentiles are of at least one value')
  const sorted = Float64Array.from(values).sort()
  const at = (share: number) => sorted[Math.ceil(share * sorted.length) - 1] ?? Number.NaN
  return { p50: at(0.5), p99: at(0.99), max: at(1) }
}
