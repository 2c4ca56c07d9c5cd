// What a token may be.

import { beginningOf } from '../../shared/beginning-of.ts'
import { errors } from '../../shared/errors/errors.ts'
import type { Scope } from '../scopes/scope.types.ts'

export const nameLengthMax = 255
export const tokenDescriptionLengthMax = 10_000
export const scopesPerTokenMax = 1_000
/** Each is tried by the engine before it is kept, and judged with the others at each read. */
export const filtersPerTokenMax = 100

/** @throws NAME_INVALID (400) */
export function checkTokenName(name: string): void {
  const refuse = (reason: string): never => {
    throw errors.NAME_INVALID({ name: beginningOf(name, nameLengthMax), reason })
  }
  if (name.length > nameLengthMax) refuse(`it is longer than ${nameLengthMax} characters`)
  if (name.trim() === '') refuse('it is empty')
  if (name !== name.trim()) refuse('it begins or ends with a blank')
  // In a path they are the folder, and the one above.
  if (name === '.' || name === '..') refuse('no path can name it')
  // Lone halves of characters among them, which no header and no JSON carries unharmed.
  if (/[\p{Cc}\p{Cs}\p{Zl}\p{Zp}]/u.test(name)) refuse('it has a character that cannot be printed')
}

/** @throws REQUEST_INVALID (400) */
export function checkTokenDescription(description: string): void {
  if (description.length <= tokenDescriptionLengthMax) return
  throw errors.REQUEST_INVALID({
    reason: `the description of a token can have ${tokenDescriptionLengthMax} characters at most`,
  })
}

/** @throws SCOPES_TOO_MANY, FILTERS_TOO_MANY (400) */
export function checkScopeCounts(scopes: readonly Pick<Scope, 'filter'>[]): void {
  if (scopes.length > scopesPerTokenMax) throw errors.SCOPES_TOO_MANY({ scopesMax: scopesPerTokenMax })
  const filterCount = scopes.reduce((count, { filter }) => count + (filter === null ? 0 : 1), 0)
  if (filterCount > filtersPerTokenMax) throw errors.FILTERS_TOO_MANY({ filtersMax: filtersPerTokenMax })
}

/** @throws SCOPES_TOO_MANY, FILTERS_TOO_MANY, SCOPE_INVALID (400) */
export function checkScopes(scopes: readonly Scope[]): void {
  checkScopeCounts(scopes)
  const filtered = scopes.find(({ filter }) => filter !== null)
  if (filtered === undefined || !isAdmin(scopes)) return
  throw errors.SCOPE_INVALID({
    scope: filtered.spelling,
    reason: 'its filter would have no effect beside ADMIN, which reads every row',
  })
}

export function isAdmin(scopes: readonly Scope[]): boolean {
  return scopes.some(({ type }) => type === 'ADMIN')
}
