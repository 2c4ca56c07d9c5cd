import { errors } from '../../../../src/shared/errors/errors.ts'

/** Errors of deletes of rows, each with its status and message. */
export const madeDeleteErrors = {
  DELETE_CONDITION_INVALID: [
    errors.DELETE_CONDITION_INVALID({ reason: "there is no column 'b'" }),
    400,
    'Parameter "delete_condition" cannot be used: there is no column \'b\'',
  ],
  DELETE_UNSUPPORTED: [
    errors.DELETE_UNSUPPORTED({ name: 'visits', reason: 'its engine Null keeps no rows' }),
    400,
    'Rows of "visits" cannot be deleted by a condition: its engine Null keeps no rows',
  ],
  DELETE_FAILED: [
    errors.DELETE_FAILED({ name: 'visits', reason: 'no' }),
    422,
    'Deleting rows of Data Source "visits" ended early, and rows that match may be left; correct the condition and delete again: no',
  ],
} as const
