// What a variable, or a change of one, is refused for. Sorted by status.

import { define } from './definition.ts'

export const variableErrors = {
  VALUE_MISSING: define({
    status: 400,
    when: 'The required parameter `value` is missing; it may be empty.',
    message: () => 'Parameter "value" is required',
  }),
  VALUE_TOO_LARGE: define({
    status: 400,
    when: 'The value of a variable is larger than 8 KiB.',
    message: ({ name, bytesMax }: { readonly name: string; readonly bytesMax: number }) =>
      `The value of variable "${name}" is larger than ${bytesMax} bytes`,
  }),
  VARIABLES_TOO_MANY: define({
    status: 400,
    when: 'The workspace has as many variables as it can have.',
    limit: () => 'secrets',
    message: ({ variablesMax }: { readonly variablesMax: number }) =>
      `There are already ${variablesMax} variables, the most a workspace can have; delete one first`,
  }),
  VARIABLE_NOT_FOUND: define({
    status: 404,
    when: 'No variable has this name.',
    // Clients compare both texts: the one of a reader, and the one of who wants to change it.
    message: ({ isRead }: { readonly isRead: boolean }) => (isRead ? 'Not found' : 'Variable not found'),
  }),
  VARIABLE_EXISTS: define({
    status: 409,
    when: 'The name is taken by a variable.',
    message: ({ name }: { readonly name: string }) => `There is already a variable with name "${name}"`,
  }),
  SECRET_UNREADABLE: define({
    status: 503,
    when: 'The value of a variable was encrypted with a key that the service does not have.',
    message: ({ name }: { readonly name: string }) =>
      `The secret '${name}' cannot be read, because the key that encrypted it is missing; write its value anew`,
  }),
}
