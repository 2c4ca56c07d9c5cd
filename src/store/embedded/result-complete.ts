import { open, statfs } from 'node:fs/promises'
import process from 'node:process'
import { diskFaultOf, reasonOf } from '../../shared/disk-fault.ts'
import { StoreError } from '../store-error.ts'

/** More than the engine writes at once, so a disk that refused it has less than that. */
const freeBytesMin = 1024 * 1024

/**
 * Makes sure that the engine's file of a result is whole: the engine says nothing when the disk refuses its last bytes, and
 * the answer would be cut. So the file must take more bytes behind its end; they are cut off again.
 *
 * @throws StoreError with the disk's reason.
 */
export async function checkComplete(path: string): Promise<void> {
  try {
    const { blocks, bavail, bfree, bsize } = await statfs(path)
    // Some blocks are kept for root. A file system without a size tells 0 of all.
    const freeBytes = (process.getuid?.() === 0 ? bfree : bavail) * bsize
    if (blocks > 0 && freeBytes < freeBytesMin) throw refused(reasonOf('ENOSPC'))
    const file = await open(path, 'a')
    try {
      const { size } = await file.stat()
      await file.writeFile(probe)
      await file.truncate(size)
    } finally {
      await file.close()
    }
  } catch (cause) {
    const reason = diskFaultOf(cause)
    throw reason === null || cause instanceof StoreError ? cause : refused(reason, cause)
  }
}

/** What is left of the room is asked of the system; the file itself need only take something. */
const probe = Buffer.alloc(4096)

function refused(diskFault: string | null, cause?: unknown): StoreError {
  return new StoreError({ kind: 'engine', message: 'The disk did not take the result', diskFault, cause })
}
