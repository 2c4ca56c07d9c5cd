/** Names of columns for paths, each only once. */
import { soundColumnName } from '../schema/columns/column-name.ts'

/** Leaves room for what makes a name one of a kind. */
const nameLengthMax = 200

export class FreeNames {
  readonly #taken = new Set<string>()
  /** Where the search for a number begins: thousands of keys in another script are one name. */
  readonly #nextNumbers = new Map<string, number>()

  /** How many there are by now. */
  get size(): number {
    return this.#taken.size
  }

  /** A column's name for a path, which is taken from then on. */
  nameOf(keys: readonly string[]): string {
    const plain = keys
      .join('_')
      .replaceAll(/[^A-Za-z0-9_]/g, '_')
      .slice(0, nameLengthMax)
    const free = soundColumnName(/^\d/.test(plain) ? `_${plain}` : plain)
    let name = free
    let number = this.#nextNumbers.get(free) ?? 2
    for (; this.#taken.has(name); number += 1) name = soundColumnName(`${free}_${number}`)
    this.#nextNumbers.set(free, number)
    this.#taken.add(name)
    return name
  }
}
