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

  /** `waitingRows`: rows that waited in the whole log when it was written last, at most; null when nobody knows. */
  constructor(damages: readonly Damage[], waitingRows: number | null = null) {
    const shown = damages.slice(0, shownDamagesMax).map(describeDamage)
    const more = damages.length > shown.length ? [`${damages.length - shown.length} more`] : []
    const rows = waitingRows === null ? '' : `; at most ${waitingRows} rows waited in it to be stored`
    super(`the write-ahead log is damaged: ${[...shown, ...more].join('; ')}${rows}`)
    this.damages = damages
  }

  /** Nothing is broken, but files are gone. */
  get isMissing(): boolean {
    return this.damages.every(({ lastLost }) => lastLost !== undefined)
  }
}

/** The files are whole, but hold what this version does not know, most likely because a newer one wrote them. */
export class WalFormatError extends Error {
  override readonly name = 'WalFormatError'
}

const shownDamagesMax = 20

function describeDamage({ file, offset, reason, firstLost, lastLost, nextGood }: Damage): string {
  if (reason === 'log-id')
    return `${file} belongs to another log, whose entries from ${firstLost} to ${lastLost} are gone`
  if (lastLost !== undefined) return `${file} is gone, and with it the entries ${firstLost} to ${lastLost}`
  const rest =
    nextGood === null
      ? 'nothing readable follows'
      : `entry ${nextGood.sequence} is good again at byte ${nextGood.offset}`
  return `${file} at byte ${offset} (${reason}): entry ${firstLost} is missing or broken, ${rest}`
}
