// Functions that the engine calls where their name stands without brackets and is neither a column nor an alias.

import type { Token } from '../syntax/token.types.ts'
import { isAllowedFunction } from './function-policy.ts'

/** In lower case; `test/full/bare-functions` holds the list to the engine's own. */
const bareFunctions: ReadonlySet<string> = new Set(
  `curdate current_database current_date current_timestamp current_user currentdatabase currentuser database localtime
   localtimestamp now schema session_user today user`.split(/\s+/),
)

/** Whether the engine takes such a name for a function if it finds no column of it. */
export function isBareFunction(name: string): boolean {
  return bareFunctions.has(name.toLowerCase())
}

const refused = [...bareFunctions].filter((name) => !isAllowedFunction(name))
const mention = new RegExp(refused.join('|'), 'i')

/** Whether one of these names may stand in a query; the text is looked at as a whole. */
export function mentionsBareFunction(sql: string): boolean {
  return mention.test(sql)
}

/**
 * The names in a query that must be those of columns or aliases, each spelling once: the functions of that name may not be
 * called. A name with its table in front is none.
 */
export function columnsOnly(tokens: readonly Token[]): readonly string[] {
  const names = tokens.filter((_, index) => isColumnOnly(tokens, index))
  return [...new Set(names.map(({ name }) => name))]
}

/** Whether a token is such a name. */
export function isColumnOnly(tokens: readonly Token[], index: number): boolean {
  const token = tokens[index]
  if (token?.kind !== 'word' && token?.kind !== 'quotedName') return false
  if (!isBareFunction(token.name) || isAllowedFunction(token.name)) return false
  return tokens[index - 1]?.key !== '.' && tokens[index + 1]?.key !== '.'
}
