import type { Scope } from '../scopes/scope.types.ts'
import type { ScopeType } from '../scopes/scope-types.ts'

export interface DefaultToken {
  readonly name: string
  readonly description: string
  readonly scopes: readonly Scope[]
}

/** The token of the start, which signs JWTs. */
export const workspaceAdminToken: DefaultToken = {
  name: 'workspace admin token',
  description: 'May do everything, and signs JWTs. Made with the workspace.',
  scopes: [unrestricted('ADMIN')],
}

/** The others that a workspace starts with: clients look for them by name. They may be deleted, and do not come back then. */
export const otherDefaultTokens: readonly DefaultToken[] = [
  {
    name: 'admin local_testing@tinybird.co',
    description: 'May do everything. Clients for local testing look for it.',
    scopes: [unrestricted('ADMIN')],
  },
  {
    name: 'create datasource token',
    description: 'Creates data sources and appends to them.',
    scopes: [unrestricted('DATASOURCES:CREATE')],
  },
  {
    name: 'user token',
    description: 'May do everything. Clients take it for the token of the person who uses them.',
    scopes: [unrestricted('ADMIN')],
  },
]

function unrestricted(type: ScopeType): Scope {
  return { type, spelling: type, resource: null, filter: null }
}
