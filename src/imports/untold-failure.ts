import { ApiError, errors } from '../shared/errors/errors.ts'

/** What a replace may fail with by the values of rows that are there. */
const tellingOfRows: ReadonlySet<string> = new Set(['REPLACE_CONDITION_FAILED', 'REPLACE_VIEW_FAILED'])

/** The failure of an import as it is told to whoever may not read all rows of the data source. */
export function withoutRows(thrown: unknown): unknown {
  if (!(thrown instanceof ApiError) || !tellingOfRows.has(thrown.code)) return thrown
  return errors.REPLACE_CONDITION_FAILED({ reason: 'it fails on rows that the token may not read', cause: thrown })
}
