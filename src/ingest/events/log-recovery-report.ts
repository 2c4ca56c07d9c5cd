/** What the service's own log says of the events log at the start. */
import type { Logger } from '../../observe/logger.ts'
import type { LostRange, RecoveryReport } from '../../wal/wal.types.ts'
import type { Loss } from './events-recovery.ts'

/** How the files of the log were found. */
export function reportFiles(recovery: RecoveryReport, logger: Logger): void {
  const { cutTails, damages, keptAside, entryCount, byteCount, wasClosed, isNew } = recovery
  for (const tail of cutTails) logger.info({ ...tail }, 'The end of the log that was never acknowledged is cut off.')
  for (const damage of damages) {
    const message =
      damage.lastLost === undefined ? 'A file of the log is damaged and was kept aside.' : 'A file of the log is gone.'
    logger.error({ ...damage, keptAside }, message)
  }
  reportHarmlessLosses(recovery, logger)
  if (!isNew && entryCount > 0) logger.info({ entryCount, byteCount, wasClosed }, 'The log is read.')
}

function reportHarmlessLosses({ harmlessLosses, keptAside }: RecoveryReport, logger: Logger): void {
  for (const loss of harmlessLosses) {
    if (loss.kind === 'checkpoint') {
      const { reason } = loss
      logger.warn(
        { reason, keptAside },
        'The checkpoint of the log was lost and is made anew; no event is lost with it.',
      )
    } else {
      const { first, last } = loss
      const message =
        'The files of the log are gone. All events in them were stored; idempotency keys are forgotten, so that a repeat under one is stored once more.'
      logger.warn({ first, last }, message)
    }
  }
}

/** What damage took. `losses` are by the name of the data source, or by its id when it is gone. */
export function reportLosses(
  lost: readonly LostRange[],
  losses: Iterable<readonly [dataSource: string, loss: Loss]>,
  logger: Logger,
): void {
  for (const range of lost) {
    logger.error(
      { ...range },
      'Entries of the log are lost to damage; events among them that were not stored are gone.',
    )
  }
  for (const [dataSource, loss] of losses) {
    logger.error(
      { dataSource, ...loss },
      'Events of a data source are lost to damage of the log; its others are stored.',
    )
  }
}
