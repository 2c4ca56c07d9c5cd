import { errors } from '../../shared/errors/errors.ts'

/**
 * The parameters of a request, from its query, form and multipart fields together.
 *
 * A name that is given twice has the value that came last, so a form wins over the query.
 */
export class Parameters {
  readonly #values = new Map<string, string>()
  /** In the order in which they came. */
  readonly #all: (readonly [name: string, value: string])[] = []

  /** `query` is Fastify's: a name to a text, or to a list of texts when it is repeated. */
  constructor(query: unknown = {}) {
    if (typeof query !== 'object' || query === null) return
    for (const [name, value] of Object.entries(query)) {
      for (const one of Array.isArray(value) ? value : [value]) {
        if (typeof one === 'string') this.set(name, one)
      }
    }
  }

  set(name: string, value: string): void {
    this.#values.set(name, value)
    this.#all.push([name, value])
  }

  /** The value as it was sent; an empty text is a value. */
  get(name: string): string | undefined {
    return this.#values.get(name)
  }

  /** The value without white space around it; undefined when nothing is left of it. */
  text(name: string): string | undefined {
    const text = this.#values.get(name)?.trim()
    return text === '' ? undefined : text
  }

  /** Every value of a name that may be repeated, in the order in which they came. */
  every(name: string): readonly string[] {
    return this.#all.flatMap(([one, value]) => (one === name ? [value] : []))
  }

  /** The names of all of them. */
  names(): Iterable<string> {
    return this.#values.keys()
  }

  /** All of them, each name once. */
  entries(): Iterable<readonly [string, string]> {
    return this.#values.entries()
  }

  /** All but those of certain names. */
  without(names: RegExp): Parameters {
    const others = new Parameters()
    for (const [name, value] of this.#all) if (!names.test(name)) others.set(name, value)
    return others
  }

  /** @throws NAME_MISSING (400). */
  requiredName(): string {
    const name = this.text('name')
    if (name === undefined) throw errors.NAME_MISSING()
    return name
  }

  /**
   * A yes or no; absent and empty are no.
   *
   * @throws PARAMETER_INVALID (400) for other words.
   */
  flag(name: string): boolean {
    const value = this.text(name)?.toLowerCase() ?? 'false'
    if (value === 'true' || value === '1') return true
    if (value === 'false' || value === '0') return false
    throw errors.PARAMETER_INVALID({ parameter: name, value, expected: 'true or false' })
  }

  /** @throws PARAMETER_INVALID (400) when the value is none of `choices`; absent and empty are undefined. */
  choice<Choice extends string>(name: string, choices: readonly Choice[]): Choice | undefined {
    const value = this.text(name)
    if (value === undefined) return undefined
    const chosen = choices.find((choice) => choice === value.toLowerCase())
    if (chosen === undefined) throw errors.PARAMETER_INVALID({ parameter: name, value, expected: choices.join(' or ') })
    return chosen
  }
}
