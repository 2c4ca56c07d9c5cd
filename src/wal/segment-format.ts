/**
 * A segment is one file of the log. Its name and its header both say the sequence of its first entry; a segment ends where
 * its successor begins, whatever bytes are behind.
 *
 * Header, 32 bytes, numbers little-endian: magic (8), format version (4), log id (8), first sequence (8), CRC32 of these.
 * The log id is random and the CRC seeds the checksums of all entries, so an entry counts only in the place where it was
 * written: neither a stray file nor a body that somebody made to look like entries is ever taken for one.
 */
import { crc32 } from 'node:zlib'
import { assert } from '../shared/assert.ts'
import { type Sequence, toSequence } from './sequence.ts'
import { WalFormatError } from './wal-errors.ts'

export const segmentHeaderBytes = 32
export const logIdBytes = 8
/** The end of the names of segments that are being written anew; what a crash leaves of them counts for nothing. */
export const draftSuffix = '.compact'
/** Raised when an older version would misread what is written. */
const segmentFormatVersion = 1
const magic = Buffer.from('MILLRWAL')
const namePattern = /^\d{20}\.wal$/

/** Sorts by name as it does by sequence. */
export function segmentName(first: Sequence): string {
  return `${String(first).padStart(20, '0')}.wal`
}

/** The first sequence of a segment by its name; null for all other files. */
export function parseSegmentName(name: string): Sequence | null {
  if (!namePattern.test(name)) return null
  const first = Number(name.slice(0, 20))
  return Number.isSafeInteger(first) && first >= 1 ? toSequence(first) : null
}

export function encodeSegmentHeader(logId: Uint8Array, first: Sequence): Buffer {
  assert(logId.length === logIdBytes, 'a log id has 8 bytes')
  const header = Buffer.alloc(segmentHeaderBytes)
  header.set(magic)
  header.writeUInt32LE(segmentFormatVersion, 8)
  header.set(logId, 12)
  header.writeBigUInt64LE(BigInt(first), 20)
  header.writeUInt32LE(crc32(header.subarray(0, 28)), 28)
  return header
}

/** What seeds the checksums of a segment's entries. */
export function saltOf(header: Buffer): number {
  return header.readUInt32LE(28)
}

/**
 * The log id of a header that is whole, or null.
 *
 * @throws WalFormatError when the header is whole and of another version.
 */
export function readLogId(header: Buffer, name: string): Buffer | null {
  if (header.length < segmentHeaderBytes || !header.subarray(0, 8).equals(magic)) return null
  if (crc32(header.subarray(0, 28)) !== saltOf(header)) return null
  const version = header.readUInt32LE(8)
  if (version !== segmentFormatVersion) {
    throw new WalFormatError(`${name} is of format ${version}, and this version reads ${segmentFormatVersion}`)
  }
  return Buffer.from(header.subarray(12, 20))
}
