// Data sources that were created when less was refused: their definitions stay as they are, and are told at the start.

import { TextError } from '../../shared/text-error.ts'
import { takeCodec } from '../columns/column-attributes.ts'
import { parseEngineSettings } from '../engines/allowed-table-settings.ts'
import { storedKindOf } from '../engines/engine-definition.ts'
import { readExpression } from '../engines/engine-expression.ts'
import { readStored } from '../expressions/definition-expression.ts'
import { checkBareNames, type StoredText } from '../expressions/stored-expression.ts'
import { SqlFault } from '../syntax/sql-fault.ts'
import { readTextTokens } from '../syntax/text-tokens.ts'
import { TokenCursor } from '../syntax/token-cursor.ts'
import { checkTypeText } from '../syntax/type-parser.ts'
import type { DataSourceDefinition } from './data-source-definition.types.ts'
import { formatIndex, readIndexes } from './index-definition.ts'

export interface DefinitionFault {
  /** `column 'a'`, `index 'i'`, `engine_ttl`. */
  readonly place: string
  readonly reason: string
}

type Defined = Pick<DataSourceDefinition, 'columns' | 'indexes' | 'engine'>

/** The first text of a definition that calls a function by a bare name which is no column; undefined for none. */
export function bareNameFault(defined: Defined): (DefinitionFault & { readonly part: StoredPart }) | undefined {
  const names = defined.columns.map(({ name }) => name)
  for (const { part, place, ...stored } of storedTexts(defined)) {
    const reason = faultOf(() => checkBareNames(stored, names))
    if (reason !== null) return { part, place, reason }
  }
  return undefined
}

type StoredPart = 'column' | 'index' | 'engine'

type PlacedStored = StoredText & { readonly part: StoredPart; readonly place: string }

function storedTexts({ columns, indexes, engine }: Defined): readonly PlacedStored[] {
  const defaults = columns.flatMap(({ name, defaultExpression: text }) => {
    const place = { part: 'column', place: `column '${name}'`, kind: 'expression', what: 'DEFAULT' } as const
    return text === null ? [] : [{ ...place, text }]
  })
  const ofIndexes = indexes.flatMap(({ name, expression, typeText }) => {
    const what = `index '${name}'`
    const place = { part: 'index', place: what, what } as const
    return [
      { ...place, kind: 'expression', text: expression } as const,
      { ...place, kind: 'indexType', text: typeText } as const,
    ]
  })
  const ofEngine = Object.entries(engine.options).flatMap(([option, text]) => {
    const kind = storedKindOf(option)
    const what = `engine_${option}`
    return kind === null ? [] : [{ part: 'engine', place: what, what, kind, text } as const]
  })
  return [...defaults, ...ofIndexes, ...ofEngine]
}

/** What of a stored definition would be refused if it came now. */
export function definitionFaults(defined: Defined): readonly DefinitionFault[] {
  const { columns, indexes, engine } = defined
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
  const bare = faults.length === 0 ? bareNameFault(defined) : undefined
  return bare === undefined ? faults : [{ place: bare.place, reason: bare.reason }]
}

function readDefault(text: string): void {
  const tokens = readTextTokens(text).slice(0, -1)
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
