import { open } from 'node:fs/promises'

/** Puts on disk which names a directory has: only then does a rename survive a power cut. */
export async function syncDirectory(path: string): Promise<void> {
  const directory = await open(path, 'r')
  try {
    await directory.sync()
  } finally {
    await directory.close()
  }
}
