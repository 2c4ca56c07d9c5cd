import { errors } from '../../../../src/shared/errors/errors.ts'

/** Errors of tokens and scopes with what is expected of each: itself, its status, its message. */
export const madeTokenErrors = {
  TOKEN_MISSING: [
    errors.TOKEN_MISSING(),
    403,
    'No token: send the header "Authorization: Bearer <token>" or the parameter "token"',
  ],
  TOKEN_INVALID: [errors.TOKEN_INVALID(), 403, 'Invalid token'],
  TOKEN_LATE: [
    errors.TOKEN_LATE(),
    403,
    'No token: send the header "Authorization: Bearer <token>", or the parameter "token" in the URL or in the first 8 KiB of an uncompressed body; the rest of the body was not read',
  ],
  SCOPE_INVALID: [
    errors.SCOPE_INVALID({ scope: 'READ', reason: 'it is no scope' }),
    400,
    'The scope "READ" is not valid: it is no scope',
  ],
  SCOPE_MISSING: [
    errors.SCOPE_MISSING({ scopes: ['PIPES:READ:p', 'ADMIN'], resource: 'p' }),
    403,
    'The token may not do this to "p": it needs PIPES:READ:p or ADMIN',
  ],
  WORKSPACE_NOT_FOUND: [errors.WORKSPACE_NOT_FOUND(), 404, 'The token is of a workspace that is not here'],
} as const
