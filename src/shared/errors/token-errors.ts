// What a token, or a change of one, is refused for. Sorted by status.

import { define } from './definition.ts'

export const tokenErrors = {
  SCOPE_INVALID: define({
    status: 400,
    when: 'A scope of a token is not one: its type is unknown, its resource is missing, or its filter cannot be held.',
    message: ({ scope, reason }: { readonly scope: string; readonly reason: string }) =>
      `The scope "${scope}" is not valid: ${reason}`,
  }),
  TOKENS_TOO_MANY: define({
    status: 400,
    when: 'The workspace has as many tokens as `tokensMax` allows.',
    limit: () => 'tokens',
    message: ({ tokensMax }: { readonly tokensMax: number }) =>
      `There are already ${tokensMax} tokens, the most a workspace can have; delete one first`,
  }),
  SCOPES_TOO_MANY: define({
    status: 400,
    when: 'A token has more than 1,000 scopes.',
    message: ({ scopesMax }: { readonly scopesMax: number }) => `A token can have ${scopesMax} scopes at most`,
  }),
  FILTERS_TOO_MANY: define({
    status: 400,
    when: 'More than 100 scopes of a token have a filter. Each is tried by the database before it is kept.',
    message: ({ filtersMax }: { readonly filtersMax: number }) => `A token can have ${filtersMax} filters at most`,
    hint: () => 'Join conditions on one resource with AND',
  }),
  TOKEN_TOO_LARGE: define({
    status: 400,
    when: 'The name, the description and the scopes of a token have more bytes than `tokenBytesMax` allows.',
    message: ({ bytesMax }: { readonly bytesMax: number }) =>
      `The name, the description and the scopes of a token can have ${bytesMax} bytes at most; each scope counts 64 more`,
  }),
  TOKENS_TOO_LARGE: define({
    status: 400,
    when: 'All tokens of the workspace together have as many bytes as `tokensBytesMax` allows.',
    message: ({ bytesMax }: { readonly bytesMax: number }) =>
      `All tokens together can have ${bytesMax} bytes at most; delete some, or make descriptions and scopes shorter`,
  }),
  JWT_INVALID: define({
    status: 400,
    when: 'A request for a JWT says something that a JWT cannot have.',
    message: ({ reason }: { readonly reason: string }) => `The JWT cannot be made: ${reason}`,
  }),
  TOKEN_EXPIRED: define({
    status: 403,
    when: 'The token was made with a time from which on it is not valid, and that time has come.',
    message: () => 'The token has expired',
    hint: () => 'Create another one: a token that has expired stays so, also when it is refreshed',
  }),
  WARRANT_ENDED: define({
    status: 403,
    when: 'The token that a job was made with was refreshed or deleted, or the key that signed it was, before the job began.',
    message: () =>
      'The token that the job was made with is not valid any more; start the job again with a token that is',
  }),
  TOKEN_HIDDEN: define({
    status: 403,
    when: 'There is no such token, or it is stronger than the one that asks.',
    // Clients compare it.
    message: () => 'Token has not enough permissions to get information about this token',
  }),
  TOKEN_STRONGER: define({
    status: 403,
    when: 'A token would get a right that the token of the request does not have. Whether a resource exists is not told.',
    message: () => 'The token cannot give more than it may do itself',
    hint: () => 'Use a token with the scope ADMIN, or leave out what the token of the request does not have',
  }),
  TOKEN_SELF: define({
    status: 403,
    when: 'A token is asked to delete itself, or to take scopes from itself.',
    message: () => 'A token cannot delete itself, or take scopes from itself; use another one',
  }),
  SCOPE_MISSING: define({
    status: 403,
    when: 'The token has none of the scopes that the operation needs. Whether what it names exists is not told.',
    message: ({ scopes, resource }: { readonly scopes: readonly string[]; readonly resource: string | null }) =>
      `The token may not do this${resource === null ? '' : ` to "${resource}"`}: it needs ${scopes.join(' or ')}`,
  }),
  FILTER_FORBIDS: define({
    status: 403,
    when: 'The token has the scope, and also a filter on the rows of what the operation is done to, which would tell of hidden rows or change them.',
    message: ({ resource }: { readonly resource: string | null }) =>
      `The token may not do this${resource === null ? '' : ` to "${resource}"`}: a filter hides rows from it, and this would tell of them or change them`,
    hint: () => 'Use a token without a filter on it',
  }),
  FILTER_LOST: define({
    status: 403,
    when: 'The token filters the rows of a Data Source or Pipe that is not there any more. Pipes might read what has come in its place, so the token reads nothing but the Data Sources that its other scopes name.',
    message: () =>
      'The token filters the rows of a Data Source or Pipe that is not there any more, and so reads nothing but the Data Sources that its scopes name',
    hint: () => 'Send the scopes that the token is to have with PUT /v0/tokens/<token>, or make another JWT',
  }),
  TOKEN_NOT_FOUND: define({
    status: 404,
    when: 'No token has this name, id or value.',
    message: () => 'There is no such token',
  }),
  WORKSPACE_NOT_FOUND: define({
    status: 404,
    when: 'Events are sent with a token of another workspace: the address is wrong. Elsewhere such a token is TOKEN_INVALID.',
    message: () => 'The token is of a workspace that is not here',
    hint: () => 'Send the events to the address that the token is for',
  }),
  TOKEN_EXISTS: define({
    status: 409,
    when: 'The name is taken by a token.',
    message: ({ name }: { readonly name: string }) => `There is already a token with name "${name}"`,
  }),
  TOKEN_GIVEN: define({
    status: 409,
    when: 'The admin token is given by an option, and cannot be refreshed.',
    message: () =>
      'The admin token is given by the option --admin-token: change the option, and start the service again',
  }),
  LAST_ADMIN_TOKEN: define({
    status: 409,
    when: 'The workspace admin token, or the last token with the scope ADMIN, would be deleted or lose ADMIN.',
    message: () =>
      'The workspace admin token, and the last one with the scope ADMIN, can neither be deleted nor lose ADMIN',
  }),
  JWT_UNAVAILABLE: define({
    status: 409,
    when: 'The admin token signs no JWT: it has fewer than 32 bytes, and could be guessed from one.',
    message: () => 'The admin token has fewer than 32 bytes, and signs no JWT: start the service with a longer one',
  }),
}
