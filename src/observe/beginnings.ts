// Whether a text has one of many beginnings in it, at a cost that does not depend on what they are: people choose them. One pass over
// the text keeps a hash of the characters at each place; where a beginning has the same, a binary search tells whether one stands there.

/** Shorter ones cannot be looked for. */
export const beginningCharsMin = 8
/** What they are cut to. */
export const beginningCharsMax = 64

export class Beginnings {
  /** None is the beginning of another one, so that of a text only the greatest that is not greater than it can be. */
  readonly #sorted: readonly string[]
  /** By hash, whether a beginning has it. */
  readonly #marks: Uint8Array

  /** Passes over texts that are too short. */
  constructor(texts: Iterable<string>) {
    this.#sorted = withoutLonger(Array.from(texts, (text) => text.slice(0, beginningCharsMax)))
    this.#marks = new Uint8Array(this.#sorted.length === 0 ? 0 : hashCount)
    for (const text of this.#sorted) this.#marks[firstHash(text, beginningCharsMin) >>> hashShift] = 1
  }

  get count(): number {
    return this.#sorted.length
  }

  areIn(text: string): boolean {
    if (this.#sorted.length === 0 || text.length < beginningCharsMin) return false
    const marks = this.#marks
    let hash = firstHash(text, beginningCharsMin - 1)
    for (let next = beginningCharsMin - 1; next < text.length; next += 1) {
      hash = (Math.imul(hash, factor) + text.charCodeAt(next)) | 0
      const at = next - beginningCharsMin + 1
      if (marks[hash >>> hashShift] === 1 && this.#isOneAt(text, at)) return true
      hash = (hash - Math.imul(text.charCodeAt(at), firstFactor)) | 0
    }
    return false
  }

  #isOneAt(text: string, at: number): boolean {
    const found = text.slice(at, at + beginningCharsMax)
    let low = 0
    let high = this.#sorted.length
    while (low < high) {
      const middle = (low + high) >>> 1
      if ((this.#sorted[middle] ?? '') <= found) low = middle + 1
      else high = middle
    }
    const candidate = this.#sorted[low - 1]
    return candidate !== undefined && found.startsWith(candidate)
  }
}

const hashCount = 65_536
/** The upper bits of 32: the lower ones depend on fewer bits of the characters. */
const hashShift = 16
const factor = 0x01000193
/** What the first character of as many as are hashed is multiplied by. */
const firstFactor = Array.from({ length: beginningCharsMin - 1 }).reduce<number>(
  (product) => Math.imul(product, factor),
  1,
)

function firstHash(text: string, charCount: number): number {
  let hash = 0
  for (let at = 0; at < charCount; at += 1) hash = (Math.imul(hash, factor) + text.charCodeAt(at)) | 0
  return hash
}

function withoutLonger(texts: readonly string[]): readonly string[] {
  const kept: string[] = []
  for (const text of texts.filter(({ length }) => length >= beginningCharsMin).sort()) {
    const last = kept.at(-1)
    if (last === undefined || !text.startsWith(last)) kept.push(text)
  }
  return kept
}
