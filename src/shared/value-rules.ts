/**
 * The rules by which texts are read as values, by number. Whoever keeps texts to read them later, perhaps a newer version and
 * perhaps under a token that the engine has seen, keeps the number beside them: read by other rules, a row may move between
 * the table and the quarantine after one of them was stored. So old rules stay as long as a directory may hold such texts.
 *
 * - 1: before the number was kept, in directories up to format 2. Digits are times of any length (`2024` is a day of 1975,
 *   `20240115` an instant of 1970), times are ISO 8601 alone, and a text in JSON is no number of an Enum.
 * - 2: digits are times only where their number tells what they are; common spellings of times are taken; a text that is no
 *   name of an Enum may be one of its numbers; a Float32 is the nearest one of its digits, not of the nearest double.
 */
export type ValueRules = 1 | 2

export const currentValueRules: ValueRules = 2

/** @throws Error for a number that this version does not know, which the format of the directory rules out. */
export function toValueRules(number: number): ValueRules {
  if (number !== 1 && number !== 2) throw new Error(`rules ${number} for values are not known to this version`)
  return number
}
