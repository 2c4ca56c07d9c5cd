import { join } from 'node:path'
import { markName } from '../../wal/log-mark.ts'
import { logDirectoryName } from '../../wal/wal.ts'
import type { WalOptions } from '../../wal/wal.types.ts'

/** What the options of the service say of the log of events. */
export interface LogOptions {
  readonly dataDir: string
  readonly eventsBodyBytesMax: number
  readonly eventsPendingBytesMax: number
  readonly eventsLogBytesMax: number
  readonly eventsLogOnDamage: 'keep-aside' | 'refuse'
}

/** More data sources than a workspace has, and those that were dropped but are still in the log. */
const streamsMax = 40_000
const segmentsPerLog = 16

/** The options of the log itself. */
export function walOptions(
  options: LogOptions,
  told: Pick<WalOptions, 'onEvent' | 'onSynced' | 'waitingRows'>,
): WalOptions {
  const { dataDir, eventsBodyBytesMax, eventsLogBytesMax, eventsPendingBytesMax, eventsLogOnDamage } = options
  const entryBytesMax = Math.max(eventsBodyBytesMax, 16 * 1024 * 1024)
  return {
    directory: join(dataDir, logDirectoryName),
    markPath: join(dataDir, markName),
    segmentBytesMax: Math.floor(eventsLogBytesMax / segmentsPerLog),
    zerosAheadBytes: 1024 * 1024,
    entryBytesMax,
    // Whoever waits for the disk is counted in the budget already; names of blocks and notes come on top.
    pendingBytesMax: 2 * Math.max(eventsPendingBytesMax, entryBytesMax),
    totalBytesMax: eventsLogBytesMax,
    streamsMax,
    onDamage: eventsLogOnDamage,
    ...told,
  }
}
