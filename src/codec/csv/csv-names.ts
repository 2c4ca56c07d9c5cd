/** Names of columns out of the header of a CSV file. */
import { soundColumnName } from '../../schema/columns/column-name.ts'

/** Leaves room for what makes a name one of a kind. */
const nameBytesMax = 200
/** No column has a name of so many characters: of a field of megabytes no more is looked at. */
const nameLengthMax = 1_000

/** Lower case; odd characters become `_`, and so does what stands before a digit. Empty when nothing is left. */
export function normalizeName(name: string): string {
  const plain = name
    .trimStart()
    .slice(0, nameLengthMax)
    .normalize('NFC')
    .trim()
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{M}\p{N}_]+/gu, '_')
  return /^\p{N}/u.test(plain) ? `_${plain}` : plain
}

/**
 * The names of the columns that a header gives, one for each field and each only once: a name that is taken gets a
 * number behind it, one that is empty is `column_` and its position, counted from 1.
 */
export function columnNamesOf(header: readonly string[]): readonly string[] {
  const taken = new Set<string>()
  const plain = header.map((field, index) => withinBytes(normalizeName(field)) || `column_${index + 1}`)
  // A field that has a name as it is keeps it, whatever the fields before it have to be called.
  const kept = new Set(plain)
  /** Where the search for a number begins: a header may have one name a thousand times. */
  const nextNumbers = new Map<string, number>()
  return plain.map((name) => {
    const free = soundColumnName(name)
    let unique = free
    let number = nextNumbers.get(free) ?? 2
    for (; taken.has(unique) || (unique !== name && kept.has(unique)); number += 1) {
      unique = soundColumnName(`${free}_${number}`)
    }
    nextNumbers.set(free, number)
    taken.add(unique)
    return unique
  })
}

function withinBytes(name: string): string {
  if (Buffer.byteLength(name) <= nameBytesMax) return name
  let byteCount = 0
  let end = 0
  for (const character of name) {
    byteCount += Buffer.byteLength(character)
    if (byteCount > nameBytesMax) break
    end += character.length
  }
  return name.slice(0, end)
}
