// The schema string of a data source, read and written:
// name Type [`json:$.path`] [DEFAULT expression] [CODEC(codecs)], …

import { TextError } from '../../shared/text-error.ts'
import { quoteName } from '../../shared/text-escapes.ts'
import type { CheckedExpression } from '../expressions/checked-text.types.ts'
import { textErrorOf } from '../expressions/definition-expression.ts'
import { SqlFault } from '../syntax/sql-fault.ts'
import type { TextToken } from '../syntax/text-tokens.ts'
import { TokenCursor } from '../syntax/token-cursor.ts'
import { checkTypeText } from '../syntax/type-parser.ts'
import { leafCount } from '../types/column-leaves.ts'
import { formatColumnType, readColumnType, valueTypeOf } from '../types/column-type.ts'
import type { ColumnType } from '../types/column-type.types.ts'
import { isTypeName } from '../types/column-type-scalars.ts'
import { isPathToken, pathPrefix, takeCodec, takeDefaultExpression, unexpectedAttribute } from './column-attributes.ts'
import type { ColumnDefinition } from './column-definition.types.ts'
import { columnNameFault } from './column-name.ts'
import { parseJsonPath } from './json-path.ts'
import type { JsonPath } from './json-path.types.ts'
import { schemaErrorOf } from './schema-error.ts'

// Room for 500 columns with 500 characters each.
const schemaLengthMax = 250_000

export interface SchemaLimits {
  readonly columnsMax: number
  /** Names of columns that are there already: they stay, also where a new column may not be called so. */
  readonly kept?: ReadonlySet<string>
}

/**
 * Reads the schema string of a data source into its columns, in their order.
 *
 * @throws SchemaError with line and column of what is wrong.
 */
export function parseSchema(text: string, limits: SchemaLimits): readonly ColumnDefinition[] {
  try {
    if (text.length > schemaLengthMax) {
      throw new TextError({ reason: `The schema is longer than ${schemaLengthMax} characters`, offset: 0 })
    }
    return readColumns(new TokenCursor(text), limits)
  } catch (error) {
    throw error instanceof TextError ? schemaErrorOf(text, error) : error
  }
}

/** The schema as clients read it in `sql_schema`: `` `id` UUID `json:$.Id`, `key` String DEFAULT 'x' ``. */
export function formatSchema(columns: readonly ColumnDefinition[]): string {
  return columns.map(formatColumn).join(', ')
}

/** One column of a schema. */
export function formatColumn(column: ColumnDefinition): string {
  const path = column.jsonPathText === null ? '' : ` ${quoteName(pathPrefix + column.jsonPathText)}`
  const fallback = column.defaultExpression === null ? '' : ` DEFAULT ${column.defaultExpression}`
  const codec = column.codec === null ? '' : ` CODEC(${column.codec})`
  return `${quoteName(column.name)} ${column.typeText}${path}${fallback}${codec}`
}

function readColumns(cursor: TokenCursor, { columnsMax, kept = new Set() }: SchemaLimits): readonly ColumnDefinition[] {
  if (cursor.isAtEnd()) throw new TextError({ reason: 'The schema is empty', offset: 0, hint: 'write name Type, …' })
  const columns = new Map<string, ColumnDefinition>()
  const offsets = new Map<string, number>()
  let leaves = 0
  do {
    const { offset } = cursor.peek()
    const column = readColumn(cursor, kept)
    if (columns.has(column.name)) throw new TextError({ reason: `Column '${column.name}' stands twice`, offset })
    columns.set(column.name, column)
    offsets.set(column.name, offset)
    leaves += leafCount(column.type)
    if (leaves > columnsMax) {
      const isNested = columns.size <= columnsMax
      const hint = 'the parts of tuples, arrays and maps count one by one'
      throw new TooManyColumns({
        reason: `The schema has more than ${columnsMax} columns`,
        offset,
        ...(isNested ? { hint } : {}),
      })
    }
  } while (cursor.takeSymbolIf(',') && !cursor.isAtEnd())
  cursor.expectEnd('after the schema')
  for (const name of columns.keys()) checkSubcolumn(name, columns, offsets.get(name) ?? 0)
  return [...columns.values()]
}

/** A schema is right so far, and has more columns than a data source may have. */
export class TooManyColumns extends TextError {}

/** Arrays, tuples and maps keep their parts in files named like `a.b`, where a column `a.b` would keep itself. */
function checkSubcolumn(name: string, columns: ReadonlyMap<string, ColumnDefinition>, offset: number): void {
  for (let dot = name.indexOf('.'); dot !== -1; dot = name.indexOf('.', dot + 1)) {
    const outer = columns.get(name.slice(0, dot))
    if (outer === undefined || !hasParts(outer.type)) continue
    throw new TextError({ reason: `Column '${name}' has the name of a part of column '${outer.name}'`, offset })
  }
}

function hasParts(type: ColumnType): boolean {
  const value = valueTypeOf(type)
  return value.kind === 'array' || value.kind === 'tuple' || value.kind === 'map'
}

function readColumn(cursor: TokenCursor, kept: ReadonlySet<string>): ColumnDefinition {
  const name = readName(cursor, kept)
  const typeToken = cursor.peek()
  if (cursor.isAtEnd() || cursor.isAtSymbol(',')) {
    throw new TextError({ reason: `Column '${name}' has no type`, offset: typeToken.offset })
  }
  if (cursor.isAtKeyword('DEFAULT')) {
    const hint = 'write the type before DEFAULT'
    throw new TextError({ reason: `Column '${name}' has no type`, offset: typeToken.offset, hint })
  }
  const type = readTypeOf(name, cursor)
  const typeText = formatColumnType(type)
  checkEngineType(typeText, typeToken)
  return { name, typeText, type, ...readAttributes(cursor, type) }
}

/** Other databases, and most languages, write the type first. */
function readTypeOf(name: string, cursor: TokenCursor): ColumnType {
  const { text } = cursor.peek()
  try {
    return readColumnType(cursor)
  } catch (error) {
    if (!(error instanceof TextError) || !isTypeName(name) || isTypeName(text)) throw error
    throw error.advising(`The name comes before the type: ${text} ${name}`)
  }
}

/** The parameters of some types are kept as texts, and nothing of them may be more than a literal. */
function checkEngineType(typeText: string, { offset }: TextToken): void {
  try {
    checkTypeText(typeText)
  } catch (thrown) {
    if (!(thrown instanceof SqlFault)) throw thrown
    throw textErrorOf(thrown, `Type ${typeText}: ${thrown.reason}`, offset)
  }
}

function readName(cursor: TokenCursor, kept: ReadonlySet<string>): string {
  const token = cursor.take()
  if (token.kind === 'quotedName' || token.kind === 'word') {
    const next = cursor.peek()
    const isWhole = token.kind === 'quotedName' || next.offset > token.endOffset || next.kind === 'end'
    if (!isWhole && next.text !== ',' && next.kind !== 'quotedName') throw invalidCharacter(next)
    const fault = kept.has(token.value) ? null : columnNameFault(token.value)
    if (fault !== null) throw new TextError({ ...fault, offset: token.offset })
    return token.value
  }
  if (token.kind === 'end' || token.text === ',') {
    throw new TextError({ reason: 'Expected a column', offset: token.offset })
  }
  if (token.kind === 'number') {
    const reason = `Column name '${token.text}' begins with a digit`
    throw new TextError({ reason, offset: token.offset, hint: 'use backticks' })
  }
  throw invalidCharacter(token)
}

function invalidCharacter(token: TextToken): TextError {
  // A string token begins with its quote; of any other token the first character is the whole.
  const character = token.kind === 'string' ? "'" : token.text
  const reason = `Column name contains invalid character '${character}'`
  const advice = character === ':' ? 'Columns are written name Type, without a colon' : undefined
  return new TextError({ reason, offset: token.offset, hint: 'use backticks', advice })
}

type Attributes = Pick<ColumnDefinition, 'jsonPath' | 'jsonPathText' | 'defaultExpression' | 'codec'>

function readAttributes(cursor: TokenCursor, type: ColumnType): Attributes {
  let path: WrittenPath | null = null
  let defaultExpression: CheckedExpression | null = null
  let codec: string | null = null
  while (!cursor.isAtEnd() && !cursor.isAtSymbol(',')) {
    const token = cursor.peek()
    if (isPathToken(token)) {
      refuseSecond(path, 'JSONPath', token)
      path = readPath(cursor, type)
    } else if (cursor.isAtKeyword('DEFAULT')) {
      refuseSecond(defaultExpression, 'DEFAULT', token)
      defaultExpression = takeDefaultExpression(cursor)
    } else if (cursor.isAtKeyword('CODEC') && cursor.isAtSymbol('(', 1)) {
      refuseSecond(codec, 'CODEC', token)
      codec = takeCodec(cursor)
    } else throw unexpectedAttribute(cursor, formatColumnType(type))
  }
  return { jsonPath: path?.path ?? null, jsonPathText: path?.text ?? null, defaultExpression, codec }
}

function refuseSecond(first: unknown, what: string, token: TextToken): void {
  if (first !== null) throw new TextError({ reason: `The column has a second ${what}`, offset: token.offset })
}

interface WrittenPath {
  readonly path: JsonPath
  readonly text: string
}

function readPath(cursor: TokenCursor, type: ColumnType): WrittenPath {
  const token = cursor.take()
  const written = token.value.slice(pathPrefix.length)
  const text = written.trim()
  // Behind the opening backtick; exact as long as the path needs no escapes of the schema.
  const textOffset = token.offset + 1 + pathPrefix.length + written.indexOf(text)
  const path = readPathAt(text, textOffset)
  checkPathFits(path, text, valueTypeOf(type), token.offset)
  return { path, text }
}

function readPathAt(text: string, textOffset: number): JsonPath {
  try {
    return parseJsonPath(text)
  } catch (error) {
    throw error instanceof TextError ? error.movedBy(textOffset) : error
  }
}

const wholeRecordKinds: ReadonlySet<ColumnType['kind']> = new Set(['string', 'json', 'map', 'tuple'])

function checkPathFits(path: JsonPath, text: string, valueType: ColumnType, offset: number): void {
  if (path.element !== null && valueType.kind !== 'array') {
    const reason = `JSONPath ${text} gives the elements of an array, but the type is ${formatColumnType(valueType)}`
    throw new TextError({ reason, offset, hint: 'use Array(…), or leave out [:] to keep JSON text in a String' })
  }
  if (path.keys.length === 0 && !wholeRecordKinds.has(valueType.kind)) {
    const reason = `JSONPath $ gives the whole record, but the type is ${formatColumnType(valueType)}`
    throw new TextError({ reason, offset, hint: 'use String or JSON' })
  }
}
