// Where in the texts of its authors an error of the engine lies. The engine tells places in the text that it was given, or
// none at all.

import type { CompiledQuery, SourcePlace } from '../sql/compile-query.ts'

type Placed = Pick<CompiledQuery, 'sql' | 'placeOf'>

/**
 * The engine's message with the places of the query's authors.
 *
 * @param prefix what stands before the query in the text that the engine was given.
 */
export function withPlace(message: string, plan: Placed, prefix = ''): string {
  const position = syntaxPosition.exec(message)
  if (position !== null) return withSyntaxPlace(message, { plan, prefix, position })
  const name = /`([^`]+)`/.exec(message)?.[1]
  const place = name === undefined ? undefined : placeOfName(name, plan)
  if (place === undefined) return message
  const end = /\.? \([A-Z][A-Z0-9_]+\)$/.exec(message)
  const at = end?.index ?? message.length
  return `${message.slice(0, at)} (${placeText(place)})${message.slice(at)}`
}

const syntaxPosition = /failed at position (\d+) \((?:[^()]|\([^()]*\))*?\)(?: \(line \d+, col \d+\))?/

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

/** Where a name stands, if all of its places are in one text: then the first of them. */
function placeOfName(name: string, { sql, placeOf }: Placed): SourcePlace | undefined {
  const pattern = new RegExp(`(?<![\\w.\`])\`?${escaped(name)}\`?(?![\\w\`])`, 'g')
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

function placeText({ source, line, column }: SourcePlace): string {
  return `line ${line}, column ${column}${source === null ? '' : ` of node '${source}'`}`
}
