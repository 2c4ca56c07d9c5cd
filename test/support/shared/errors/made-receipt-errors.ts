import { errors } from '../../../../src/shared/errors/errors.ts'

/** Errors of receipts, each with its status and message. */
export const madeReceiptErrors = {
  RECEIPT_INVALID: [
    errors.RECEIPT_INVALID({ reason: 'it was not given by this service' }),
    400,
    'The receipt can not be used: it was not given by this service. Send what an answer had in X-Millrace-Receipt, as it was',
  ],
  RECEIPT_NOT_REACHED: [
    errors.RECEIPT_NOT_REACHED({ reason: 'its rows could not be queried within 10 seconds', view: null }),
    408,
    'The query does not see all rows of the receipt: its rows could not be queried within 10 seconds',
  ],
  RECEIPT_WAITS_TOO_MANY: [
    errors.RECEIPT_WAITS_TOO_MANY({ ownerWaitsMax: 250, retryAfterSeconds: 1 }),
    503,
    'Too many queries with this token wait for the rows of their receipts, 250 may at once; repeat the request later',
  ],
} as const
