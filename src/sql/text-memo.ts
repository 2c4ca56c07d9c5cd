import { kibibyte } from '../shared/bytes.ts'

const entriesMax = 256
const entryCharactersMax = 32 * kibibyte

/**
 * What was made of texts that come again and again, such as those of the nodes that every request reads. It forgets what
 * was not asked for the longest.
 */
export class TextMemo<Value> {
  readonly #entries = new Map<string, Value>()

  /** The value of a text, made by `make` when it is not known; what that raises is not kept. */
  get(text: string, make: () => Value): Value {
    const known = this.#entries.get(text)
    if (known !== undefined) {
      this.#entries.delete(text)
      this.#entries.set(text, known)
      return known
    }
    const value = make()
    if (text.length > entryCharactersMax) return value
    const [oldest] = this.#entries.keys()
    if (this.#entries.size >= entriesMax && oldest !== undefined) this.#entries.delete(oldest)
    this.#entries.set(text, value)
    return value
  }
}
