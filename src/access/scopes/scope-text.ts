// A scope as text, `TYPE[:resource][:filter]`: what the parameter `scope` has, and what messages show.

import { errors } from '../../shared/errors/errors.ts'
import type { ScopeRequest } from './scope.types.ts'
import { scopeSpellings, scopeTypeOf, scopeTypes } from './scope-types.ts'

const scopeTextBytesMax = 16 * 1024

/**
 * Reads a scope. Everything behind the resource is the filter, colons included. Checks its form alone: whether the resource exists
 * and whether the filter is a condition is known to others.
 *
 * @throws SCOPE_INVALID (400)
 */
export function readScopeText(text: string): ScopeRequest {
  if (Buffer.byteLength(text) > scopeTextBytesMax) {
    throw errors.SCOPE_INVALID({ scope: '', reason: `a scope has at most ${scopeTextBytesMax} bytes` })
  }
  const trimmed = text.trim()
  const spelling = spellingOf(trimmed)
  if (spelling === undefined) {
    const [first = '', ...rest] = trimmed.split(':')
    // `DROP:<name>` has the name where others have their second word.
    if (first.toUpperCase() === 'DROP' && rest.length > 0) {
      return checked({ type: 'DROP:NAME', spelling: 'DROP:NAME', resource: rest.join(':'), filter: null }, text)
    }
    throw errors.SCOPE_INVALID({ scope: trimmed, reason: `it is none of ${scopeSpellings.join(', ')}` })
  }
  const rest = trimmed.length === spelling.length ? null : trimmed.slice(spelling.length + 1)
  if (rest === null) return readScope({ type: spelling, resource: null, filter: null }, text)
  const colon = rest.indexOf(':')
  const resource = colon === -1 ? rest : rest.slice(0, colon)
  const filter = colon === -1 ? null : rest.slice(colon + 1)
  return readScope({ type: spelling, resource, filter }, text)
}

export interface ScopeFields {
  readonly type: string
  readonly resource: string | null
  readonly filter: string | null
}

/** The same for a scope whose parts stand apart, as in JSON. @throws SCOPE_INVALID (400) */
export function readScope({ type, resource, filter }: ScopeFields, text = type): ScopeRequest {
  const known = scopeTypeOf(type)
  if (known === undefined) {
    throw errors.SCOPE_INVALID({ scope: text, reason: `it is none of ${scopeSpellings.join(', ')}` })
  }
  return checked({ type: known, spelling: type.toUpperCase(), resource, filter }, text)
}

/** The longest spelling that the text begins with. */
function spellingOf(text: string): string | undefined {
  const [first = '', second] = text.split(':')
  const pair = second === undefined ? undefined : `${first}:${second}`
  return [pair, first].find((spelling) => spelling !== undefined && scopeTypeOf(spelling) !== undefined)
}

function checked(request: ScopeRequest, text: string): ScopeRequest {
  const { kinds, mayFilter } = scopeTypes[request.type]
  const resource = request.resource?.trim() ?? null
  const filter = request.filter?.trim() ?? null
  const refuse = (reason: string): never => {
    throw errors.SCOPE_INVALID({ scope: text.trim(), reason })
  }
  if (resource !== null && kinds.length === 0) refuse(`${request.type} is about the whole workspace and takes no name`)
  // What a script's variable was to fill, and was empty: without it the scope would give more.
  if (resource === '') refuse('the name of the resource is empty; leave the colon out to mean all')
  if (filter === '') refuse('the filter is empty; leave the colon out to mean all rows')
  if (filter !== null && !mayFilter) refuse(`${request.type} takes no filter`)
  if (filter !== null && resource === null) refuse('a filter needs the name of its resource')
  return { ...request, resource, filter }
}
