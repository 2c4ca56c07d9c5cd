import type { Damage } from './wal.types.ts'

/**
 * Why an append was refused; nothing of it is in the log, and later ones may pass.
 *
 * `entry-too-large`: over `entryBytesMax`, never passes. `pending-full`: too many bytes wait for the disk. `log-full`: the
 * log is at `totalBytesMax`. `disk-full`: no room on the device. `too-many-streams`: barriers of `streamsMax` streams are known.
 */
export type RefusalReason = 'disk-full' | 'entry-too-large' | 'log-full' | 'pending-full' | 'too-many-streams'

/** The log did not take an entry, is well, and nothing of the entry is in it. */
export class WalRefusedError extends Error {
  override readonly name = 'WalRefusedError'
  readonly reason: RefusalReason

  constructor(reason: RefusalReason, options: ErrorOptions = {}) {
    super(`the log refused an entry: ${reason}`, options)
    this.reason = reason
  }
}

/**
 * The disk failed under the log; what the entry's fate is, only the next recovery tells.
 *
 * The sender must be told that it is not acknowledged. `reopen()` cuts it off; after a crash it may be there.
 */
export class WalFailedError extends Error {
  override readonly name = 'WalFailedError'
}

/** The log is closed, or closing. */
export class WalClosedError extends Error {
  override readonly name = 'WalClosedError'

  constructor() {
    super('the write-ahead log is closed')
  }
}

/** A checkpoint could not be written: the log goes on, keeps its segments, and tries again at the next release. */
export class WalCheckpointError extends Error {
  override readonly name = 'WalCheckpointError'
}

/** The files are not as they were written. Nothing was changed; `damages` says what is wrong, and where. */
export class WalCorruptError extends Error {
  override readonly name = 'WalCorruptError'
  readonly damages: readonly Damage[]

  constructor(damages: readonly Damage[]) {
    super(`the write-ahead log is damaged: ${damages.map(describeDamage).join('; ')}`)
    this.damages = damages
  }
}

/** The files are whole, but hold what this version does not know, most likely because a newer one wrote them. */
export class WalFormatError extends Error {
  override readonly name = 'WalFormatError'
}

function describeDamage({ file, offset, reason, firstLost, nextGood }: Damage): string {
  const rest =
    nextGood === null
      ? 'nothing readable follows'
      : `entry ${nextGood.sequence} is good again at byte ${nextGood.offset}`
  return `${file} at byte ${offset} (${reason}): entry ${firstLost} is missing or broken, ${rest}`
}
