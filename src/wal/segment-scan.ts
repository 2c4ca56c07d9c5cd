import { join } from 'node:path'
import { decodeLost } from './entry-payloads.ts'
import { readFully, withFile } from './file-access.ts'
import type { FileLayer, LogFile } from './file-layer.ts'
import type { Generations } from './generations.ts'
import { encodeSegmentHeader, readLogId, saltOf, segmentHeaderBytes } from './segment-format.ts'
import { findEntry, SegmentReader, toWalEntry } from './segment-reader.ts'
import { type Sequence, toSequence } from './sequence.ts'
import type { Damage, DamageReason, LostRange } from './wal.types.ts'

const zerosWindowBytes = 64 * 1024

/** A segment that is to be scanned. */
export interface SegmentPlace {
  readonly name: string
  readonly first: Sequence
  /** Where the next segment begins; null for the last one, whose end only its bytes tell. */
  readonly until: Sequence | null
  readonly logId: Uint8Array
  /** Entries below must be there, in this segment or before: they are needed, and had been synced. */
  readonly required: Sequence
}

export interface SegmentScan {
  readonly place: SegmentPlace
  /** Bytes of the file. */
  readonly size: number
  /** Bytes before the zeros at its end. */
  readonly writtenBytes: number
  /** Behind the last usable entry; 0 when not even the header is usable. */
  readonly end: number
  /** Behind the last usable entry. */
  readonly next: Sequence
  /** Where the last group of usable entries begins. */
  readonly lastGroupOffset: number
  readonly wholeEntriesBehind: number
  readonly damage: Damage | null
  readonly lostRanges: readonly LostRange[]
}

/** What was read before the scan stopped. */
interface Progress {
  offset: number
  sequence: number
  /** Behind the last whole batch. */
  batchEnd: number
  batchNext: number
  lastGroupOffset: number
  groupOffset: number
  fault: DamageReason | null
}

/**
 * Reads a segment from end to end, verifies every byte, and tells a crash from damage. Changes nothing.
 *
 * Broken bytes at the end of the last segment are a torn write only if nothing behind them, and no checkpoint, says that
 * they had been synced. Barriers go to `generations`.
 *
 * @throws WalFormatError when it holds what this version does not know.
 */
export function scanSegment(
  files: FileLayer,
  directory: string,
  place: SegmentPlace,
  generations: Generations,
): Promise<SegmentScan> {
  return withFile(files, { path: join(directory, place.name), mode: 'read' }, async (file) => {
    const size = await file.size()
    if (!(await hasHeader(file, place))) return withoutHeader(place, size)
    const lostRanges: LostRange[] = []
    const progress = await readEntries(file, place, { size, generations, lostRanges })
    return judge(file, place, { size, progress, lostRanges })
  })
}

async function hasHeader(file: LogFile, place: SegmentPlace): Promise<boolean> {
  const header = Buffer.alloc(segmentHeaderBytes)
  const filled = await readFully(file, header, 0)
  // Throws for a version that is not ours; any other difference is damage, or a beginning that a crash tore.
  readLogId(header.subarray(0, filled), place.name)
  return header.subarray(0, filled).equals(encodeSegmentHeader(place.logId, place.first))
}

/** The header is synced before the first entry is written: more bytes than it has mean that it was whole once. */
function withoutHeader(place: SegmentPlace, size: number): SegmentScan {
  const isTorn = place.until === null && size <= segmentHeaderBytes && place.required <= place.first
  const damage = damageAt(place, { offset: 0, sequence: place.first, reason: 'segment-header' })
  const rest = { next: place.first, lastGroupOffset: 0, wholeEntriesBehind: 0, lostRanges: [] }
  return { place, size, writtenBytes: size, end: 0, ...rest, damage: isTorn ? null : damage }
}

async function readEntries(
  file: LogFile,
  place: SegmentPlace,
  found: { readonly size: number; readonly generations: Generations; readonly lostRanges: LostRange[] },
): Promise<Progress> {
  const reader = new SegmentReader(file, {
    name: place.name,
    salt: saltOf(encodeSegmentHeader(place.logId, place.first)),
    offset: segmentHeaderBytes,
    sequence: place.first,
    end: found.size,
    until: place.until ?? Number.POSITIVE_INFINITY,
  })
  const start = { offset: segmentHeaderBytes, sequence: place.first as number }
  const progress: Progress = {
    ...start,
    batchEnd: start.offset,
    batchNext: start.sequence,
    lastGroupOffset: start.offset,
    groupOffset: start.offset,
    fault: null,
  }
  for (let views = await reader.nextEntries(); views.length > 0; views = await reader.nextEntries()) {
    for (const view of views) {
      const { header, offset, payload } = view
      if (header.groupPosition === 0) progress.groupOffset = offset
      if (header.kind === 'barrier') found.generations.apply(toWalEntry(view).stream, header.sequence, payload)
      if (header.kind === 'lost') {
        found.lostRanges.push(decodeLost({ sequence: toSequence(header.sequence), payload }))
      }
      if (header.hasFollower) continue
      progress.batchEnd = offset + header.headerBytes + header.payloadBytes
      progress.batchNext = header.sequence + 1
      progress.lastGroupOffset = progress.groupOffset
    }
  }
  return Object.assign(progress, { offset: reader.offset, sequence: reader.sequence, fault: reader.fault })
}

async function judge(
  file: LogFile,
  place: SegmentPlace,
  found: { readonly size: number; readonly progress: Progress; readonly lostRanges: readonly LostRange[] },
): Promise<SegmentScan> {
  const { size, progress, lostRanges } = found
  const { sequence, offset, lastGroupOffset, batchEnd, batchNext } = progress
  const behind = await wholeEntriesBehind(file, place, { offset, size, sequence })
  const writtenBytes = await writtenBytesOf(file, { from: offset, size })
  const reason = writtenBytes === offset ? 'missing' : (progress.fault ?? 'missing')
  const damage = { ...damageAt(place, { offset, sequence, reason }), nextGood: behind.first }
  const scan = { place, size, writtenBytes, lastGroupOffset, lostRanges }
  if (place.until !== null) {
    // The next segment was begun after everything before it had been synced, or cut off: what it repeats was never
    // acknowledged, and what neither of them has is lost.
    const isWhole = sequence === place.until
    const next = toSequence(sequence)
    return { ...scan, end: offset, next, wholeEntriesBehind: behind.count, damage: isWhole ? null : damage }
  }
  const isSound = behind.laterGroup === null && batchNext >= place.required
  const cutEntries = sequence - batchNext
  const next = toSequence(batchNext)
  return {
    ...scan,
    end: batchEnd,
    next,
    wholeEntriesBehind: behind.count + cutEntries,
    damage: isSound ? null : damage,
  }
}

/** Where the zeros begin that the file ends with; they may go back to `from`. */
async function writtenBytesOf(
  file: LogFile,
  { from, size }: { readonly from: number; readonly size: number },
): Promise<number> {
  const window = Buffer.alloc(Math.min(zerosWindowBytes, size - from))
  for (let end = size; end > from; end -= window.length) {
    const start = Math.max(from, end - window.length)
    const bytes = window.subarray(0, end - start)
    await readFully(file, bytes, start)
    const last = bytes.findLastIndex((byte) => byte !== 0)
    if (last >= 0) return start + last + 1
  }
  return from
}

interface Behind {
  readonly count: number
  readonly first: { readonly offset: number; readonly sequence: number } | null
  /** An entry of a group that began after the missing entry had been synced. */
  readonly laterGroup: number | null
}

const noneBehind: Behind = { count: 0, first: null, laterGroup: null }

async function wholeEntriesBehind(
  file: LogFile,
  place: SegmentPlace,
  from: { readonly offset: number; readonly size: number; readonly sequence: number },
): Promise<Behind> {
  const salt = saltOf(encodeSegmentHeader(place.logId, place.first))
  let behind = noneBehind
  let offset = from.offset
  for (;;) {
    const found = await findEntry(file, { offset, end: from.size, salt })
    if (found === null) return behind
    const { sequence, groupPosition, headerBytes, payloadBytes } = found.header
    behind = {
      count: behind.count + 1,
      first: behind.first ?? { offset: found.offset, sequence },
      laterGroup: behind.laterGroup ?? (sequence - groupPosition > from.sequence ? sequence : null),
    }
    offset = found.offset + headerBytes + payloadBytes
  }
}

function damageAt(
  place: SegmentPlace,
  at: { readonly offset: number; readonly sequence: number; readonly reason: DamageReason },
): Damage {
  return { file: place.name, offset: at.offset, reason: at.reason, firstLost: at.sequence, nextGood: null }
}
