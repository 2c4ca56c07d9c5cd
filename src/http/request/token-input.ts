// What a request says of a token: parameters and repeated scopes in the URL or a form, or all of it as JSON.

import type { FastifyRequest } from 'fastify'
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
  for (const [name, value] of Object.entries(document)) {
    const isScalar = typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean'
    if (isScalar) parameters.set(name, String(value))
  }
  const expiration = parameters.text('expiration_time')
  if (expiration !== undefined) {
    const jwt = { expiresAtSeconds: readSeconds(expiration), documentText }
    return { parameters, scopes: undefined, jwt }
  }
  return { parameters, scopes: readScopes(parameters, document), jwt: null }
}

function readSeconds(text: string): number {
  const seconds = Number(text)
  if (/^\d{1,15}$/.test(text) && Number.isSafeInteger(seconds)) return seconds
  const expected = 'a whole number of seconds since 1970'
  throw errors.PARAMETER_INVALID({ parameter: 'expiration_time', value: text, expected })
}

function readScopes(
  parameters: Parameters,
  document: Readonly<Record<string, unknown>>,
): readonly ScopeRequest[] | undefined {
  const texts = parameters.every('scope')
  const lists = [document['scope'], document['scopes']].filter((one) => Array.isArray(one))
  if (texts.length === 0 && lists.length === 0) return undefined
  const listed = lists
    .flat()
    .map((item: unknown) => (typeof item === 'string' ? readScopeText(item) : readFields(item)))
  return [...texts.filter((text) => text.trim() !== '').map(readScopeText), ...listed]
}

/** @throws REQUEST_INVALID, SCOPE_INVALID (400) */
function readFields(item: unknown): ScopeRequest {
  if (typeof item !== 'object' || item === null) {
    throw errors.REQUEST_INVALID({ reason: '"scopes" must be a list of texts or of objects with "type"' })
  }
  const fields = new Map<string, unknown>(Object.entries(item))
  if (fields.has('fixed_params')) {
    throw errors.REQUEST_INVALID({ reason: '"fixed_params" are for JWTs: send "expiration_time" too' })
  }
  const read = (name: string): string | null => {
    const value = fields.get(name) ?? null
    if (value === null || typeof value === 'string') return value
    throw errors.REQUEST_INVALID({ reason: `"${name}" of a scope must be a text` })
  }
  return readScope({ type: read('type') ?? '', resource: read('resource'), filter: read('filter') })
}
