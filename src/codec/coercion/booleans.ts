import type { Verdict } from '../cell.types.ts'
import { smallInteger } from './numbers.ts'
import { accepted, type Coercion, refused, trimBlanks } from './verdict.ts'

const one = accepted(1)
const zero = accepted(0)

const boolTexts: ReadonlyMap<string, Verdict> = new Map([
  ...['true', 't', 'yes', 'y', 'on', '1'].map((text) => [text, one] as const),
  ...['false', 'f', 'no', 'n', 'off', '0'].map((text) => [text, zero] as const),
])

export const boolCoercion: Coercion = (value) => {
  switch (value.kind) {
    case 'boolean':
      return value.text === 'true' ? one : zero
    case 'number':
      return boolNumber(smallInteger(value.text))
    case 'string':
    case 'cell':
      return boolText(trimBlanks(value.text))
    case 'null':
    case 'array':
    case 'object':
      return refused
  }
}

function boolNumber(value: number | undefined): Verdict {
  if (value === 1) return one
  return value === 0 ? zero : refused
}

function boolText(text: string): Verdict {
  return (text.length <= 5 ? boolTexts.get(text.toLowerCase()) : undefined) ?? refused
}
