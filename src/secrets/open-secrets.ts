/**
 * The storage with its secrets sealed, and the box that opens them.
 *
 * 1. A key is made where there is none, and never takes the place of one: what a lost key has sealed stays as it is.
 * 2. Plain secrets of earlier releases, also those of a catalog that was put back from a backup, are sealed by writing the
 *    whole file anew, so that their bytes are gone. A crash before its end leaves the old file, and a start repeats it.
 * 3. The record `secret_key` says which key seals all secrets of the storage; while it names another, or is of an earlier form, a
 *    start looks at all of them. It is written once none is plain and none is lost.
 */
import type { Logger } from '../observe/logger.ts'
import type { DiskReports } from '../shared/disk-fault.ts'
import { openLmdbStorage } from '../storage/lmdb-storage.ts'
import { rewriteStorage } from '../storage/rewrite-storage.ts'
import type { RecordStorage } from '../storage/storage.types.ts'
import { type SealPlain, surveySecrets } from './sealed-records.ts'
import { createSecretBox } from './secret-box.ts'
import type { SecretBox } from './secret-box.types.ts'
import { createSecretKeyOfRandom } from './secret-key.ts'
import { type KeyFile, type SecretKeys, writeKeyFile } from './secret-key-file.ts'

export interface SecretStorage {
  readonly storage: RecordStorage
  readonly box: SecretBox
  /**
   * Tells the log of secrets whose key is missing, and gives their number. Call it once, when what can be sealed anew from
   * elsewhere was.
   */
  reportLost(): Promise<number>
}

interface SecretsDeps {
  readonly keyFile: KeyFile
  readonly sealPlain: readonly SealPlain[]
  readonly disk: DiskReports
  readonly logger: Logger
}

/** The record of the kind `workspace` that says which key seals. */
export const keyRecordName = 'secret_key'
/** 1: written before digests of tokens counted as secrets. */
const keyRecordFormat = 2

/** Opens the catalog's file. @throws what `openLmdbStorage` throws, and the system's errors of the key's file. */
export async function openSecretStorage(path: string, deps: SecretsDeps): Promise<SecretStorage> {
  const { disk, logger, sealPlain, keyFile } = deps
  const keyCount = keyFile.keys?.length ?? 1
  if (keyCount > 1) {
    logger.warn(
      { path: keyFile.place.path, keyCount },
      'The file of the secret key has several keys; --rotate-secret-key encrypts all secrets with the first and removes the others.',
    )
  }
  const first = await openLmdbStorage(path, { disk, onDiscarded: (record) => reportDiscarded(record, logger) })
  const { box, plainCount } = await prepare(first, deps).catch(async (error: unknown) => {
    await first.close()
    throw error
  })
  if (plainCount === 0) return { storage: first, box, reportLost: () => reportLost(first, box, deps) }
  await first.close()
  await rewriteStorage(path, (record) => sealPlain.reduce((one, seal) => seal(one, box) ?? one, record))
  logger.info(
    { plainCount },
    'Secrets of an earlier release are encrypted or digested anew, and the catalog is written anew.',
  )
  const storage = await openLmdbStorage(path, { disk })
  return { storage, box, reportLost: () => reportLost(storage, box, deps) }
}

/** Tells the log of a damaged record that can be done without. */
export function reportDiscarded(record: string, logger: Pick<Logger, 'warn'>): void {
  logger.warn(
    { record },
    'A damaged record of the catalog, which has only counts and times, is begun anew; nothing else is lost with it.',
  )
}

/** The record that says which key seals. */
export function keyRecordOf(box: SecretBox): { readonly format: number; readonly keyId: string } {
  return { format: keyRecordFormat, keyId: box.keyId }
}

async function prepare(
  storage: RecordStorage,
  deps: SecretsDeps,
): Promise<{ readonly box: SecretBox; readonly plainCount: number }> {
  const box = createSecretBox(deps.keyFile.keys ?? (await makeKeys(deps)))
  if (await isNoted(storage, box)) return { box, plainCount: 0 }
  const { plainCount } = await surveySecrets(storage, box, deps.sealPlain)
  return { box, plainCount }
}

/** On disk before anything is sealed by it. */
async function makeKeys({ keyFile: { place }, logger }: SecretsDeps): Promise<SecretKeys> {
  const keys: SecretKeys = [createSecretKeyOfRandom()]
  await writeKeyFile(place, keys)
  logger.info({ path: place.path }, 'A secret key was made. Back it up, apart from the data.')
  return keys
}

async function isNoted(storage: RecordStorage, box: SecretBox): Promise<boolean> {
  const value = (await storage.get('workspace', keyRecordName))?.value
  if (typeof value !== 'object' || value === null) return false
  const { format, keyId } = { format: null, keyId: null, ...value }
  return format === keyRecordFormat && keyId === box.keyId
}

async function reportLost(
  storage: RecordStorage,
  box: SecretBox,
  { keyFile: { place }, logger, sealPlain }: SecretsDeps,
): Promise<number> {
  if (await isNoted(storage, box)) return 0
  const { lostCounts } = await surveySecrets(storage, box, sealPlain)
  const lostCount = Object.values(lostCounts).reduce((sum, count) => sum + count, 0)
  if (lostCount === 0) {
    const version = (await storage.get('workspace', keyRecordName))?.version ?? null
    await storage.commit([{ kind: 'workspace', key: keyRecordName, value: keyRecordOf(box), version }])
    return 0
  }
  logger.error(
    { path: place.path, lostCount, ...lostCounts },
    'Secrets cannot be read, because the key that encrypted them is missing: put it back, or write their values anew.',
  )
  return lostCount
}
