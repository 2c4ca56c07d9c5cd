// Where in the texts of its authors an error of the engine lies. The engine tells places in the text that it was given, or
// none at all.

import type { CompiledQuery, SourcePlace } from '../sql/compile-query.ts'
import { isOwnText } from '../store/engine-message.ts'
import { placeOfCall } from './call-places.ts'

type Placed = Pick<CompiledQuery, 'sql' | 'placeOf'>

interface Telling {
  /** What stands before the query in the text that the engine was given. */
  readonly prefix?: string | undefined
  /** Whether the reader wrote the text that is no pipe's. */
  readonly isOfAuthor?: boolean | undefined
}

/**
 * The engine's message with the places of the query's authors.
 *
 * Names that the engine suggests are told to the author of the text alone: they are what the tables of a pipe have.
 */
export function withPlace(message: string, plan: Placed, { prefix = '', isOfAuthor = false }: Telling = {}): string {
  if (isOwnText(message)) return message
  const position = syntaxPosition.exec(message)
  if (position !== null) return withSyntaxPlace(message, { plan, prefix, position })
  const name = firstGroup(nameInMessage.exec(message))
  const place = name === undefined ? placeOfFunction(message, plan) : placeOfColumn(name, plan)
  const [, said = message, suggestion = '', code = ''] = messageParts.exec(message) ?? []
  const isOwn = isOfAuthor && place?.source === null && suggestion !== `. Maybe you meant: ['${name}']`
  return `${said}${place === undefined ? '' : ` (${placeText(place)})`}${isOwn ? suggestion : ''}${code}`
}

const messageParts = /^([\s\S]*?)(\. Maybe you meant: \[[^\]]*\])?(\.? \([A-Z][A-Z0-9_]+\))?$/

function firstGroup(match: RegExpExecArray | null): string | undefined {
  return match?.slice(1).find((found) => found !== undefined)
}

/** In backquotes what the engine does not know at all, in quotes what it does not find in a table. */
const nameInMessage = /`([^`]+)`|\b(?:[Ii]dentifier|Column) '([^']+)'/

const functionInMessage = /\b(?:function|call to function) '?(\w+)'?/

/** Where the function of a message is called, as far as that is one place, or in one node. */
function placeOfFunction(message: string, plan: Placed): ReturnType<typeof placeOfCall> {
  const name = firstGroup(functionInMessage.exec(message))
  return name === undefined ? undefined : placeOfCall(name, plan)
}

/** The engine puts the name of a table before a column that was written without. */
function placeOfColumn(name: string, plan: Placed): SourcePlace | undefined {
  const dot = name.indexOf('.')
  return placeOfName(name, plan) ?? (dot === -1 ? undefined : placeOfName(name.slice(dot + 1), plan))
}

const syntaxPosition = /failed at position (\d+) \([\s\S]*?\)(?: \(line \d+, col \d+\))?(?=: |\. |$)/

interface SyntaxPlace {
  readonly plan: Placed
  readonly prefix: string
  readonly position: RegExpExecArray
}

function withSyntaxPlace(message: string, { plan, prefix, position }: SyntaxPlace): string {
  // The engine counts bytes from 1.
  const byteOffset = Number(position[1]) - 1 - Buffer.byteLength(prefix)
  if (byteOffset < 0) return message
  return message.replace(position[0], `failed at ${placeText(plan.placeOf(byteOffset))}`)
}

/** A regular expression of a longer name may be too large for a search; a reader finds such a name without its place. */
const nameCharsMax = 500

/** Where a name stands, if all of its places are in one text: then the first of them. */
function placeOfName(name: string, { sql, placeOf }: Placed): SourcePlace | undefined {
  if (name.length > nameCharsMax) return undefined
  const quotable = name.split('.').map(escaped).join('`?\\.`?')
  const pattern = new RegExp(`(?<![\\w.\`])\`?${quotable}\`?(?![\\w\`])`, 'g')
  const places = [...sql.matchAll(pattern)]
    .slice(0, placesMax)
    .map(({ index }) => placeOf(Buffer.byteLength(sql.slice(0, index))))
  const [first] = places
  return first !== undefined && places.every(({ source }) => source === first.source) ? first : undefined
}

const placesMax = 20

function escaped(text: string): string {
  return text.replaceAll(/[\\^$.*+?()[\]{}|/-]/g, '\\$&')
}

function placeText(place: SourcePlace | { readonly source: string }): string {
  if (!('line' in place)) return `in node '${place.source}'`
  const { source, line, column } = place
  return `line ${line}, column ${column}${source === null ? '' : ` of node '${source}'`}`
}
