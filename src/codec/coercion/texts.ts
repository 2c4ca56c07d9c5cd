/** String, FixedString, Enum and UUID. */
import type { EnumMember } from '../../schema/types/column-type.types.ts'
import type { ValueRules } from '../../shared/value-rules.ts'
import type { RawValue } from '../cell.types.ts'
import { smallInteger } from './numbers.ts'
import { accepted, type Coercion, fromText, refused, trimBlanks } from './verdict.ts'

/** Strings as they are; numbers, booleans, arrays and objects as their exact source text. */
export const stringCoercion: Coercion = (value) => (value.kind === 'null' ? refused : accepted(value.text))

export function fixedStringCoercion(byteCount: number): Coercion {
  return (value) => {
    if (value.kind === 'null') return refused
    return utf8ByteCount(value.text) <= byteCount ? accepted(value.text) : refused
  }
}

function utf8ByteCount(text: string): number {
  // Lone surrogates are counted as the three bytes of U+FFFD, as which they are written.
  return Buffer.byteLength(text, 'utf8')
}

/** A text is a name, else a value; a number of JSON is a value. By the first rules a string of JSON was a name alone. */
export function enumCoercion(members: readonly EnumMember[], rules: ValueRules): Coercion {
  const byName = new Map(members.map(({ name, value }) => [name, accepted(value)]))
  const byValue = new Map(members.map(({ value }) => [value, accepted(value)]))
  const ofValue = (text: string) => byValue.get(smallInteger(text) ?? Number.NaN) ?? refused
  const ofText = (text: string) => byName.get(text) ?? ofValue(trimBlanks(text))
  return (value: RawValue) => {
    switch (value.kind) {
      case 'string':
        return rules === 1 ? (byName.get(value.text) ?? refused) : ofText(value.text)
      case 'number':
        return ofValue(value.text)
      case 'cell':
        return ofText(value.text)
      case 'null':
      case 'boolean':
      case 'array':
      case 'object':
        return refused
    }
  }
}

const uuidPattern = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/
const bareUuidPattern = /^([0-9a-f]{8})([0-9a-f]{4})([0-9a-f]{4})([0-9a-f]{4})([0-9a-f]{12})$/

export const uuidCoercion: Coercion = fromText((text) => {
  if (text.length !== 36 && text.length !== 32) return refused
  const uuid = text.toLowerCase().replace(bareUuidPattern, '$1-$2-$3-$4-$5')
  return uuidPattern.test(uuid) ? accepted(uuid) : refused
})
