/**
 * Another secret key in the place of the one that there is.
 *
 * The file of the key has both while secrets are sealed anew, the new one first: so whatever a crash leaves opens, and a
 * rotation that was cut off is ended by the next one. The catalog is written as a whole, into a new file: no text that the
 * old key opens is left in it.
 */
import type { Logger } from '../observe/logger.ts'
import { startRefusals } from '../shared/errors/start-refusals.ts'
import type { LoadedWrite } from '../storage/loaded-records.ts'
import { rewriteStorage } from '../storage/rewrite-storage.ts'
import { reportDiscarded } from './open-secrets.ts'
import { resealed, type SealPlain, sealedTextOf } from './sealed-records.ts'
import { createSecretBox } from './secret-box.ts'
import type { SecretBox } from './secret-box.types.ts'
import { createSecretKeyOfRandom } from './secret-key.ts'
import { type KeyPlace, readKeyFile, type SecretKeys, writeKeyFile } from './secret-key-file.ts'

export interface Rotation {
  /** Secrets that the new key has sealed. */
  readonly sealedCount: number
  /** Secrets whose key is missing: they are as they were. */
  readonly lostCount: number
}

interface RotationDeps {
  readonly place: KeyPlace
  readonly sealPlain: readonly SealPlain[]
  readonly logger: Logger
}

/**
 * Rotates the key, and pauses behind each step, where the process may end and nothing is lost. A file that has several keys
 * is one of a rotation that was cut off, or of an operator: its first key is taken, and no other one made.
 *
 * Precondition: the data directory is locked, and nobody has the catalog open.
 * @throws StartRefusal ROTATION_REFUSED when the file of the key is missing or cannot be written; what `rewriteStorage` throws.
 */
export async function* rotateSecrets(
  catalogPath: string,
  { place, sealPlain, logger }: RotationDeps,
): AsyncGenerator<undefined, Rotation> {
  const { keys: found } = await readKeyFile(place, logger)
  if (found === null) throw startRefusals.ROTATION_REFUSED({ path: place.path, reason: 'there is no such file' })
  const [old, ...others] = found
  const keys: SecretKeys = others.length === 0 ? [createSecretKeyOfRandom(), old] : found
  if (others.length === 0) await write(place, keys)
  yield
  const box = createSecretBox(keys)
  const counts = { sealedCount: 0, lostCount: 0 }
  const sealAnew = (record: LoadedWrite): LoadedWrite => {
    const next = sealPlain.reduce((one, seal) => seal(one, box) ?? one, resealed(record, box))
    count(next, box, counts)
    return next
  }
  await rewriteStorage(catalogPath, sealAnew, { onDiscarded: (record) => reportDiscarded(record, logger) })
  yield
  await write(place, [keys[0]])
  return counts
}

async function write(place: KeyPlace, keys: SecretKeys): Promise<void> {
  try {
    await writeKeyFile(place, keys)
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause)
    throw startRefusals.ROTATION_REFUSED({ path: place.path, reason, cause })
  }
}

function count({ value }: LoadedWrite, box: SecretBox, counts: { sealedCount: number; lostCount: number }): void {
  const sealed = sealedTextOf(value)
  if (sealed === null) return
  if (box.hasKeyOf(sealed)) counts.sealedCount += 1
  else counts.lostCount += 1
}
