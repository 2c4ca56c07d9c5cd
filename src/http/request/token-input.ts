// What a request says of a token: parameters and repeated scopes in the URL or a form, or all of it as JSON. Whatever might have
// been meant to give less than it would give is refused: an empty or unknown part of a scope, and what is said twice.

import type { FastifyRequest } from 'fastify'
import { bodyFault } from '../../access/jwt/jwt-request.ts'
import type { ScopeRequest } from '../../access/scopes/scope.types.ts'
import { readScope, readScopeText } from '../../access/scopes/scope-text.ts'
import { errors } from '../../shared/errors/errors.ts'
import type { FormLimits } from '../http.types.ts'
import { readChangeInput } from './change-parameters.ts'
import type { Parameters } from './parameters.ts'

export interface TokenInput {
  readonly parameters: Parameters
  /** Undefined where the request says nothing of scopes. */
  readonly scopes: readonly ScopeRequest[] | undefined
}

/** The body of a request for a JWT; null for a token that is kept. */
export interface JwtInput {
  readonly expiresAtSeconds: number
  readonly documentText: string
}

type Document = Readonly<Record<string, unknown>>

/**
 * Reads what makes or changes a token.
 *
 * @throws SCOPE_INVALID, PARAMETER_INVALID, REQUEST_INVALID (400), and what `readChangeInput` does.
 */
export async function readTokenInput(
  request: FastifyRequest,
  limits: FormLimits,
): Promise<TokenInput & { readonly jwt: JwtInput | null }> {
  const { parameters, document, documentText } = await readChangeInput(request, limits)
  const reason = documentText === '' ? null : bodyFault(documentText)
  if (reason !== null) throw errors.REQUEST_INVALID({ reason })
  const scopeTexts = parameters.every('scope')
  for (const [name, value] of Object.entries(document)) {
    const isScalar = typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean'
    if (isScalar) parameters.set(name, String(value))
    else if (name === 'expiration_time') throw invalidSeconds(JSON.stringify(value))
  }
  // Empty is not absent: the token would never expire.
  const expiration = parameters.get('expiration_time')
  if (expiration !== undefined) {
    const jwt = { expiresAtSeconds: readSeconds(expiration), documentText }
    return { parameters, scopes: undefined, jwt }
  }
  if (scopeTexts.length > 0 && ('scope' in document || 'scopes' in document)) {
    throw errors.REQUEST_INVALID({ reason: 'scopes are in the parameters and in the JSON; send them in one place' })
  }
  return { parameters, scopes: readScopes(parameters, document), jwt: null }
}

function readSeconds(text: string): number {
  const seconds = Number(text)
  if (/^\d{1,15}$/.test(text) && Number.isSafeInteger(seconds)) return seconds
  throw invalidSeconds(text)
}

function invalidSeconds(value: string): Error {
  const expected = 'a whole number of seconds since 1970'
  return errors.PARAMETER_INVALID({ parameter: 'expiration_time', value, expected })
}

function readScopes(parameters: Parameters, document: Document): readonly ScopeRequest[] | undefined {
  const texts = parameters.every('scope')
  const lists = listsOf(document)
  if (texts.length === 0 && lists.length === 0) return undefined
  const listed = lists
    .flat()
    .map((item: unknown) => (typeof item === 'string' ? readScopeText(item) : readFields(item)))
  return [...texts.filter((text) => text.trim() !== '').map(readScopeText), ...listed]
}

/** One text is a parameter already. */
function listsOf({ scope, scopes }: Document): readonly (readonly unknown[])[] {
  return [scope, scopes].flatMap((value, index) => {
    if (Array.isArray(value)) return [value]
    if (value === undefined || (index === 0 && typeof value === 'string')) return []
    throw errors.REQUEST_INVALID({ reason: scopesReason })
  })
}

const scopesReason = '"scopes" must be a list of texts or of objects with "type"'
const scopeMembers: readonly string[] = ['type', 'resource', 'filter']

/** @throws REQUEST_INVALID, SCOPE_INVALID (400) */
function readFields(item: unknown): ScopeRequest {
  if (typeof item !== 'object' || item === null) throw errors.REQUEST_INVALID({ reason: scopesReason })
  const fields = new Map<string, unknown>(Object.entries(item))
  if (fields.has('fixed_params')) {
    throw errors.REQUEST_INVALID({ reason: '"fixed_params" are for JWTs: send "expiration_time" too' })
  }
  const unknown = [...fields.keys()].find((name) => !scopeMembers.includes(name))
  if (unknown !== undefined) {
    const reason = `a scope has the member ${JSON.stringify(unknown)}, and can have ${scopeMembers.join(', ')} alone`
    throw errors.REQUEST_INVALID({ reason })
  }
  const read = (name: string): string | null => {
    if (!fields.has(name)) return null
    const value = fields.get(name)
    if (typeof value === 'string') return value
    throw errors.REQUEST_INVALID({ reason: `"${name}" of a scope must be a text; leave it out to mean all` })
  }
  return readScope({ type: read('type') ?? '', resource: read('resource'), filter: read('filter') })
}
