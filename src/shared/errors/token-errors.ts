// What a token, or a change of one, is refused for. Sorted by status.

import { define } from './definition.ts'

export const tokenErrors = {
  SCOPE_INVALID: define({
    status: 400,
    when: 'A scope of a token is not one: its type is unknown, its resource is missing, or its filter cannot be held.',
    message: ({ scope, reason }: { readonly scope: string; readonly reason: string }) =>
      `The scope "${scope}" is not valid: ${reason}`,
  }),
  SCOPE_MISSING: define({
    status: 403,
    when: 'The token has none of the scopes that the operation needs. Whether what it names exists is not told.',
    message: ({ scopes, resource }: { readonly scopes: readonly string[]; readonly resource: string | null }) =>
      `The token may not do this${resource === null ? '' : ` to "${resource}"`}: it needs ${scopes.join(' or ')}`,
  }),
  WORKSPACE_NOT_FOUND: define({
    status: 404,
    when: 'Events are sent with a token of another workspace: the address is wrong. Elsewhere such a token is TOKEN_INVALID.',
    message: () => 'The token is of a workspace that is not here',
    hint: () => 'Send the events to the address that the token is for',
  }),
}
