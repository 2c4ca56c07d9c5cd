// The data directory is closed to other users of the machine: rows, tokens and secrets lie in it.

import { chmod, readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { Logger } from '../observe/logger.ts'

const othersMask = 0o077
const modeMask = 0o7777
const stickyBit = 0o1000

/** What earlier releases made in the data directory for all to read. */
const olderNames: readonly string[] = [
  'catalog.lmdb',
  'catalog.lmdb-lock',
  'clickhouse',
  'engine',
  'parts',
  'results',
  'wal',
]

/**
 * Takes the rights of group and others away from the data directory and from what earlier releases left open in it.
 *
 * What lies deeper cannot be reached then. A directory that others share on purpose (with the sticky bit, such as `/tmp`)
 * keeps its rights, and only what is in it is closed. Where that is not allowed, the log says so: the service runs all the
 * same, as the right to write is no right to change modes on every volume.
 */
export async function closeToOthers(directory: string, logger: Logger): Promise<void> {
  const present = new Set(await readdir(directory))
  const inside = olderNames.filter((name) => present.has(name)).map((name) => join(directory, name))
  for (const path of [directory, ...inside]) await tighten(path, logger)
}

async function tighten(path: string, logger: Logger): Promise<void> {
  const { mode } = await stat(path)
  if ((mode & othersMask) === 0) return
  const fields = { path, mode: (mode & modeMask).toString(8) }
  if ((mode & stickyBit) !== 0) {
    logger.warn(fields, 'The data directory is shared with other users; only what is in it is closed to them.')
    return
  }
  try {
    await chmod(path, mode & ~othersMask & modeMask)
    logger.info(fields, 'The data directory was open to other users of the machine and is closed to them.')
  } catch (err) {
    logger.warn(
      { ...fields, err },
      'The data directory is open to other users of the machine, and cannot be closed to them.',
    )
  }
}
