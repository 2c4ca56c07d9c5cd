/**
 * An entry on disk is a header of 52 bytes, the stream's name and the payload, without gaps between entries.
 *
 * Numbers little-endian: marker (4), CRC32 of the rest of the header and the name (4), CRC32 of the payload (4), payload
 * bytes (4), sequence (8), place in the group (4), kind (1), encoding (1), follower (1), name bytes (1), version (4),
 * rows (4), quarantined rows (4), accepted at (6), flags (2). The header's CRC starts from the segment's salt, so a length
 * is believed only in its own file, and each byte is under a checksum or compared with what it must be.
 * A group is what one write and one sync put on disk: `place in the group` tells an entry that was synced before a later
 * group began from one that a crash may have torn. `follower` is 1 when the next entry belongs to the same batch.
 */
import { crc32 } from 'node:zlib'
import { assert } from '../shared/assert.ts'
import type { EntryEncoding, NewEntry, WalEntry } from './wal.types.ts'

export const entryHeaderBytes = 52
export const streamBytesMax = 255
/** "MrWE": what a search for entries behind a broken one looks for. */
export const entryMarker = Buffer.from('MrWE')
const markerValue = entryMarker.readUInt32LE()
const checkedFrom = 8
const uint32Max = 0xffff_ffff

export type StoredKind = WalEntry['kind']

const kindCodes: Readonly<Record<StoredKind, number>> = {
  rows: 1,
  blockName: 2,
  stored: 3,
  barrier: 4,
  note: 5,
  lost: 6,
  gone: 7,
  settled: 8,
}
const encodingCodes: Readonly<Record<EntryEncoding, number>> = { identity: 0, gzip: 1, zstd: 2 }
const kinds = namesByCode(kindCodes)
const encodings = namesByCode(encodingCodes)

export interface StoredEntry extends Omit<NewEntry, 'kind'> {
  readonly kind: StoredKind
}

/** Where an entry stands in the log. */
export interface EntryPlace {
  readonly sequence: number
  /** 0 for the first entry of a write. */
  readonly groupPosition: number
  readonly hasFollower: boolean
  /** The segment's. */
  readonly salt: number
}

export interface EntryHeader {
  readonly sequence: number
  readonly groupPosition: number
  readonly hasFollower: boolean
  /** Undefined for a kind, or an encoding, that this version does not know. */
  readonly kind: StoredKind | undefined
  readonly encoding: EntryEncoding | undefined
  readonly kindCode: number
  readonly payloadCrc: number
  readonly payloadBytes: number
  /** Of header and name together: where the payload begins. */
  readonly headerBytes: number
}

/** `short`: the bytes end before the header does. */
export type HeaderFault = 'header-checksum' | 'marker' | 'short'

/** Bytes an entry takes on disk. */
export function entryBytesOf(entry: StoredEntry): number {
  return entryHeaderBytes + Buffer.byteLength(entry.stream) + entry.payload.length
}

/** States what every entry keeps to; limits of the owner's options are checked elsewhere. */
export function assertEntry(entry: StoredEntry): void {
  assert(Buffer.byteLength(entry.stream) <= streamBytesMax, 'the name of a stream has at most 255 bytes')
  assert(isUint(entry.version, uint32Max), 'a schema version has 32 bits')
  assert(isUint(entry.rowCount, uint32Max), 'a row count has 32 bits')
  assert(isUint(entry.quarantinedRowCount, uint32Max), 'a count of quarantined rows has 32 bits')
  assert(isUint(entry.flags, 0xffff), 'flags have 16 bits')
  assert(isUint(entry.acceptedAtMs, 2 ** 48 - 1), 'a time has 48 bits')
  assert(entry.payload.length <= uint32Max, 'a payload is shorter than 4 GiB')
}

/** Writes header and name of an entry to `target`; gives the offset behind them, where the payload belongs. */
export function encodeEntryHeader(target: Buffer, offset: number, entry: StoredEntry, place: EntryPlace): number {
  const { payload } = entry
  const nameBytes = target.write(entry.stream, offset + entryHeaderBytes)
  const end = offset + entryHeaderBytes + nameBytes
  target.writeUInt32LE(markerValue, offset)
  target.writeUInt32LE(payload.length === 0 ? 0 : crc32(payload), offset + 8)
  target.writeUInt32LE(payload.length, offset + 12)
  writeUint64(target, place.sequence, offset + 16)
  target.writeUInt32LE(place.groupPosition, offset + 24)
  target[offset + 28] = kindCodes[entry.kind]
  target[offset + 29] = encodingCodes[entry.encoding]
  target[offset + 30] = place.hasFollower ? 1 : 0
  target[offset + 31] = nameBytes
  target.writeUInt32LE(entry.version, offset + 32)
  target.writeUInt32LE(entry.rowCount, offset + 36)
  target.writeUInt32LE(entry.quarantinedRowCount, offset + 40)
  target.writeUIntLE(entry.acceptedAtMs, offset + 44, 6)
  target.writeUInt16LE(entry.flags, offset + 50)
  target.writeUInt32LE(crc32(target.subarray(offset + checkedFrom, end), place.salt), offset + 4)
  return end
}

/**
 * Makes the whole entry that was copied to the start of `entry` one of another segment, a batch and a group by itself: it
 * was synced long ago, and its neighbours may be gone.
 */
export function adoptEntry(entry: Buffer, headerBytes: number, salt: number): void {
  entry.writeUInt32LE(0, 24)
  entry[30] = 0
  entry.writeUInt32LE(crc32(entry.subarray(checkedFrom, headerBytes), salt), 4)
}

/** Reads the header at `offset`; what it says of lengths is true when it is no fault. */
export function decodeEntryHeader(bytes: Buffer, offset: number, salt: number): EntryHeader | HeaderFault {
  if (bytes.length - offset < entryHeaderBytes) return 'short'
  if (bytes.readUInt32LE(offset) !== markerValue) return 'marker'
  const headerBytes = entryHeaderBytes + bytes.readUInt8(offset + 31)
  if (bytes.length - offset < headerBytes) return 'short'
  const checked = bytes.subarray(offset + checkedFrom, offset + headerBytes)
  if (crc32(checked, salt) !== bytes.readUInt32LE(offset + 4)) return 'header-checksum'
  const kindCode = bytes.readUInt8(offset + 28)
  return {
    sequence: readUint64(bytes, offset + 16),
    groupPosition: bytes.readUInt32LE(offset + 24),
    hasFollower: bytes.readUInt8(offset + 30) === 1,
    kind: kinds.get(kindCode),
    encoding: encodings.get(bytes.readUInt8(offset + 29)),
    kindCode,
    payloadCrc: bytes.readUInt32LE(offset + 8),
    payloadBytes: bytes.readUInt32LE(offset + 12),
    headerBytes,
  }
}

/** The fields that `decodeEntryHeader` leaves out, because a scan does not need them. */
export function decodeEntryFields(bytes: Buffer, offset: number) {
  const nameEnd = offset + entryHeaderBytes + bytes.readUInt8(offset + 31)
  return {
    stream: bytes.toString('utf8', offset + entryHeaderBytes, nameEnd),
    version: bytes.readUInt32LE(offset + 32),
    rowCount: bytes.readUInt32LE(offset + 36),
    quarantinedRowCount: bytes.readUInt32LE(offset + 40),
    acceptedAtMs: bytes.readUIntLE(offset + 44, 6),
    flags: bytes.readUInt16LE(offset + 50),
  }
}

function isUint(value: number, max: number): boolean {
  return Number.isInteger(value) && value >= 0 && value <= max
}

// Two halves: a BigInt for each entry would be an allocation, and sequences stay below 2^53.
function writeUint64(target: Buffer, value: number, offset: number): void {
  target.writeUInt32LE(value % 2 ** 32, offset)
  target.writeUInt32LE(Math.floor(value / 2 ** 32), offset + 4)
}

function readUint64(bytes: Buffer, offset: number): number {
  return bytes.readUInt32LE(offset) + bytes.readUInt32LE(offset + 4) * 2 ** 32
}

function namesByCode<Name extends string>(codes: Readonly<Record<Name, number>>): ReadonlyMap<number, Name> {
  // Object.keys gives plain strings; the record has the names as its only keys.
  return new Map((Object.keys(codes) as Name[]).map((name) => [codes[name], name]))
}
