/**
 * Decimal numbers on their digits, so that no value ever passes through a binary float.
 *
 * Work is bounded by the length of the text: an exponent moves the point, and nobody writes out the zeros of 1e999999999.
 */

/** `digits × 10^exponent`; `digits` has no leading zeros and is empty for zero. */
export interface ExactNumber {
  readonly isNegative: boolean
  readonly digits: string
  readonly exponent: number
}

const numberPattern = /^([+-]?)(\d*)(?:\.(\d*))?(?:[eE]([+-]?\d+))?$/
/** Integers of up to 76 digits cover Int256 and Decimal(76); one of 78 still fits UInt256. */
const integerDigitsMax = 78

/** Reads `1`, `+1`, `01`, `1.5`, `.5`, `5.` and any of them with an exponent: JSON's numbers and more. */
export function parseExactNumber(text: string): ExactNumber | undefined {
  const match = numberPattern.exec(text)
  if (match === null) return undefined
  const [, sign, whole = '', fraction = '', exponentText] = match
  if (whole === '' && fraction === '') return undefined
  const digits = withoutLeadingZeros(whole + fraction)
  const isNegative = sign === '-' && digits !== ''
  if (digits === '') return { isNegative, digits, exponent: 0 }
  // An exponent too long for a double becomes Infinity, which every limit below still refuses.
  const exponent = exponentText === undefined ? 0 : Number(exponentText)
  return { isNegative, digits, exponent: exponent - fraction.length }
}

/** The integer as canonical decimal text, or undefined when there is a fraction or more than 78 digits. */
export function integerText(number: ExactNumber): string | undefined {
  const { digits, exponent, isNegative } = number
  if (digits === '') return '0'
  if (digits.length + exponent > integerDigitsMax) return undefined
  const end = digits.length + exponent
  if (exponent < 0 && !(end > 0 && isAllZeros(digits, end))) return undefined
  const magnitude = exponent < 0 ? digits.slice(0, end) : digits + '0'.repeat(exponent)
  return isNegative ? `-${magnitude}` : magnitude
}

/**
 * The digits of `|number| × 10^scale`, cut towards zero, without leading zeros: empty for zero.
 * Undefined when there are more than `digitsMax`. `hasRest` tells that digits other than zero were cut.
 */
export function scaledDigits(
  number: ExactNumber,
  scale: number,
  digitsMax: number,
): { readonly digits: string; readonly hasRest: boolean } | undefined {
  const { digits } = number
  const shift = number.exponent + scale
  const digitCount = digits.length + shift
  if (digits === '' || digitCount <= 0) return { digits: '', hasRest: digits !== '' }
  if (digitCount > digitsMax) return undefined
  if (shift >= 0) return { digits: digits + '0'.repeat(shift), hasRest: false }
  return { digits: digits.slice(0, digitCount), hasRest: !isAllZeros(digits, digitCount) }
}

/** How many digits stand before the point: 0 for 0.5, 3 for 123.4. */
export function integerDigitCount(number: ExactNumber): number {
  return Math.max(0, number.digits.length + number.exponent)
}

function withoutLeadingZeros(digits: string): string {
  let first = 0
  while (first < digits.length && digits.charCodeAt(first) === 0x30) first += 1
  return first === 0 ? digits : digits.slice(first)
}

function isAllZeros(digits: string, from: number): boolean {
  for (let at = from; at < digits.length; at += 1) if (digits.charCodeAt(at) !== 0x30) return false
  return true
}
