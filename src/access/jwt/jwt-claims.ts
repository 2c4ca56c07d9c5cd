// What a token may do, read out of its payload once. Claims that are not known are ignored; a scope that has a member that is not
// known is refused, as it may be meant to narrow what the scope gives.

import type { FixedParameters, FixedValue } from '../../sql/read-scope.types.ts'
import type { ScopeType } from '../scopes/scope-types.ts'
import { JwtFault } from './jwt-fault.ts'
import type { GatedJwt } from './jwt-gate.ts'
import { isJwtObject, type JwtJson, type JwtObject } from './jwt-json.ts'

/** Its rights are fewer than a static token's: whoever signs it does not ask the service. */
export type JwtScopeType = Extract<ScopeType, 'PIPES:READ' | 'DATASOURCES:READ' | 'DATASOURCES:APPEND'>

/** One scope of a token; the older spellings (`PIPE:READ`) are read as the newer ones. */
export interface JwtScope {
  readonly type: JwtScopeType
  /** Name or id. It is not looked up, and cannot follow a rename. */
  readonly resource: string
  /** The id of what a filter or fixed values were made for, where the service has signed it: they hold for that under each name. Absent for none. */
  readonly resourceId?: string
  /** A condition on the rows that are read, as it was sent: nobody has parsed it. Null for none. */
  readonly filter: string | null
  /** Values of a pipe's parameters, texts, numbers, booleans and lists of these; null for none. */
  readonly fixedParameters: FixedParameters | null
}

export interface JwtClaims {
  readonly workspaceId: string
  /** Null where the token has none. */
  readonly name: string | null
  readonly expiresAtSeconds: number
  readonly notBeforeSeconds: number | null
  /** At least one. One resource may occur in several. */
  readonly scopes: readonly JwtScope[]
  /** Requests a second; null for no limit. */
  readonly perSecondMax: number | null
}

/** What one token may have; all of it must fit into 8 KiB anyway. Characters are UTF-16 units. */
export const jwtClaimLimits = {
  workspaceIdCharactersMax: 256,
  nameCharactersMax: 256,
  scopesMax: 100,
  resourceCharactersMax: 256,
  filterCharactersMax: 4_096,
  fixedParametersMax: 100,
  parameterNameCharactersMax: 256,
  parameterCharactersMax: 4_096,
  parameterItemsMax: 500,
} as const

/** @throws JwtFault, with the place, for claims that are missing, malformed, or may not be in a JWT. */
export function readClaims({ payload, expiresAtSeconds, notBeforeSeconds }: GatedJwt): JwtClaims {
  const { workspaceIdCharactersMax } = jwtClaimLimits
  return {
    workspaceId: readText(payload.get('workspace_id'), 'workspace_id', workspaceIdCharactersMax),
    name: readName(payload),
    expiresAtSeconds,
    notBeforeSeconds,
    scopes: readScopes(payload),
    perSecondMax: readLimit(payload),
  }
}

/**
 * The `name` of a payload; null where it has none.
 * @throws JwtFault
 */
export function readName(payload: JwtObject): string | null {
  const name = payload.get('name')
  return name === undefined ? null : readText(name, 'name', jwtClaimLimits.nameCharactersMax)
}

/**
 * The `scopes` of a payload.
 * @throws JwtFault
 */
export function readScopes(payload: JwtObject): readonly JwtScope[] {
  const scopes = payload.get('scopes')
  const { scopesMax } = jwtClaimLimits
  if (!isList(scopes)) throw new JwtFault('scopes is not a list')
  if (scopes.length === 0) throw new JwtFault('scopes is empty')
  if (scopes.length > scopesMax) throw new JwtFault(`scopes has more than ${scopesMax} items`)
  return scopes.map((scope, index) => readScope(scope, `scopes[${index}]`))
}

/**
 * The `limits.rps` of a payload; null where it has none.
 * @throws JwtFault
 */
export function readLimit(payload: JwtObject): number | null {
  const limits = payload.get('limits')
  if (limits === undefined) return null
  if (!isJwtObject(limits)) throw new JwtFault('limits is not an object')
  // One in other letters would be no limit.
  if ([...limits.keys()].some((name) => name !== 'rps')) throw new JwtFault('limits has a member other than rps')
  const perSecondMax = limits.get('rps')
  if (perSecondMax === undefined) return null
  if (typeof perSecondMax !== 'number' || !Number.isSafeInteger(perSecondMax) || perSecondMax < 1) {
    throw new JwtFault('limits.rps is not a whole number of at least 1')
  }
  return perSecondMax
}

const typesBySpelling: ReadonlyMap<JwtJson | undefined, JwtScopeType> = new Map([
  ['PIPES:READ', 'PIPES:READ'],
  ['PIPE:READ', 'PIPES:READ'],
  ['DATASOURCES:READ', 'DATASOURCES:READ'],
  ['DATASOURCE:READ', 'DATASOURCES:READ'],
  ['DATASOURCES:APPEND', 'DATASOURCES:APPEND'],
  ['DATASOURCE:APPEND', 'DATASOURCES:APPEND'],
])

const scopeMembers = ['type', 'resource', 'fixed_params', 'filter', 'resource_id']

function readScope(scope: JwtJson, place: string): JwtScope {
  if (!isJwtObject(scope)) throw new JwtFault(`${place} is not an object`)
  for (const name of scope.keys()) {
    if (!scopeMembers.includes(name)) throw new JwtFault(`${place} has a member other than ${scopeMembers.join(', ')}`)
  }
  const type = typesBySpelling.get(scope.get('type'))
  if (type === undefined) {
    throw new JwtFault(`${place}.type is not PIPES:READ, DATASOURCES:READ or DATASOURCES:APPEND`)
  }
  const resource = readText(scope.get('resource'), `${place}.resource`, jwtClaimLimits.resourceCharactersMax)
  const filter = readFilter(scope, place)
  const fixedParameters = readFixedParameters(scope, place)
  // To pass over them would give more than the token's maker meant to give.
  if (filter !== null && type === 'DATASOURCES:APPEND') throw new JwtFault(`${place} appends, and takes no filter`)
  if (fixedParameters !== null && type !== 'PIPES:READ') {
    throw new JwtFault(`${place} is not about a pipe, and takes no fixed_params`)
  }
  const resourceId = readResourceId(scope, place)
  if (resourceId !== undefined && filter === null && fixedParameters === null)
    throw new JwtFault(`${place} has a resource_id, and neither filter nor fixed_params`)
  return { type, resource, filter, fixedParameters, ...(resourceId === undefined ? {} : { resourceId }) }
}

function readResourceId(scope: JwtObject, place: string): string | undefined {
  if (!scope.has('resource_id')) return undefined
  return readText(scope.get('resource_id'), `${place}.resource_id`, jwtClaimLimits.resourceCharactersMax)
}

/** An empty filter is refused: it reads as if it filtered, and would not. */
function readFilter(scope: JwtObject, place: string): string | null {
  if (!scope.has('filter')) return null
  const filter = readText(scope.get('filter'), `${place}.filter`, jwtClaimLimits.filterCharactersMax)
  if (filter.trim() === '') throw new JwtFault(`${place}.filter is blank`)
  return filter
}

/** Null for none. */
function readFixedParameters(scope: JwtObject, place: string): FixedParameters | null {
  const members = scope.get('fixed_params')
  if (members === undefined) return null
  if (!isJwtObject(members)) throw new JwtFault(`${place}.fixed_params is not an object`)
  const { fixedParametersMax, parameterNameCharactersMax } = jwtClaimLimits
  if (members.size === 0) return null
  if (members.size > fixedParametersMax) {
    throw new JwtFault(`${place}.fixed_params has more than ${fixedParametersMax} members`)
  }
  const read = new Map<string, FixedValue>()
  for (const [name, value] of members) {
    readText(name, `a name in ${place}.fixed_params`, parameterNameCharactersMax)
    read.set(name, readFixedValue(value, `a value in ${place}.fixed_params`))
  }
  return read
}

function readFixedValue(value: JwtJson, place: string): FixedValue {
  if (!isList(value)) return readScalar(value, place)
  const { parameterItemsMax } = jwtClaimLimits
  if (value.length > parameterItemsMax) throw new JwtFault(`${place} has more than ${parameterItemsMax} items`)
  return value.map((item) => readScalar(item, place))
}

function readScalar(value: JwtJson, place: string): string | number | boolean {
  if (typeof value === 'bigint') return value.toString()
  if (typeof value === 'number' || typeof value === 'boolean') return value
  if (typeof value !== 'string') throw new JwtFault(`${place} is not a text, number, boolean or list of these`)
  const { parameterCharactersMax } = jwtClaimLimits
  if (value.length > parameterCharactersMax) {
    throw new JwtFault(`${place} is longer than ${parameterCharactersMax} characters`)
  }
  return value
}

function readText(value: JwtJson | undefined, place: string, charactersMax: number): string {
  if (typeof value !== 'string') throw new JwtFault(`${place} is missing, or is not a text`)
  if (value === '') throw new JwtFault(`${place} is empty`)
  if (value.length > charactersMax) throw new JwtFault(`${place} is longer than ${charactersMax} characters`)
  return value
}

/** `Array.isArray` does not narrow to readonly arrays. */
function isList(value: JwtJson | undefined): value is readonly JwtJson[] {
  return Array.isArray(value)
}
