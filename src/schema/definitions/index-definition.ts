// Data skipping indexes of a data source, as the `INDEXES` of a datafile and the parameter `indexes` write them:
// [INDEX] name expression TYPE type [GRANULARITY n], …
// Lines may stand without commas between them, because a datafile has one index a line.

import { errors } from '../../shared/errors/errors.ts'
import { TextError } from '../../shared/text-error.ts'
import { quoteName } from '../../shared/text-escapes.ts'
import type { IndexClause } from '../expressions/checked-text.types.ts'
import { depthChange, readStored } from '../expressions/definition-expression.ts'
import { readTextTokens, type TextToken } from '../syntax/text-tokens.ts'
import { compactText, TokenCursor } from '../syntax/token-cursor.ts'

export interface IndexDefinition {
  readonly name: string
  /** As written, with single blanks. */
  readonly expression: string
  /** With its parameters: `bloom_filter(0.01)`. */
  readonly typeText: string
  readonly granularity: number
}

const indexesMax = 100
const granularityMax = 1_000_000

/**
 * Reads indexes; whether a type exists and takes the expression is left to the engine.
 *
 * @throws INDEX_INVALID (400)
 */
export function parseIndexes(text: string): readonly IndexDefinition[] {
  try {
    return readIndexes(text)
  } catch (error) {
    if (error instanceof TextError) throw errors.INDEX_INVALID({ reason: error.message, cause: error })
    throw error
  }
}

/** `name expression TYPE type GRANULARITY n`, as it follows INDEX in a statement. */
export function formatIndex({ name, expression, typeText, granularity }: IndexDefinition): IndexClause {
  // `readIndexes` has read them.
  return `${quoteName(name)} ${expression} TYPE ${typeText} GRANULARITY ${granularity}` as IndexClause
}

/** The same with the place of what is wrong. @throws TextError */
export function readIndexes(text: string): readonly IndexDefinition[] {
  const cursor = new TokenCursor(text)
  const indexes: IndexDefinition[] = []
  while (!cursor.isAtEnd()) {
    const { offset } = cursor.peek()
    const index = readIndex(cursor)
    if (indexes.some(({ name }) => name === index.name)) {
      throw new TextError({ reason: `Index '${index.name}' stands twice`, offset })
    }
    indexes.push(index)
    if (indexes.length > indexesMax)
      throw new TextError({ reason: `There are more than ${indexesMax} indexes`, offset })
    cursor.takeSymbolIf(',')
  }
  return indexes
}

function readIndex(cursor: TokenCursor): IndexDefinition {
  // An index may be called `index`: then a second word follows before its expression ends.
  if (cursor.isAtKeyword('INDEX') && !cursor.isAtKeyword('TYPE', 2)) cursor.take()
  const name = cursor.take()
  if (name.kind !== 'word' && name.kind !== 'quotedName') {
    throw new TextError({ reason: 'Expected the name of an index', offset: name.offset, hint })
  }
  const expression = takeExpression(cursor, name)
  cursor.take()
  return { name: name.value, expression, typeText: takeType(cursor, name), granularity: takeGranularity(cursor, name) }
}

const hint = 'it looks like name expression TYPE minmax GRANULARITY 4'

/** Up to the word TYPE that stands outside all brackets. */
function takeExpression(cursor: TokenCursor, name: TextToken): string {
  const { offset } = cursor.peek()
  const tokens: TextToken[] = []
  let depth = 0
  while (!(depth === 0 && tokens.length > 0 && cursor.isAtKeyword('TYPE'))) {
    const token = cursor.take()
    const isOutside = token.kind === 'end' || (depth === 0 && token.text === ',')
    if (isOutside) throw new TextError({ reason: `Index '${name.value}' has no TYPE`, offset, hint })
    tokens.push(token)
    depth += depthChange(token)
  }
  const text = cursor.textFrom(offset)
  return compact(readStored({ text, tokens, offset }, 'expression', `index '${name.value}'`))
}

/** With a blank after each comma: alters compare indexes by their texts. */
function compact(text: string): string {
  return compactText(readTextTokens(text).slice(0, -1))
}

function takeType(cursor: TokenCursor, name: TextToken): string {
  const type = cursor.take()
  if (type.kind !== 'word') {
    throw new TextError({ reason: `Index '${name.value}' has no type after TYPE`, offset: type.offset, hint })
  }
  if (cursor.isAtSymbol('(')) cursor.takeUntilClosed(cursor.take())
  const { offset } = type
  const text = cursor.textFrom(offset)
  return compact(readStored({ text, tokens: [type], offset }, 'indexType', `index '${name.value}'`))
}

function takeGranularity(cursor: TokenCursor, name: TextToken): number {
  if (!cursor.isAtKeyword('GRANULARITY')) return 1
  cursor.take()
  const { text, offset } = cursor.take()
  const granularity = Number(text)
  if (/^[0-9]+$/.test(text) && granularity >= 1 && granularity <= granularityMax) return granularity
  const reason = `Index '${name.value}' needs a GRANULARITY from 1 to ${granularityMax}`
  throw new TextError({ reason, offset, hint })
}
