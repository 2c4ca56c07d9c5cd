import { crc32 } from 'node:zlib'
import {
  decodeEntryFields,
  decodeEntryHeader,
  type EntryHeader,
  entryHeaderBytes,
  entryMarker,
  streamBytesMax,
} from './entry-format.ts'
import { decodeLost } from './entry-payloads.ts'
import { readFully } from './file-access.ts'
import type { LogFile } from './file-layer.ts'
import { encodeSegmentHeader, saltOf, segmentHeaderBytes } from './segment-format.ts'
import { type Sequence, toSequence } from './sequence.ts'
import type { DamageReason, WalEntry } from './wal.types.ts'
import { WalCorruptError, WalFormatError } from './wal-errors.ts'

const windowBytes = 1024 * 1024
const headerBytesMax = entryHeaderBytes + streamBytesMax

/** An entry in the reader's window: views that are good until the next call. */
export interface EntryView {
  readonly header: EntryHeader
  /** Of the entry in the file. */
  readonly offset: number
  readonly payload: Buffer
  /** The window, and the entry's place in it. */
  readonly bytes: Buffer
  readonly start: number
}

export interface ReadRange {
  /** The name of the file, for errors. */
  readonly name: string
  readonly salt: number
  /** Where the first entry begins, and its sequence. */
  readonly offset: number
  readonly sequence: number
  /** Bytes of the file that count. */
  readonly end: number
  /** Stops before this sequence: what follows belongs to the next segment. */
  readonly until: number
}

/** Reads whole entries in order, a window at a time; stops for good at the first fault. */
export class SegmentReader {
  /** Why reading stopped early, or null. */
  fault: DamageReason | null = null
  /** Behind the last whole entry, and the sequence that is expected there. */
  offset: number
  sequence: number
  readonly #file: LogFile
  readonly #range: ReadRange
  #window = Buffer.alloc(0)
  #wantedBytes = windowBytes

  constructor(file: LogFile, range: ReadRange) {
    this.#file = file
    this.#range = range
    this.offset = range.offset
    this.sequence = range.sequence
  }

  /**
   * The entries of the next window; none at the end of the range, or at a fault.
   *
   * @throws WalFormatError at a whole entry that this version does not know.
   */
  async nextEntries(): Promise<readonly EntryView[]> {
    while (this.fault === null && this.offset < this.#range.end && this.sequence < this.#range.until) {
      const byteCount = Math.min(this.#wantedBytes, this.#range.end - this.offset)
      if (this.#window.length < byteCount) this.#window = Buffer.allocUnsafeSlow(byteCount)
      const bytes = this.#window.subarray(0, byteCount)
      const filled = await readFully(this.#file, bytes, this.offset)
      const entries = this.#parse(bytes.subarray(0, filled))
      if (entries.length > 0) return entries
      if (filled < byteCount) this.fault ??= 'cut-off'
    }
    return []
  }

  #parse(bytes: Buffer): readonly EntryView[] {
    const entries: EntryView[] = []
    const base = this.offset
    this.#wantedBytes = windowBytes
    while (this.sequence < this.#range.until && this.offset < this.#range.end) {
      const entry = this.#entryAt(bytes, this.offset - base)
      if (entry === null) break
      entries.push(entry)
      this.offset += entry.header.headerBytes + entry.header.payloadBytes
      this.sequence = entry.header.sequence + 1
    }
    return entries
  }

  /** The entry at `start`, or null: then there is a fault, or the window is too small. */
  #entryAt(bytes: Buffer, start: number): EntryView | null {
    const header = decodeEntryHeader(bytes, start, this.#range.salt)
    const restBytes = this.#range.end - this.offset
    if (header === 'short') return this.#want(headerBytesMax, restBytes, bytes.length - start)
    if (typeof header === 'string') return this.#stop(header)
    const end = start + header.headerBytes + header.payloadBytes
    if (end - start > restBytes) return this.#stop('cut-off')
    if (end > bytes.length) return this.#want(end - start, restBytes, bytes.length - start)
    const payload = bytes.subarray(start + header.headerBytes, end)
    if (crc32(payload) !== header.payloadCrc) return this.#stop('payload-checksum')
    this.#refuseUnknown(header)
    const standsForMany = header.kind === 'lost' || header.kind === 'gone'
    const first = standsForMany ? decodeLost({ sequence: toSequence(header.sequence), payload }).first : header.sequence
    if (first !== this.sequence) return this.#stop('sequence')
    return { header, offset: this.offset, payload, bytes, start }
  }

  /** Asks for a larger window; without more bytes in the file the entry is cut off. */
  #want(byteCount: number, restBytes: number, seenBytes: number): null {
    if (seenBytes >= restBytes) return this.#stop('cut-off')
    this.#wantedBytes = Math.max(byteCount, windowBytes)
    return null
  }

  #stop(reason: DamageReason): null {
    this.fault = reason
    return null
  }

  #refuseUnknown({ kind, encoding, kindCode }: EntryHeader): void {
    if (kind !== undefined && encoding !== undefined) return
    const what = kind === undefined ? `an entry of kind ${kindCode}` : 'a payload in an encoding'
    throw new WalFormatError(
      `${this.#range.name} holds at byte ${this.offset} ${what} that this version does not know: was it written by a newer one?`,
    )
  }
}

/** A segment of which it is known where it ends. */
export interface KnownSegment {
  readonly name: string
  readonly first: Sequence
  /** Behind its last entry. */
  readonly next: Sequence
  /** Bytes of the file that count. */
  readonly byteCount: number
}

/**
 * Reads a segment that was whole once, window by window.
 *
 * @throws WalCorruptError at its end when it no longer is.
 */
export async function* readSegment(
  file: LogFile,
  logId: Uint8Array,
  { name, first, next, byteCount }: KnownSegment,
): AsyncIterable<readonly EntryView[]> {
  const salt = saltOf(encodeSegmentHeader(logId, first))
  const range = { name, salt, offset: segmentHeaderBytes, sequence: first, end: byteCount, until: next }
  const reader = new SegmentReader(file, range)
  for (let views = await reader.nextEntries(); views.length > 0; views = await reader.nextEntries()) yield views
  const { offset, sequence, fault } = reader
  if (sequence === next && offset === byteCount) return
  throw new WalCorruptError([{ file: name, offset, reason: fault ?? 'missing', firstLost: sequence, nextGood: null }])
}

export function streamOf({ header, bytes, start }: EntryView): string {
  return bytes.toString('utf8', start + entryHeaderBytes, start + header.headerBytes)
}

/** The entry with a copy of its payload. */
export function toWalEntry({ header, payload, bytes, start }: EntryView): WalEntry {
  const { kind, encoding } = header
  if (kind === undefined || encoding === undefined) throw new WalFormatError(`unknown kind ${header.kindCode}`)
  const fields = decodeEntryFields(bytes, start)
  return { sequence: toSequence(header.sequence), kind, encoding, ...fields, payload: Uint8Array.from(payload) }
}

/**
 * The next whole entry from `range.offset` on, wherever it begins: what follows a broken one.
 *
 * The marker finds candidates, the seeded header checksum tells them from look-alikes in payloads.
 */
export async function findEntry(
  file: LogFile,
  range: { readonly offset: number; readonly end: number; readonly salt: number },
): Promise<{ readonly offset: number; readonly header: EntryHeader } | null> {
  const window = Buffer.allocUnsafeSlow(Math.min(windowBytes, Math.max(0, range.end - range.offset)))
  let offset = range.offset
  while (range.end - offset >= entryHeaderBytes) {
    const filled = await readFully(file, window.subarray(0, Math.min(window.length, range.end - offset)), offset)
    const bytes = window.subarray(0, filled)
    const isLast = offset + filled >= range.end || filled < window.length
    for (let start = bytes.indexOf(entryMarker); start >= 0; start = bytes.indexOf(entryMarker, start + 1)) {
      // A candidate near the end of the window is looked at again in the next one, which begins before it.
      if (!isLast && start > filled - headerBytesMax) break
      const header = decodeEntryHeader(bytes, start, range.salt)
      if (typeof header === 'string') continue
      const isWhole = await hasPayload(file, header, { offset: offset + start, end: range.end })
      if (isWhole) return { offset: offset + start, header }
    }
    if (isLast) return null
    offset += filled - headerBytesMax + 1
  }
  return null
}

async function hasPayload(
  file: LogFile,
  header: EntryHeader,
  place: { readonly offset: number; readonly end: number },
): Promise<boolean> {
  const start = place.offset + header.headerBytes
  if (start + header.payloadBytes > place.end) return false
  const payload = Buffer.allocUnsafeSlow(header.payloadBytes)
  return (await readFully(file, payload, start)) === payload.length && crc32(payload) === header.payloadCrc
}
