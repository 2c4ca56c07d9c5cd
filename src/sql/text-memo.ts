import { kibibyte } from '../shared/bytes.ts'

// What is made of a text takes up to a hundred times its room, when each of its characters is a token.
const charactersMax = 256 * kibibyte
const entryCharactersMax = 16 * kibibyte

/**
 * What was made of texts that come again and again, such as those of the nodes that every request reads. It forgets what
 * was not asked for the longest.
 */
export class TextMemo<Value> {
  readonly #entries = new Map<string, Value>()
  #characterCount = 0

  /** The value of a text, made by `make` when it is not known; what that raises is not kept. */
  get(text: string, make: () => Value): Value {
    const known = this.#entries.get(text)
    if (known !== undefined) {
      this.#entries.delete(text)
      this.#entries.set(text, known)
      return known
    }
    const value = make()
    if (text.length <= entryCharactersMax) this.#keep(text, value)
    return value
  }

  #keep(text: string, value: Value): void {
    this.#entries.set(text, value)
    this.#characterCount += text.length
    for (const [oldest] of this.#entries) {
      if (this.#characterCount <= charactersMax) return
      this.#entries.delete(oldest)
      this.#characterCount -= oldest.length
    }
  }
}
