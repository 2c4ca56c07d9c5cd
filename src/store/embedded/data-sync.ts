/**
 * Brings what the engine has written onto the disk: parts and deduplication records, of which it syncs neither.
 *
 * Measured beside the engine's own settings (`fsync_after_insert`, `fsync_part_directory`): those cost 2 ms and more for
 * each part and leave the records out; one sync of the whole file system costs 15 to 20 ms, however many parts there are,
 * and happens only before the log lets go of a segment.
 */
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { diskFaultIn } from '../../shared/disk-fault.ts'

const run = promisify(execFile)
const timeoutMs = 120_000

/** What became of a sync: `unsupported` where the machine has no such command. */
export type SyncOutcome = 'synced' | 'unsupported'

/**
 * Syncs the file system that holds `directory`, by syncfs(2), which coreutils and busybox offer and Node does not.
 *
 * @throws Error when the disk refused some of it: nothing that relies on it may be forgotten then.
 */
export async function syncFileSystemOf(directory: string): Promise<SyncOutcome> {
  try {
    await run('sync', ['-f', directory], { timeout: timeoutMs })
    return 'synced'
  } catch (error) {
    if (isUnsupported(error)) return 'unsupported'
    throw new SyncError(wordsOf(error), { cause: error })
  }
}

/** The disk refused to take what was written; `diskFaultOf` knows why. */
class SyncError extends Error {
  override readonly name = 'SyncError'
  readonly diskFault: string | null

  constructor(words: string, options: ErrorOptions) {
    super(`what was written could not be brought onto the disk: ${words}`, options)
    this.diskFault = diskFaultIn(words)
  }
}

function isUnsupported(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  if ('code' in error && error.code === 'ENOENT') return true
  const words = 'stderr' in error ? String(error.stderr) : ''
  return /invalid option|unrecognized option|illegal option|usage:/i.test(words)
}

function wordsOf(error: unknown): string {
  return error instanceof Error && 'stderr' in error ? String(error.stderr).trim() : String(error)
}
