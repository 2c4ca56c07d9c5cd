import { errors } from '../shared/errors.ts'
import { clickhouseCodes, StoreError } from '../store/store-error.ts'

/**
 * What the sender of an import is told when a table did not take a block: ENGINE_FAILED (500), as other rows of the
 * import may be stored already and no answer may say that nothing was. What is not the store's word passes unchanged.
 */
export function toFailure(thrown: unknown): unknown {
  return thrown instanceof StoreError ? errors.ENGINE_FAILED({ cause: thrown }) : thrown
}

/** An engine that has lost the table says that the data source was dropped meanwhile: DATASOURCE_NOT_FOUND (404). */
export function whenDropped(failure: Error | null, name: string): Error | null {
  const cause = failure?.cause
  const isDropped = cause instanceof StoreError && cause.clickhouseCode === clickhouseCodes.unknownTable
  return isDropped ? errors.DATASOURCE_NOT_FOUND({ name, cause }) : failure
}
