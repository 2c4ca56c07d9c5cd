/**
 * The catalog's file, written anew: lmdb keeps the bytes of what was removed or replaced in its free pages, and copies pages
 * as they are. So the records are put into a new file, and nothing else gets there.
 *
 * A crash leaves the old file or the new one, each whole.
 */
import { rename, rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import { syncDirectory } from '../directory/sync-directory.ts'
import { type LmdbStorageDeps, openLmdbStorage } from './lmdb-storage.ts'
import type { LoadedWrite } from './loaded-records.ts'
import { type RecordStorage, recordKinds } from './storage.types.ts'

/** A batch of the new file; one record may be a few megabytes. */
const batchRecordsMax = 1_000
const batchCharsMax = 4 * 1024 * 1024

/**
 * Writes all records to a new file, each as `change` gives it, and puts that in the place of the old one.
 *
 * Precondition: nobody has the file open, and it is there.
 * @throws what `openLmdbStorage` throws; DISK_UNAVAILABLE (503). The old file is as it was then.
 */
export async function rewriteStorage(
  path: string,
  change: (record: LoadedWrite) => LoadedWrite,
  deps: Pick<LmdbStorageDeps, 'onDiscarded'> = {},
): Promise<void> {
  const newPath = `${path}.new`
  await removeFile(newPath)
  const from = await openLmdbStorage(path, deps)
  try {
    const to = await openLmdbStorage(newPath)
    try {
      await copyRecords(from, to, change)
    } finally {
      await to.close()
    }
  } finally {
    await from.close()
  }
  // The locks are of the old file, and of a name that nothing has any more; lmdb makes them when they are missing.
  await rm(`${newPath}-lock`, { force: true })
  await rm(`${path}-lock`, { force: true })
  await rename(newPath, path)
  await syncDirectory(dirname(path))
}

async function removeFile(path: string): Promise<void> {
  await rm(path, { force: true })
  await rm(`${path}-lock`, { force: true })
}

async function copyRecords(
  from: RecordStorage,
  to: RecordStorage,
  change: (record: LoadedWrite) => LoadedWrite,
): Promise<void> {
  let batch: LoadedWrite[] = []
  let charCount = 0
  const flush = async (): Promise<void> => {
    await to.commit(batch.map((write) => ({ ...write, version: null })))
    batch = []
    charCount = 0
  }
  // The kind `meta` comes first, with the layout, which the first batch of a new file has to have.
  for (const kind of recordKinds) {
    for (const { key, value } of await from.list(kind)) {
      batch.push(change({ kind, key, value }))
      charCount += JSON.stringify(value).length
      if (batch.length >= batchRecordsMax || charCount >= batchCharsMax) await flush()
    }
  }
  await flush()
}
