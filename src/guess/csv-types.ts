/** Types of CSV columns, guessed from cells: the narrowest that takes every one of them, by the codec's own judgement. */
import { createCoercion } from '../codec/coercion/coercion.ts'
import { parseColumnType } from '../schema/types/column-type.ts'
import type { SampleCell } from './csv-sample.ts'

export interface GuessedType {
  /** Without Nullable. */
  readonly type: string
  readonly isNullable: boolean
}

/**
 * Values that are not in the sample may be larger. An integer column is Int32 only where the sample leaves room for a
 * hundred times as much: a larger one costs little, and a smaller one sends rows to quarantine.
 */
const int32Max = 21_474_836n
const int64Max = 2n ** 63n - 1n

const integerForm = /^[+-]?(?:0|[1-9]\d*)$/
/** A number of a telephone, whose plus would be lost; `+5` beside `-3` is a number. */
const telephoneForm = /^\+\d{7,}$/
/** No leading zeros: `007` is a code, and would lose them. */
const decimalForm = /^[+-]?(?:(?:0|[1-9]\d*)(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d{1,3})?$/
const notFiniteForm = /^(?:nan|[+-]?inf(?:inity)?)$/i
const boolForm = /^(?:true|false)$/i
const timeForm = /^\d{4}-\d\d-\d\d/
/** Narrowest first. */
const timeTypes = ['Date', 'Date32', 'DateTime', 'DateTime64(3)', 'DateTime64(6)', 'DateTime64(9)'] as const

/** The type of a column with such cells; a missing one counts as empty. */
export function guessType(cells: readonly (SampleCell | undefined)[]): GuessedType {
  const isNullable = cells.some((cell) => saysNothing(cell))
  const texts: string[] = []
  for (const cell of cells) if (cell !== undefined && !saysNothing(cell)) texts.push(cell.text)
  const type = typeOf(texts.filter((text) => text !== ''))
  // Quoted empty cells are no texts of the other types, but they are taken for nothing where that is allowed.
  const hasEmptyTexts = texts.includes('')
  return { type, isNullable: isNullable || (hasEmptyTexts && type !== 'String') }
}

/** True for an empty cell and for ClickHouse's own word for NULL. */
export function saysNothing(cell: SampleCell | undefined): boolean {
  return cell === undefined || (!cell.isQuoted && (cell.text === '' || cell.text === '\\N'))
}

/** The type of one text. */
export function typeOfText(text: string): string {
  return typeOf([text])
}

function typeOf(texts: readonly string[]): string {
  const [first] = texts
  if (first === undefined) return 'String'
  const trimmed = texts.map((text) => text.trim())
  if (trimmed.every((text) => boolForm.test(text))) return takesAll('Bool', texts) ? 'Bool' : 'String'
  if (trimmed.every((text) => timeForm.test(text))) return timeTypeOf(texts)
  if (trimmed.some((text) => telephoneForm.test(text))) return 'String'
  return numberTypeOf(trimmed, texts)
}

function numberTypeOf(trimmed: readonly string[], texts: readonly string[]): string {
  if (trimmed.every((text) => integerForm.test(text))) {
    const type = integerTypeOf(trimmed)
    return type !== null && takesAll(type, texts) ? type : 'String'
  }
  const isNumbers = trimmed.every((text) => decimalForm.test(text) || notFiniteForm.test(text))
  const hasNumber = trimmed.some((text) => decimalForm.test(text))
  return isNumbers && hasNumber && takesAll('Float64', texts) ? 'Float64' : 'String'
}

/** Null where there is no type of 64 bits: longer digits are names of things more often than counts of them. */
function integerTypeOf(texts: readonly string[]): string | null {
  let least = 0n
  let most = 0n
  for (const text of texts) {
    if (text.length > 20) return null
    const value = BigInt(text.replace(/^\+/, ''))
    if (value < least) least = value
    if (value > most) most = value
  }
  if (most <= int32Max && least >= -int32Max) return 'Int32'
  if (most <= int64Max && least >= -int64Max - 1n) return 'Int64'
  return least >= 0n && most < 2n ** 64n ? 'UInt64' : null
}

function timeTypeOf(texts: readonly string[]): string {
  const isDays = texts.every((text) => text.trim().length === 10)
  const decimals = texts.reduce((most, text) => Math.max(most, /\.(\d+)/.exec(text)?.[1]?.length ?? 0), 0)
  const fits = (type: (typeof timeTypes)[number]): boolean => {
    const isDay = type === 'Date' || type === 'Date32'
    const scale = Number(/\((\d)\)/.exec(type)?.[1] ?? 0)
    return isDay === isDays && scale >= decimals && takesAll(type, texts)
  }
  return timeTypes.find(fits) ?? 'String'
}

function takesAll(type: string, texts: readonly string[]): boolean {
  const judge = createCoercion(parseColumnType(type))
  return texts.every((text) => judge({ kind: 'cell', text, isQuoted: false }).isAccepted)
}
