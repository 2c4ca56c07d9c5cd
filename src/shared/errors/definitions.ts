// The one table of what callers can do wrong, or can be told: code, status and message live together. Row errors are no
// errors in this sense (they travel with the block), and breaches of our own invariants use `assert`.
//
// The page docs/errors.md is made from this table, and a test holds them together. Decisions:
// - A query or record over a limit of the SQL interface is 400, as the specification has it for wrong SQL; 413 is kept
//   for request bodies, whose sender can split them.
// - A missing token is 403, not 401: the specification knows 403 alone, and clients tell "retry" from "give up" by it.
// - An unknown Content-Encoding is 415 (RFC 9110 §15.5.16): clients that do not know the status take it as any 4xx,
//   which is never retried, and a proxy in between knows what it means.

import { bodyErrors } from './body-errors.ts'
import { contentErrors } from './content-errors.ts'
import { dataSourceErrors } from './data-source-errors.ts'
import { eventErrors } from './event-errors.ts'
import { importErrors } from './import-errors.ts'
import { jobErrors } from './job-errors.ts'
import { pipeErrors } from './pipe-errors.ts'
import { queryErrors } from './query-errors.ts'
import { receiptErrors } from './receipt-errors.ts'
import { requestErrors } from './request-errors.ts'
import { serviceErrors } from './service-errors.ts'
import { tokenErrors } from './token-errors.ts'
import { urlErrors } from './url-errors.ts'
import { variableErrors } from './variable-errors.ts'
import { viewErrors } from './view-errors.ts'

/** The files of the table. A test holds that no code is in two of them, and that each is sorted by status. */
export const definitionGroups = {
  requestErrors,
  bodyErrors,
  contentErrors,
  importErrors,
  urlErrors,
  eventErrors,
  dataSourceErrors,
  pipeErrors,
  viewErrors,
  queryErrors,
  receiptErrors,
  tokenErrors,
  variableErrors,
  jobErrors,
  serviceErrors,
} as const

export const definitions = {
  ...requestErrors,
  ...bodyErrors,
  ...contentErrors,
  ...importErrors,
  ...urlErrors,
  ...eventErrors,
  ...dataSourceErrors,
  ...pipeErrors,
  ...viewErrors,
  ...queryErrors,
  ...receiptErrors,
  ...tokenErrors,
  ...variableErrors,
  ...jobErrors,
  ...serviceErrors,
}
