// The command `--rotate-secret-key`: on a data directory whose service does not run.

import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { Options } from './config.ts'
import { currentFormat, readFormat } from './directory/format.ts'
import { lockDirectory } from './directory/lock.ts'
import { resealJobOrder } from './job-order-seal.ts'
import type { Logger } from './observe/logger.ts'
import { catalogName, sealPlain } from './open-ground.ts'
import { type Rotation, rotateSecrets } from './secrets/rotate-secrets.ts'
import { keyPlaceOf } from './secrets/secret-key-file.ts'
import { startRefusals } from './shared/errors/start-refusals.ts'
import { toStartRefusal } from './start-refusal.ts'

/** Gives the line that tells what was done. @throws StartRefusal */
export async function rotateSecretKey(options: Options, logger: Logger): Promise<string> {
  const { dataDir } = options
  const catalogPath = join(dataDir, catalogName)
  const place = keyPlaceOf(options)
  const refuse = (reason: string) => startRefusals.ROTATION_REFUSED({ path: place.path, reason })
  if (!existsSync(catalogPath)) throw refuse(`${dataDir} is not the data directory of a service`)
  const format = await readFormat(dataDir)
  if (format !== currentFormat) throw refuse(`${dataDir} has format ${format}; start the service once, and stop it`)
  const lock = await lockDirectory(dataDir, logger)
  try {
    return textOf(
      await toTheEnd(rotateSecrets(catalogPath, { place, sealPlain: [...sealPlain, resealJobOrder], logger })),
      place.path,
    )
  } catch (error) {
    throw toStartRefusal(error, options)
  } finally {
    lock.release()
  }
}

async function toTheEnd(steps: AsyncGenerator<undefined, Rotation>): Promise<Rotation> {
  for (;;) {
    const { done, value } = await steps.next()
    if (done === true) return value
  }
}

function textOf({ sealedCount, lostCount }: Rotation, path: string): string {
  const lost =
    lostCount === 0 ? '' : ` ${lostCount} cannot be read, because their key is missing, and are as they were.`
  return `${sealedCount} secrets are encrypted with the new key in ${path}.${lost} Back the key up, apart from the data.\n`
}
