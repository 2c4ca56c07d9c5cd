// Data sources that were created when less was refused: their definitions stay as they are, and are told at the start.

import { SqlFault } from '../schema/sql-fault.ts'
import { checkTypeText } from '../schema/type-parser.ts'
import { TextError } from '../shared/text-error.ts'
import { readTokens } from '../shared/text-tokens.ts'
import { TokenCursor } from '../shared/token-cursor.ts'
import { takeCodec } from './column-attributes.ts'
import type { DataSource } from './data-source.types.ts'
import { storedKindOf } from './engine-definition.ts'
import { readExpression } from './engine-expression.ts'
import { parseEngineSettings } from './engine-settings.ts'
import { readStored } from './expression.ts'
import { formatIndex, readIndexes } from './index-definition.ts'

export interface DefinitionFault {
  /** `column 'a'`, `index 'i'`, `engine_ttl`. */
  readonly place: string
  readonly reason: string
}

/** What of a stored definition would be refused if it came now. */
export function definitionFaults({ columns, indexes, engine }: DataSource): readonly DefinitionFault[] {
  const faults: DefinitionFault[] = []
  const check = (place: string, read: () => void): void => {
    const reason = faultOf(read)
    if (reason !== null) faults.push({ place, reason })
  }
  for (const { name, typeText, defaultExpression, codec } of columns) {
    const place = `column '${name}'`
    check(place, () => checkTypeText(typeText))
    if (defaultExpression !== null) check(place, () => readDefault(defaultExpression))
    if (codec !== null) check(place, () => void takeCodec(new TokenCursor(`CODEC(${codec})`)))
  }
  for (const index of indexes) check(`index '${index.name}'`, () => readIndexes(formatIndex(index)))
  for (const [option, text] of Object.entries(engine.options)) {
    const name = `engine_${option}`
    const kind = storedKindOf(option)
    if (kind !== null) check(name, () => readExpression(text, { kind, name }))
    if (option === 'settings') check(name, () => parseEngineSettings(text))
  }
  return faults
}

function readDefault(text: string): void {
  const tokens = readTokens(text).slice(0, -1)
  readStored({ text, tokens, offset: 0 }, 'expression', 'DEFAULT')
}

function faultOf(read: () => void): string | null {
  try {
    read()
    return null
  } catch (thrown) {
    if (thrown instanceof TextError || thrown instanceof SqlFault) return thrown.reason
    throw thrown
  }
}
