// Zip archives of text, in the store's directory until they are read.
//
// What an archive holds stands at its end. It is looked at before the first row is read: of an archive with several files,
// or of one that is cut, nothing may be stored. Archives are bounded each by what a body may unpack to.

import { createReadStream, createWriteStream } from 'node:fs'
import { open, stat } from 'node:fs/promises'
import { pipeline } from 'node:stream/promises'
import { errors } from '../../shared/errors/errors.ts'
import type { BodySource } from '../ingest.types.ts'
import { readAt } from '../parquet/parquet-bytes.ts'
import type { SpoolBudget, SpoolFile } from './spool-budget.ts'
import { checkDirectory, directoryBytesMax } from './zip-central-directory.ts'

/** Bytes to be read instead of those of the request. Whoever takes them closes them. */
export interface SpooledBody {
  readonly body: AsyncIterable<Uint8Array>
  close(): void
}

/**
 * Takes a whole archive where the body is one; other bodies stay as they are.
 *
 * @throws ARCHIVE_UNSUPPORTED, BODY_CORRUPT (400), DECOMPRESSED_TOO_LARGE (413), BODIES_TOO_MANY (503), and what the body
 *   fails with.
 */
export async function spoolArchive(
  { body, contentEncoding, signal }: Pick<BodySource, 'body' | 'contentEncoding' | 'signal'>,
  archives: SpoolBudget,
  bytesMax: number,
): Promise<SpooledBody> {
  if (contentEncoding !== 'zip') return { body, close: () => undefined }
  const file = archives.newFile()
  const remove = (): void => void file.close()
  try {
    await pipeline(limited(body, bytesMax, file), createWriteStream(file.path, { flags: 'wx' }))
    await checkArchive(file.path)
    await file.enter(signal)
    const stream = createReadStream(file.path)
    const end = (): void => {
      stream.destroy(signal?.reason)
    }
    signal?.addEventListener('abort', end, { once: true })
    stream.once('close', () => {
      signal?.removeEventListener('abort', end)
      remove()
    })
    return { body: stream, close: () => stream.destroy() }
  } catch (error) {
    remove()
    throw error
  }
}

async function* limited(
  body: AsyncIterable<Uint8Array>,
  bytesMax: number,
  file: Pick<SpoolFile, 'grow'>,
): AsyncGenerator<Uint8Array> {
  let byteCount = 0
  for await (const chunk of body) {
    byteCount += chunk.length
    if (byteCount > bytesMax) throw errors.DECOMPRESSED_TOO_LARGE({ bytesMax })
    file.grow(chunk.length)
    yield chunk
  }
}

async function checkArchive(path: string): Promise<void> {
  const { size } = await stat(path)
  const file = await open(path)
  try {
    const byteCount = Math.min(size, directoryBytesMax)
    checkDirectory(await readAt(file, size - byteCount, byteCount))
  } finally {
    await file.close()
  }
}
