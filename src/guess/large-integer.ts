/**
 * Integers of JSON that no type of 64 bits holds. JSON.parse makes floats of them, which keep 16 digits alone and look like
 * those that were written as floats; a reader of guesses has to tell them apart, as digits so many are names of things.
 */
export class LargeInteger {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }

  /** As JSON.parse would have read it. */
  toJSON(): number {
    return Number(this.text)
  }
}

/** JSON.parse, but for integers beyond 64 bits. @throws SyntaxError */
export function parseKeepingIntegers(line: string): unknown {
  if (!/\d{19}/.test(line)) return JSON.parse(line)
  // Only what is JSON may be rewritten: a line that is none must not become one.
  JSON.parse(line)
  const marked = line.replaceAll(stringOrInteger, (token) => (isLarge(token) ? `"${mark}${token}"` : token))
  return JSON.parse(marked, (_, value: unknown) =>
    typeof value === 'string' && value.startsWith(mark) ? new LargeInteger(value.slice(mark.length)) : value,
  )
}

// A string as a whole, so that digits in it are none; or a number without a fraction and an exponent.
const stringOrInteger = /"(?:[^"\\]|\\.)*"|(?<![\d.eE+-])-?\d+(?![\d.eE])/g
// A private use character: whoever has it before digits of his own gets a guess that takes his values too.
const mark = '\uf8ff'

function isLarge(token: string): boolean {
  if (token.startsWith('"') || token.length < 19) return false
  const value = BigInt(token)
  return value < -(2n ** 63n) || value >= 2n ** 64n
}
