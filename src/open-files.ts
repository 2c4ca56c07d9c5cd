import { readFileSync } from 'node:fs'
import type { Logger } from './observe/logger.ts'
import { startRefusals } from './shared/errors/start-refusals.ts'

/** What an empty service has open, its threads, and some connections. */
const openFilesMin = 512
/**
 * Enough for what it may have open: 2 for each data source, 3 for each thread of the engine, 1 for each connection, and while
 * parts of more than 64 MiB are merged, up to nine for each column.
 */
const openFilesAdvised = 8_192

/**
 * Looks at how many files the system lets this process open; Node has raised that at its start to the most that it may.
 *
 * @throws StartRefusal when they do not suffice for a start; when they do, but are few, the log says so.
 */
export function checkOpenFiles(logger: Logger, limit = openFilesLimit()): void {
  if (limit < openFilesMin)
    throw startRefusals.OPEN_FILES_TOO_FEW({ limit, min: openFilesMin, advised: openFilesAdvised })
  if (limit >= openFilesAdvised) return
  logger.warn(
    { limit, advised: openFilesAdvised },
    'The system lets the process open few files; with many data sources, columns or connections requests will fail. Raise the limit before the start: ulimit -n, LimitNOFILE=, --ulimit nofile=.',
  )
}

/** Infinity where there is no limit, or where the system does not tell it by a file. */
function openFilesLimit(): number {
  try {
    const limits = readFileSync('/proc/self/limits', 'utf8')
    return Number(/^Max open files\s+(\d+)/m.exec(limits)?.[1] ?? Number.POSITIVE_INFINITY)
  } catch {
    // Only Linux has this file; elsewhere the start itself shows whether they suffice.
    return Number.POSITIVE_INFINITY
  }
}
