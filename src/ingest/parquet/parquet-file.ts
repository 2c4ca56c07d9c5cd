// A Parquet file that was sent, in the store's directory until it is loaded.
//
// Its metadata stands at its end, so all of it has to be here before anything can be said of it; the engine reads it from
// there. Each is bounded by `parquetBytesMax`.

import { open } from 'node:fs/promises'
import type { PartFile } from '../../codec/arrow/part.types.ts'
import { errors } from '../../shared/errors/errors.ts'
import { parquetFileCodes } from '../../store/engine-codes.ts'
import { withoutInternals } from '../../store/engine-message.ts'
import type { Store } from '../../store/store.types.ts'
import { isFaultOfEngine, isOfParquetFile, isOfView, isTooCostly, StoreError } from '../../store/store-error.ts'
import { toFailure } from '../insert/append-error.ts'
import type { SpoolBudget, SpoolFile } from '../unpack/spool-budget.ts'
import { unpackedBody } from '../unpack/unpacked-body.ts'
import { writeAll } from '../unpack/write-all.ts'
import { readAt } from './parquet-bytes.ts'
import { engineTypeOf, type ParquetColumn, readType, shownValue } from './parquet-columns.ts'
import {
  footerBytesMax,
  type ParquetFooter,
  parquetFault,
  parquetMagic,
  readFooter,
  trailerBytes,
} from './parquet-footer.ts'
import { checkPages } from './parquet-pages.ts'

export interface ParquetLimits {
  /** Largest file. */
  readonly parquetBytesMax: number
  /** Most bytes of its pages, unpacked. */
  readonly decompressedBytesMax: number
}

export interface ParquetSource {
  readonly body: AsyncIterable<Uint8Array>
  readonly contentEncoding: string | undefined
  /** As that of a body. */
  readonly signal?: AbortSignal | undefined
  /** What is still to come behind the file, which is awaited before the file takes a place. */
  readonly untilReceived?: () => Promise<void>
}

export interface ParquetDeps {
  readonly store: Pick<Store, 'parquet'>
  readonly files: SpoolBudget
}

/** A file with its metadata read. Whoever opens it closes it, which removes it. */
export interface ParquetFile {
  readonly path: string
  readonly byteCount: number
  readonly footer: ParquetFooter
  readonly columns: readonly ParquetColumn[]
  /** The first rows as JSON has them. */
  preview(rowCount: number): Promise<readonly Readonly<Record<string, unknown>>[]>
  close(): Promise<void>
}

/**
 * Takes a whole Parquet file and reads its metadata.
 *
 * @throws BODY_CORRUPT (400), PARQUET_TOO_LARGE, DECOMPRESSED_TOO_LARGE (413), PARQUET_TOO_COSTLY (422), BODIES_TOO_MANY
 *   (503), what the body fails with, ENGINE_FAILED (500).
 */
export async function openParquet(
  { body, contentEncoding, signal, untilReceived }: ParquetSource,
  { store, files }: ParquetDeps,
  limits: ParquetLimits,
): Promise<ParquetFile> {
  const file = files.newFile()
  const { path } = file
  const close = (): Promise<void> => file.close()
  try {
    const chunks = unpackedBody(body, contentEncoding, limits.parquetBytesMax)
    const byteCount = await spool(chunks, file, { ...limits, signal })
    await untilReceived?.()
    await file.enter(signal)
    const footer = await readFooterOf(path, byteCount)
    const unpackedBytes = footer.rowGroups.reduce((total, group) => total + group.byteCount, 0)
    const bytesMax = limits.decompressedBytesMax
    if (unpackedBytes > bytesMax) throw errors.DECOMPRESSED_TOO_LARGE({ bytesMax })
    await checkPages(path, footer, signal)
    return { ...(await describe({ path, byteCount, footer }, store)), close }
  } catch (error) {
    await close()
    throw error
  }
}

/** A slice of such a file, which is one by itself; whoever gives it removes it. @throws as `openParquet` does. */
export async function openSlice({ path, byteCount }: PartFile, store: Pick<Store, 'parquet'>): Promise<ParquetFile> {
  const footer = await readFooterOf(path, byteCount)
  return { ...(await describe({ path, byteCount, footer }, store)), close: async () => undefined }
}

async function describe(
  file: Pick<ParquetFile, 'byteCount' | 'footer' | 'path'>,
  store: Pick<Store, 'parquet'>,
): Promise<Omit<ParquetFile, 'close'>> {
  const { path } = file
  const described = await asked(store.parquet.columns(path))
  const columns = described.map(({ name, type }) => ({ name, typeText: type, type: readType(type) }))
  const shown = columns.map((column) => ({
    name: column.name,
    typeText: engineTypeOf(column),
    value: shownValue(column),
  }))
  const preview = (rowCount: number) => asked(store.parquet.firstRows(path, shown, rowCount))
  return { ...file, columns, preview }
}

/** Writes the body to a new file, and gives its size. */
async function spool(
  chunks: AsyncIterable<Uint8Array>,
  target: SpoolFile,
  { parquetBytesMax: bytesMax, signal }: ParquetLimits & Pick<ParquetSource, 'signal'>,
): Promise<number> {
  const file = await open(target.path, 'wx')
  try {
    let byteCount = 0
    for await (const chunk of chunks) {
      signal?.throwIfAborted()
      if (byteCount + chunk.length > bytesMax) throw errors.PARQUET_TOO_LARGE({ bytesMax })
      if (byteCount < parquetMagic.length) refuseOther(chunk, byteCount)
      target.grow(chunk.length)
      await writeAll(file, chunk, byteCount)
      byteCount += chunk.length
    }
    return byteCount
  } finally {
    await file.close()
  }
}

/** What is no Parquet at all is refused by its first byte, and not read to its end. */
function refuseOther(chunk: Uint8Array, offset: number): void {
  for (let index = offset; index < parquetMagic.length && index - offset < chunk.length; index += 1) {
    if (chunk[index - offset] !== parquetMagic.charCodeAt(index))
      throw parquetFault(`it does not begin with ${parquetMagic}`)
  }
}

async function readFooterOf(path: string, byteCount: number): Promise<ParquetFooter> {
  if (byteCount < parquetMagic.length + trailerBytes)
    throw parquetFault(`it has ${byteCount} bytes, and needs 12 or more`)
  const file = await open(path, 'r+')
  try {
    const trailer = await readAt(file, byteCount - trailerBytes, trailerBytes)
    const magic = trailer.toString('latin1', 4)
    if (magic === 'PARE') throw parquetFault('it is encrypted')
    if (magic !== parquetMagic)
      throw parquetFault(`it does not end with ${parquetMagic}, so it is cut off or not Parquet`)
    const metadataBytes = trailer.readUInt32LE(0)
    const start = byteCount - trailerBytes - metadataBytes
    if (start < parquetMagic.length) throw parquetFault('its metadata is said to be longer than the file')
    if (metadataBytes > footerBytesMax) throw parquetFault(`its metadata is longer than ${footerBytesMax} bytes`)
    const footer = await readFooter(await readAt(file, start, metadataBytes), start)
    for (const { offset, byte } of footer.patches) await writeAll(file, Uint8Array.of(byte), start + offset)
    return footer
  } finally {
    await file.close()
  }
}

/** The engine's word on a file that it cannot read is the sender's to hear; its own faults are not. */
async function asked<Row>(rows: Promise<readonly Row[]>): Promise<readonly Row[]> {
  try {
    return await rows
  } catch (error) {
    throw toParquetFailure(error)
  }
}

/** What the sender of a file is told when the engine could not read it, or could not take its rows. */
export function toParquetFailure(thrown: unknown): unknown {
  if (!(thrown instanceof StoreError) || thrown.kind !== 'engine') return toFailure(thrown)
  if (isTooCostly(thrown) && !isOfView(thrown)) {
    return errors.PARQUET_TOO_COSTLY({ reason: withoutInternals(thrown.message), cause: thrown })
  }
  if (isOfParquetFile(thrown)) return parquetFault(thrown.message, thrown)
  const { clickhouseCode } = thrown
  const isOfFile = clickhouseCode !== undefined && parquetFileCodes.has(clickhouseCode) && !isFaultOfEngine(thrown)
  return isOfFile ? parquetFault(thrown.message, thrown) : toFailure(thrown)
}
