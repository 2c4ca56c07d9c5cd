import { errors } from '../../shared/errors/errors.ts'
import { engineFault } from '../../store/caller-errors.ts'
import { clickhouseCodes } from '../../store/engine-codes.ts'
import { withoutInternals } from '../../store/engine-message.ts'
import { isOfPartitions, isOfView, StoreError } from '../../store/store-error.ts'
import { insertFailureKind } from './insert-failure.ts'
import { PartitionsExceededError } from './partition-limits.ts'

/**
 * What the sender of an import is told when a table did not take a block: IMPORT_VIEW_FAILED (422) and ROWS_REFUSED (400)
 * where the view or the rows can be mended (rows after a search for them was given up, see `RefusedBlocks`), INSERT_TOO_COSTLY (422) where they take too much, else ENGINE_FAILED (500); other rows of the import may be stored already, and
 * no answer may say that nothing was. Rows of too many partitions are PARTITIONS_TOO_MANY (400), whose bound for one INSERT is
 * `partitionsMax`. What is not the store's word passes unchanged.
 */
export function toFailure(thrown: unknown, partitionsMax = 0): unknown {
  if (thrown instanceof PartitionsExceededError) {
    return errors.PARTITIONS_TOO_MANY({ scope: thrown.scope, partitionsMax: thrown.partitionsMax, cause: thrown })
  }
  if (!(thrown instanceof StoreError)) return thrown
  if (isOfPartitions(thrown) && !isOfView(thrown)) {
    return errors.PARTITIONS_TOO_MANY({ scope: 'body', partitionsMax, cause: thrown })
  }
  const reason = withoutInternals(thrown.message)
  switch (insertFailureKind(thrown)) {
    case 'view':
      return errors.IMPORT_VIEW_FAILED({ reason, cause: thrown })
    case 'costly':
      return errors.INSERT_TOO_COSTLY({ reason, cause: thrown })
    case 'rows':
      return errors.ROWS_REFUSED({ reason, cause: thrown })
    case 'closed':
    case 'engine':
    case 'unclear':
      return engineFault(thrown)
  }
}

/** An engine that has lost the table says that the data source was dropped meanwhile: DATASOURCE_NOT_FOUND (404). */
export function whenDropped(failure: Error | null, name: string): Error | null {
  const cause = failure?.cause
  const isDropped = cause instanceof StoreError && cause.clickhouseCode === clickhouseCodes.unknownTable
  return isDropped ? errors.DATASOURCE_NOT_FOUND({ name, cause }) : failure
}
