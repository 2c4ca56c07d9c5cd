// Files of the data directory, and of the operator, that hold secrets: for their owner alone, and never half written.

import { open, rename, rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import { syncDirectory } from './sync-directory.ts'

/** The bits of a mode that let others than the owner in. */
export const othersMask = 0o077

const fileMode = 0o600

/**
 * Writes a file of mode 0600 in the place of the one that is there. Readers see the old file or the new one, and after a
 * crash there is one of them; `<path>.new` may lie beside it then. The new one is on disk when the promise resolves.
 */
export async function writePrivateFile(path: string, text: string): Promise<void> {
  const newPath = `${path}.new`
  await rm(newPath, { force: true })
  const file = await open(newPath, 'wx', fileMode)
  try {
    await file.writeFile(text)
    await file.sync()
  } finally {
    await file.close()
  }
  await rename(newPath, path)
  await syncDirectory(dirname(path))
}
