// A template that compares numbers takes 7.351902864e9 for the value 7351902864 of a variable.

import { beginningCharsMin } from './beginnings.ts'

/** More digits are no number of anybody. */
const numberCharsMax = 400

/**
 * The number that a value is, without its sign; null where it is none, or one that everybody writes: one of fewer than 8 characters when
 * it is written out, as that of `00000001`.
 */
export function knownNumber(value: string): number | null {
  const text = value.trim()
  if (text.length < beginningCharsMin || text.length > numberCharsMax) return null
  const number = Math.abs(Number(text))
  if (!Number.isFinite(number) || number === 0) return null
  const isLong = number >= longFrom || number < shortFrom || String(number).length >= beginningCharsMin
  return isLong ? number : null
}

const longFrom = 10 ** (beginningCharsMin - 1)
const shortFrom = 10 ** -(beginningCharsMin - 2)

/** The numbers in a text, without their signs, however they are written: also hexadecimal, or with underscores between digits. */
export function* numbersIn(text: string): Generator<number> {
  for (const [found] of text.matchAll(written)) {
    if (found.length <= numberCharsMax) yield Number(found.replaceAll('_', ''))
  }
}

const written = /[\d.][\w.]*(?:(?<=e)[+-]\d+)?/gi
