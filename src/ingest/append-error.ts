import { errors } from '../shared/errors.ts'
import { clickhouseCodes, StoreError } from '../store/store-error.ts'
import { insertFailureKind } from './insert-failure.ts'

/**
 * What the sender of an import is told when a table did not take a block: IMPORT_VIEW_FAILED (422) and ROWS_REFUSED (400)
 * where the view or the rows can be mended, else ENGINE_FAILED (500); other rows of the import may be stored already, and
 * no answer may say that nothing was. What is not the store's word passes unchanged.
 */
export function toFailure(thrown: unknown): unknown {
  if (!(thrown instanceof StoreError)) return thrown
  const { message: reason } = thrown
  switch (insertFailureKind(thrown)) {
    case 'view':
      return errors.IMPORT_VIEW_FAILED({ reason, cause: thrown })
    case 'rows':
      return errors.ROWS_REFUSED({ reason, cause: thrown })
    case 'closed':
    case 'engine':
      return errors.ENGINE_FAILED({ cause: thrown })
  }
}

/** An engine that has lost the table says that the data source was dropped meanwhile: DATASOURCE_NOT_FOUND (404). */
export function whenDropped(failure: Error | null, name: string): Error | null {
  const cause = failure?.cause
  const isDropped = cause instanceof StoreError && cause.clickhouseCode === clickhouseCodes.unknownTable
  return isDropped ? errors.DATASOURCE_NOT_FOUND({ name, cause }) : failure
}
