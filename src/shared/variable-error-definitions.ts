// The part of the table of errors that speaks of variables, and of callers who ask too often.

export const variableDefinitions = {
  VALUE_MISSING: {
    status: 400,
    when: 'The parameter `value` is required here; it may be empty.',
    message: () => 'Parameter "value" is required',
  },
  VALUE_TOO_LARGE: {
    status: 400,
    when: 'The value of a variable is larger than 8 KiB.',
    message: ({ name, bytesMax }: { readonly name: string; readonly bytesMax: number }) =>
      `The value of variable "${name}" is larger than ${bytesMax} bytes`,
  },
  VARIABLES_TOO_MANY: {
    status: 400,
    when: 'The workspace has as many variables as it can have.',
    message: ({ variablesMax }: { readonly variablesMax: number }) =>
      `There are already ${variablesMax} variables, and a workspace has no room for more; delete one first`,
  },
  VARIABLE_NOT_FOUND: {
    status: 404,
    when: 'No variable has this name.',
    // Clients compare both texts: the one of a reader, and the one of who wants to change it.
    message: ({ isRead }: { readonly isRead: boolean }) => (isRead ? 'Not found' : 'Variable not found'),
  },
  VARIABLE_EXISTS: {
    status: 409,
    when: 'A variable is to be created under a name that is taken.',
    message: ({ name }: { readonly name: string }) => `There is already a variable with name "${name}"`,
  },
  RATE_EXCEEDED: {
    status: 429,
    when: 'More requests came in a second than an option such as `variablesRequestsPerSecondMax` allows. Repeat it later.',
    message: ({ perSecondMax }: RateLimit) => `There may be ${perSecondMax} requests a second; repeat this one later`,
    retryAfterSeconds: ({ retryAfterSeconds }: RateLimit) => retryAfterSeconds,
  },
}

interface RateLimit {
  readonly perSecondMax: number
  readonly retryAfterSeconds: number
}
