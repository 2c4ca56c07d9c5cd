// The one file of a zip archive, unpacked while the archive streams in.
//
// The archive's directory stands at its end, so members are read by their own headers, one behind the other, as they lie in
// the file (APPNOTE.TXT 4.3). What lies behind the one file is read too: another file there is a fault that the sender hears
// of, and an archive that is cut is known by its missing directory. Folders, and what macOS puts beside a file, are no files.
//
// The inflating is node:zlib's: on a body of 38 MB it took 30 ms of another thread, where fflate took 140 to 300 ms of the
// event loop, and it checks nothing less.

import zlib from 'node:zlib'
import { mebibyte } from '../../shared/bytes.ts'
import { ApiError, errors } from '../../shared/errors/errors.ts'
import { ByteReader } from './byte-reader.ts'
import { inflateMember } from './inflate-entry.ts'
import { directoryBytesMax, endOfDirectory, isBesideFile, severalFiles } from './zip-central-directory.ts'
import { type MemberHeader, readMemberHeader, signatures } from './zip-headers.ts'

/** More members than any archive of one file has, folders and all. */
const membersMax = 1_000

/** Of all members beside the file, unpacked: macOS keeps some kilobytes in each. */
export const besideBytesMax = 16 * mebibyte

/**
 * The bytes of the one file in the archive.
 *
 * @throws while reading: ARCHIVE_UNSUPPORTED, BODY_CORRUPT (400), DECOMPRESSED_TOO_LARGE (413), and what the body fails with.
 */
export async function* zipMember(body: AsyncIterable<Uint8Array>, bytesMax: number): AsyncGenerator<Uint8Array> {
  const reader = new ByteReader(body)
  try {
    let fileName: string | null = null
    let besideBytes = 0
    for (let count = 0; ; count += 1) {
      const header = await readMemberHeader(reader)
      if (header === null) break
      if (count >= membersMax) throw refused(`it has more than ${membersMax} members`)
      const isFile = !isBesideFile(header.name)
      if (isFile && fileName !== null) {
        throw severalFiles(fileName, header.name)
      }
      if (isFile) fileName = header.name
      const limit = isFile
        ? { bytesMax, tooLarge: () => errors.DECOMPRESSED_TOO_LARGE({ bytesMax }) }
        : { bytesMax: besideBytesMax - besideBytes, tooLarge: tooMuchBeside }
      for await (const chunk of memberBytes(reader, header, limit)) {
        if (isFile) yield chunk
        else besideBytes += chunk.length
      }
    }
    if (fileName === null) throw refused('it has no file')
    await readDirectory(reader)
  } finally {
    await reader.close()
  }
}

interface MemberLimit {
  readonly bytesMax: number
  readonly tooLarge: () => ApiError
}

async function* memberBytes(
  reader: ByteReader,
  header: MemberHeader,
  { bytesMax, tooLarge }: MemberLimit,
): AsyncGenerator<Uint8Array> {
  if (header.isEncrypted) throw refused(`"${header.name}" in it is encrypted`)
  if (header.method !== 0 && header.method !== 8) {
    throw refused(`"${header.name}" is packed by method ${header.method}; only deflate and uncompressed files are read`)
  }
  if (header.method === 0 && header.packedBytes === null) throw refused(`"${header.name}" does not say its size`)
  if ((header.unpackedBytes ?? 0) > bytesMax) throw tooLarge()
  let byteCount = 0
  let checksum = 0
  const source = header.method === 0 ? storedBytes(reader, header.packedBytes ?? 0) : inflateMember(reader, header)
  try {
    for await (const chunk of source) {
      byteCount += chunk.length
      if (byteCount > bytesMax) throw tooLarge()
      checksum = zlib.crc32(chunk, checksum)
      yield chunk
    }
  } catch (cause) {
    if (cause instanceof ApiError) throw cause
    throw corrupt(cause instanceof Error ? cause.message : String(cause), cause)
  }
  const expected = header.hasDescriptor ? await readDescriptor(reader, header, byteCount) : header.checksum
  if (expected !== checksum) throw corrupt(`the checksum of "${header.name}" does not match its bytes`)
}

async function* storedBytes(reader: ByteReader, byteCount: number): AsyncGenerator<Uint8Array> {
  for (let missing = byteCount; missing > 0; ) {
    const piece = await reader.takeSome(missing)
    if (piece === null) throw corrupt(cutReason)
    missing -= piece.length
    yield piece
  }
}

/** The checksum behind a member whose header has none: with or without a signature, its sizes of 4 or 8 bytes. */
async function readDescriptor(reader: ByteReader, header: MemberHeader, byteCount: number): Promise<number> {
  const bytes = await reader.take(24)
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  if (bytes.length < 12) throw corrupt(cutReason)
  const start = view.getUint32(0, true) === signatures.descriptor ? 4 : 0
  for (const sizeBytes of header.isZip64 ? [8, 4] : [4, 8]) {
    const end = start + 4 + 2 * sizeBytes
    if (bytes.length < end) continue
    const size = sizeBytes === 4 ? view.getUint32(end - 4, true) : Number(view.getBigUint64(end - 8, true))
    const isWhole = sizeBytes === 4 ? size === byteCount % 2 ** 32 : size === byteCount
    if (!isWhole) continue
    reader.giveBack(bytes.subarray(end))
    return view.getUint32(start, true)
  }
  throw corrupt(`the size of "${header.name}" does not match its bytes`)
}

/** What follows the members: their directory, of which only the end has to be there. */
async function readDirectory(reader: ByteReader): Promise<void> {
  const bytes = await reader.take(directoryBytesMax + 1)
  if (bytes.length > directoryBytesMax) throw corrupt('its directory is too long')
  endOfDirectory(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength))
}

const cutReason = 'it ends before its directory does'

function tooMuchBeside(): ApiError {
  return refused(
    `the other content of the archive unpacks to more than ${besideBytesMax / mebibyte} MiB; send the file by itself`,
  )
}

function refused(reason: string): ApiError {
  return errors.ARCHIVE_UNSUPPORTED({ reason })
}

function corrupt(reason: string, cause?: unknown): ApiError {
  return errors.BODY_CORRUPT({ format: 'zip archive', reason, cause })
}
