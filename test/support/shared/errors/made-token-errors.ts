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
  TOKENS_TOO_MANY: [
    errors.TOKENS_TOO_MANY({ tokensMax: 3 }),
    400,
    'There are already 3 tokens, the most a workspace can have; delete one first',
  ],
  FILTERS_TOO_MANY: [errors.FILTERS_TOO_MANY({ filtersMax: 3 }), 400, 'A token can have 3 filters at most'],
  TOKEN_TOO_LARGE: [
    errors.TOKEN_TOO_LARGE({ bytesMax: 9 }),
    400,
    'The name, the description and the scopes of a token can have 9 bytes at most; each scope counts 64 more',
  ],
  TOKENS_TOO_LARGE: [
    errors.TOKENS_TOO_LARGE({ bytesMax: 9 }),
    400,
    'All tokens together can have 9 bytes at most; delete some, or make descriptions and scopes shorter',
  ],
  SCOPES_TOO_MANY: [errors.SCOPES_TOO_MANY({ scopesMax: 3 }), 400, 'A token can have 3 scopes at most'],
  TOKEN_EXPIRED: [errors.TOKEN_EXPIRED(), 403, 'The token has expired'],
  JWT_INVALID: [errors.JWT_INVALID({ reason: 'scopes is empty' }), 400, 'The JWT cannot be made: scopes is empty'],
  WARRANT_ENDED: [
    errors.WARRANT_ENDED(),
    403,
    'The token that the job was made with is not valid any more; start the job again with a token that is',
  ],
  TOKEN_HIDDEN: [errors.TOKEN_HIDDEN(), 403, 'Token has not enough permissions to get information about this token'],
  TOKEN_STRONGER: [errors.TOKEN_STRONGER(), 403, 'The token cannot give more than it may do itself'],
  FILTER_FORBIDS: [
    errors.FILTER_FORBIDS({ resource: 'events' }),
    403,
    'The token may not do this to "events": a filter hides rows from it, and this would tell of them or change them',
  ],
  FILTER_LOST: [
    errors.FILTER_LOST(),
    403,
    'The token filters the rows of a Data Source or Pipe that is not there any more, and so reads nothing but the Data Sources that its scopes name',
  ],
  TOKEN_SELF: [errors.TOKEN_SELF(), 403, 'A token cannot delete itself, or take scopes from itself; use another one'],
  TOKEN_NOT_FOUND: [errors.TOKEN_NOT_FOUND(), 404, 'There is no such token'],
  TOKEN_EXISTS: [errors.TOKEN_EXISTS({ name: 'a' }), 409, 'There is already a token with name "a"'],
  TOKEN_GIVEN: [
    errors.TOKEN_GIVEN(),
    409,
    'The admin token is given by the option --admin-token: change the option, and start the service again',
  ],
  LAST_ADMIN_TOKEN: [
    errors.LAST_ADMIN_TOKEN(),
    409,
    'The workspace admin token, and the last one with the scope ADMIN, can neither be deleted nor lose ADMIN',
  ],
  JWT_UNAVAILABLE: [
    errors.JWT_UNAVAILABLE(),
    409,
    'The admin token has fewer than 32 bytes, and signs no JWT: start the service with a longer one',
  ],
} as const
