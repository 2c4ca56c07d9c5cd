// How much of memory and disk a token takes, as far as whoever makes it decides that.

import type { Scope } from '../scopes/scope.types.ts'
import type { StaticToken } from './token.types.ts'

const scopeBytes = 64
const otherBytes = 512

type Sized = Pick<StaticToken, 'name' | 'description'> & {
  readonly scopes: readonly Pick<Scope, 'spelling' | 'resource' | 'filter'>[]
}

/** The bytes of what is given for a token. */
export function givenBytesOf({ name, description, scopes }: Sized): number {
  return scopes.reduce(
    (sum, scope) => sum + bytesOfScope(scope),
    Buffer.byteLength(name) + Buffer.byteLength(description),
  )
}

/** The same with what is beside it: the value, the times. */
export function bytesOfToken(token: Sized): number {
  return givenBytesOf(token) + otherBytes
}

function bytesOfScope({ spelling, resource, filter }: Sized['scopes'][number]): number {
  const name = resource === null ? '' : resource.kind === 'future' ? resource.name : resource.id
  return scopeBytes + Buffer.byteLength(spelling) + Buffer.byteLength(name) + Buffer.byteLength(filter ?? '')
}
