/** Texts as Float32, rounded once. By way of the nearest double they are rounded twice, and wrong where that is a tie. */
import { type ExactNumber, parseExactNumber } from './exact-number.ts'

const bits = new DataView(new ArrayBuffer(8))
/** Of a double, what a Float32 does not have. */
const lowBits = 0x1fff_ffff
const tieBits = 0x1000_0000
const leastNormal = 2 ** -126
/** What is less is nearer to zero than to any other float. */
const leastRounded = 2 ** -150
/** Turns a tie to one side of it, and is far too little for anything else. */
const nudge = 2 ** -40

/** The number that a Float32 column makes the nearest float of; `text` is a number, of which `double` is the nearest. */
export function roundedOnce(text: string, double: number): number {
  return isTie(double) ? besideTie(text, double) : double
}

/** Whether a double lies in the middle between two floats. Below the normal floats, where their distance is another, perhaps. */
function isTie(double: number): boolean {
  if (double === 0 || !Number.isFinite(double)) return false
  bits.setFloat64(0, double)
  const magnitude = Math.abs(double)
  return (bits.getUint32(4) & lowBits) === tieBits || (magnitude < leastNormal && magnitude >= leastRounded)
}

function besideTie(text: string, double: number): number {
  const written = parseExactNumber(text)
  if (written === undefined) return double
  const side = compareMagnitudes(written, exactly(Math.abs(double)))
  return side === 0 ? double : Math.fround(double * (1 + side * nudge))
}

/** A positive double has finitely many decimals: m × 2^-k is m × 5^k × 10^-k. */
function exactly(double: number): ExactNumber {
  let whole = double
  let exponent = 0
  while (!Number.isInteger(whole)) {
    whole *= 2
    exponent -= 1
  }
  const digits = (BigInt(whole) * 5n ** BigInt(-exponent)).toString()
  return { isNegative: false, digits, exponent }
}

/** -1, 0 or 1; signs do not count. Precondition: neither is zero, and they are near each other. */
function compareMagnitudes(a: ExactNumber, b: ExactNumber): number {
  const [aEnd, bEnd] = [a.digits.length + a.exponent, b.digits.length + b.exponent]
  if (aEnd !== bEnd) return aEnd < bEnd ? -1 : 1
  const length = Math.max(a.digits.length, b.digits.length)
  const [aDigits, bDigits] = [a.digits.padEnd(length, '0'), b.digits.padEnd(length, '0')]
  return aDigits === bDigits ? 0 : aDigits < bDigits ? -1 : 1
}
