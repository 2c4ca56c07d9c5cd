import { diskFaultOf } from '../../shared/disk-fault.ts'
import { errors } from '../../shared/errors/errors.ts'
import { WalClosedError, WalFailedError, WalRefusedError } from '../../wal/wal-errors.ts'

const unknownFault = 'it failed, and is tried again'

interface RefusalContext {
  /** True when the log had failed before the append: nothing of it was written then. */
  readonly hadFailed: boolean
  readonly entryBytesMax: number
  readonly retryAfterSeconds: number
}

/**
 * What the sender is told when the log did not take its events: PAYLOAD_TOO_LARGE (413), BACKLOG_FULL, DISK_UNAVAILABLE,
 * SHUTTING_DOWN (503), or ENGINE_FAILED's sibling LOG_FAILED (500), when nobody knows whether they were written.
 */
export function toLogRefusal(thrown: unknown, context: RefusalContext): unknown {
  const { hadFailed, entryBytesMax, retryAfterSeconds } = context
  if (thrown instanceof WalClosedError) return errors.SHUTTING_DOWN({ cause: thrown })
  if (thrown instanceof WalFailedError) {
    return hadFailed
      ? errors.DISK_UNAVAILABLE({ reason: diskFaultOf(thrown) ?? unknownFault, retryAfterSeconds, cause: thrown })
      : errors.LOG_FAILED({ cause: thrown })
  }
  if (!(thrown instanceof WalRefusedError)) return thrown
  switch (thrown.reason) {
    case 'entry-too-large':
      return errors.PAYLOAD_TOO_LARGE({ bytesMax: entryBytesMax, cause: thrown })
    case 'disk-full':
      return errors.DISK_UNAVAILABLE({ reason: diskFaultOf(thrown) ?? unknownFault, retryAfterSeconds, cause: thrown })
    case 'log-full':
    case 'pending-full':
    case 'too-many-streams':
      return errors.BACKLOG_FULL({ retryAfterSeconds, cause: thrown })
  }
}
