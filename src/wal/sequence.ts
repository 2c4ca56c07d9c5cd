import { assert } from '../shared/assert.ts'
import type { Brand } from '../shared/brand.ts'

/**
 * The place of an entry in the log: counts from 1, without gaps, and is never used twice for acknowledged entries.
 *
 * 64 bits on disk; below 2^53 here, which a million entries a second reach in 285 years.
 */
export type Sequence = Brand<number, 'Sequence'>

/** The sequence of the first entry of a new log. */
export const firstSequence = toSequence(1)

/** Makes a sequence of a whole number from 1 on. */
export function toSequence(value: number): Sequence {
  assert(Number.isSafeInteger(value) && value >= 1, `${value} is no sequence`)
  // The check above is what the brand stands for.
  return value as Sequence
}
