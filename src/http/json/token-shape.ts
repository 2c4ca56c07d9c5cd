// A static token as clients read it.

import type { Scope } from '../../access/scopes/scope.types.ts'
import type { StaticToken } from '../../access/tokens/token.types.ts'
import { timeText } from './time-text.ts'

export interface TokenShapeContext {
  /** The name that a resource has now; undefined for what does not exist any more. */
  readonly nameOf: (id: string) => string | undefined
  /** Epoch milliseconds; null for none. */
  readonly lastUsedAt: number | null
}

/** The shape of `GET /v0/tokens/<token>` and of an item of the list. `value` is null where it cannot be told. */
export function tokenShape(token: StaticToken, value: string | null, context: TokenShapeContext): object {
  const { id, createdAt, updatedAt, expiresAt, origin } = token
  const timeOrNull = (epochMs: number | null) => (epochMs === null ? null : timeText(epochMs))
  return {
    id,
    ...revisedShape(token, context),
    token: value,
    origin: { type: origin === 'default' ? 'D' : 'C' },
    created_at: timeText(createdAt),
    updated_at: timeText(updatedAt),
    expires_at: timeOrNull(expiresAt),
    last_used_at: timeOrNull(context.lastUsedAt),
  }
}

/** The shape of the answer to a change, which has no value. */
export function revisedShape(
  { name, description, scopes }: StaticToken,
  { nameOf }: Pick<TokenShapeContext, 'nameOf'>,
) {
  return { name, description, scopes: scopes.map((scope) => scopeShape(scope, nameOf)) }
}

function scopeShape({ spelling, resource, filter }: Scope, nameOf: TokenShapeContext['nameOf']): object {
  const shown = resource === null ? undefined : 'id' in resource ? (nameOf(resource.id) ?? resource.id) : resource.name
  return {
    type: spelling,
    ...(shown === undefined ? {} : { resource: shown }),
    ...(filter === null ? {} : { filter }),
  }
}
