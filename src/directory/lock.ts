/**
 * One process for one data directory. The kernel holds the lock, and drops it with the process, however that ends.
 *
 * Node has no flock(2). A lock belongs to the open file, not to who asked for it: so the command `flock` takes it on the
 * descriptor that it inherits, ends, and leaves it with this process. The engine has a lock of its own, but lets go of it
 * whenever it is started anew.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, existsSync, ftruncateSync, mkdirSync, openSync, writeSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import process from 'node:process'
import type { Logger } from '../observe/logger.ts'
import { startRefusals } from '../shared/errors/start-refusals.ts'

export interface DirectoryLock {
  release(): void
}

/** Holds the id of the process, for people; what it says has no meaning for the lock. */
export const lockName = 'lock'

type Outcome = 'held' | 'refused' | 'unsupported'

/**
 * Takes the lock of the data directory, which is made when it is missing.
 *
 * Where the machine has no `flock`, or the file system no locks, the engine's own lock has to do, and the log says so.
 * @throws StartRefusal DATA_DIR_IN_USE when another process has it.
 */
export async function lockDirectory(path: string, logger: Logger): Promise<DirectoryLock> {
  makeDirectory(resolve(path))
  // Appending, as the file says who holds the lock until it is ours. Descriptors of Node close in what it starts.
  const descriptor = openSync(join(path, lockName), 'a', 0o600)
  try {
    const outcome = await lockDescriptor(descriptor)
    if (outcome === 'refused') throw startRefusals.DATA_DIR_IN_USE({ path })
    if (outcome === 'unsupported') {
      logger.warn(
        { path },
        'The data directory could not be locked by flock, so only the engine keeps others out of it.',
      )
    }
    ftruncateSync(descriptor)
    writeSync(descriptor, `${process.pid}\n`)
    return { release: () => closeSync(descriptor) }
  } catch (error) {
    closeSync(descriptor)
    throw error
  }
}

/** Node's own recursion never ends where a file system has no folders to make, as in /proc. */
function makeDirectory(path: string): void {
  if (existsSync(path)) return
  makeDirectory(dirname(path))
  try {
    mkdirSync(path, { mode: 0o700 })
  } catch (error) {
    // Another start has made it meanwhile.
    if (!existsSync(path)) throw error
  }
}

async function lockDescriptor(descriptor: number): Promise<Outcome> {
  const child = spawn('flock', ['-x', '-n', '3'], { stdio: ['ignore', 'ignore', 'ignore', descriptor] })
  try {
    const [code] = await once(child, 'exit')
    if (code === 0) return 'held'
    // Another code than 1 tells of the file system or of the command, not of a lock.
    return code === 1 ? 'refused' : 'unsupported'
  } catch (error) {
    if (error instanceof Error && 'code' in error && (error.code === 'ENOENT' || error.code === 'EACCES'))
      return 'unsupported'
    throw error
  }
}
