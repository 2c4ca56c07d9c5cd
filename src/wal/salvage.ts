/**
 * Rescues what is readable of a damaged log, for an owner who would rather lose the damaged entries than not start.
 *
 * No byte is lost by it: each damaged file is copied to `<name>.corrupt-<n>` and the copy synced before anything changes.
 * A damaged segment is then replaced, by one rename, with one that holds its readable entries under their old sequences and
 * a `lost` entry for each gap, so that the next start finds a whole log and still knows what is missing. An entry whose
 * header is whole leaves its stream and its counts in the `lost` entry.
 */
import { join } from 'node:path'
import { checkpointName, writeCheckpoint } from './checkpoint.ts'
import {
  decodeEntryFields,
  decodeEntryHeader,
  entryHeaderBytes,
  type StoredEntry,
  streamBytesMax,
} from './entry-format.ts'
import { encodeLost } from './entry-payloads.ts'
import { readFully, withFile, writeFully } from './file-access.ts'
import type { FileLayer, LogFile } from './file-layer.ts'
import { GroupEncoder } from './group-encoder.ts'
import type { LogSurvey } from './log-survey.ts'
import { encodeSegmentHeader, saltOf, segmentHeaderBytes, segmentName } from './segment-format.ts'
import { findEntry, SegmentReader, toWalEntry } from './segment-reader.ts'
import type { SegmentPlace } from './segment-scan.ts'

const copyBytes = 1024 * 1024

/** Gives the names of the copies. Afterwards a survey finds no damage. */
export async function salvageLog(files: FileLayer, directory: string, survey: LogSurvey): Promise<readonly string[]> {
  const keptAside: string[] = []
  if (survey.harmlessLosses.some((loss) => loss.kind === 'checkpoint' && loss.reason !== 'missing')) {
    const copy = await copyAside(files, directory, checkpointName)
    if (copy !== null) keptAside.push(copy)
  }
  for (const { place, damage } of survey.scans) {
    if (damage === null) continue
    const copy = await copyAside(files, directory, place.name)
    if (copy !== null) keptAside.push(copy)
  }
  await files.syncDirectory(directory)
  const { missing, logId, released, synced, generations } = survey
  if (missing !== null) {
    const { first, until } = missing
    await replaceSegment(files, directory, { name: segmentName(first), first, until, logId, required: until })
  }
  for (const { place, damage } of survey.scans) {
    if (damage !== null) await replaceSegment(files, directory, place)
  }
  await files.syncDirectory(directory)
  const known = { logId, released, next: synced, isClosed: false, generations: generations.entries() }
  await writeCheckpoint(files, directory, known)
  return keptAside
}

/** The name of the copy; null when there is no such file. */
export async function copyAside(files: FileLayer, directory: string, name: string): Promise<string | null> {
  const names = await files.list(directory)
  if (!names.includes(name)) return null
  let number = 1
  while (names.includes(`${name}.corrupt-${number}`)) number += 1
  const copyName = `${name}.corrupt-${number}`
  await withFile(files, { path: join(directory, name), mode: 'read' }, (source) =>
    withFile(files, { path: join(directory, copyName), mode: 'create' }, async (copy) => {
      await copyRange(source, copy, { offset: 0, end: await source.size() })
      await copy.datasync()
    }),
  )
  return copyName
}

/** Copies bytes to the same place in another file, or over themselves. */
export async function copyRange(
  source: LogFile,
  target: LogFile,
  range: { readonly offset: number; readonly end: number },
): Promise<void> {
  const block = Buffer.allocUnsafeSlow(Math.min(copyBytes, Math.max(0, range.end - range.offset)))
  for (let offset = range.offset; offset < range.end; offset += block.length) {
    const bytes = block.subarray(0, Math.min(block.length, range.end - offset))
    const filled = await readFully(source, bytes, offset)
    await writeFully(target, [bytes.subarray(0, filled)], offset)
  }
}

async function replaceSegment(files: FileLayer, directory: string, place: SegmentPlace): Promise<void> {
  const path = join(directory, place.name)
  const salvagedPath = `${path}.salvage`
  const hasSource = (await files.list(directory)).includes(place.name)
  await withFile(files, { path: salvagedPath, mode: 'create' }, async (file) => {
    const target = new SalvageWriter(file, place)
    await target.begin()
    if (hasSource) await withFile(files, { path, mode: 'read' }, (source) => copyReadable(source, place, target))
    const until = place.until ?? place.required
    if (target.expected < until) await target.lose(until)
    await file.datasync()
  })
  await files.rename(salvagedPath, path)
}

async function copyReadable(source: LogFile, place: SegmentPlace, target: SalvageWriter): Promise<void> {
  const end = await source.size()
  const until = place.until ?? Number.POSITIVE_INFINITY
  const salt = saltOf(encodeSegmentHeader(place.logId, place.first))
  let offset = segmentHeaderBytes
  for (;;) {
    const reader = new SegmentReader(source, { name: place.name, salt, offset, sequence: target.expected, end, until })
    for (let views = await reader.nextEntries(); views.length > 0; views = await reader.nextEntries()) {
      for (const view of views) await target.keep([toWalEntry(view)], view.header.sequence)
    }
    offset = reader.offset
    const broken = await brokenEntryAt(source, { offset, end, salt, sequence: target.expected })
    if (broken !== null && broken.sequence < until) {
      await target.keep([broken.lost], broken.sequence)
      offset += broken.byteCount
      continue
    }
    const found = await findNeeded(source, { offset, end, salt, from: target.expected, until })
    if (found === null) return
    if (found.sequence > target.expected) await target.lose(found.sequence)
    offset = found.offset
  }
}

/** An entry whose payload alone is broken: what is lost with it, its header tells. */
async function brokenEntryAt(
  source: LogFile,
  at: { readonly offset: number; readonly end: number; readonly salt: number; readonly sequence: number },
): Promise<{ readonly lost: StoredEntry; readonly sequence: number; readonly byteCount: number } | null> {
  const bytes = Buffer.alloc(Math.max(0, Math.min(entryHeaderBytes + streamBytesMax, at.end - at.offset)))
  const filled = await readFully(source, bytes, at.offset)
  const header = decodeEntryHeader(bytes.subarray(0, filled), 0, at.salt)
  if (typeof header === 'string' || header.sequence !== at.sequence) return null
  const { kind, sequence, headerBytes, payloadBytes } = header
  // What stands for others says in its payload for how many.
  if (kind === 'lost' || kind === 'gone') return null
  const { stream, rowCount, quarantinedRowCount } = decodeEntryFields(bytes, 0)
  const lost = { ...lostEntry(sequence), stream, rowCount, quarantinedRowCount }
  return { lost, sequence, byteCount: headerBytes + payloadBytes }
}

/** The next whole entry that is not written yet. One that stands for others only adds to the gap around it. */
async function findNeeded(
  source: LogFile,
  range: {
    readonly offset: number
    readonly end: number
    readonly salt: number
    readonly from: number
    readonly until: number
  },
): Promise<{ readonly offset: number; readonly sequence: number } | null> {
  let { offset } = range
  for (;;) {
    const found = await findEntry(source, { ...range, offset })
    if (found === null) return null
    const { sequence, kind, headerBytes, payloadBytes } = found.header
    if (sequence >= range.until) return null
    if (sequence >= range.from && kind !== 'lost' && kind !== 'gone') {
      return { offset: found.offset, sequence }
    }
    offset = found.offset + headerBytes + payloadBytes
  }
}

class SalvageWriter {
  /** The sequence that comes next. */
  expected: number
  readonly #file: LogFile
  readonly #header: Buffer
  readonly #encoder = new GroupEncoder()
  #offset = 0

  constructor(file: LogFile, place: SegmentPlace) {
    this.#file = file
    this.#header = encodeSegmentHeader(place.logId, place.first)
    this.expected = place.first
  }

  async begin(): Promise<void> {
    await this.#write([this.#header])
  }

  async keep(batch: readonly StoredEntry[], sequence: number): Promise<void> {
    await this.#write(this.#encoder.encode([batch], { sequence, salt: saltOf(this.#header) }))
    this.expected = sequence + batch.length
  }

  /** Writes that the entries from `expected` up to the one before `until` are lost. */
  async lose(until: number): Promise<void> {
    await this.keep([lostEntry(this.expected)], until - 1)
  }

  async #write(chunks: readonly Uint8Array[]): Promise<void> {
    await writeFully(this.#file, chunks, this.#offset)
    this.#offset += chunks.reduce((total, chunk) => total + chunk.length, 0)
  }
}

function lostEntry(first: number): StoredEntry {
  const counts = { version: 0, flags: 0, acceptedAtMs: 0, rowCount: 0, quarantinedRowCount: 0 }
  return { kind: 'lost', stream: '', encoding: 'identity', ...counts, payload: encodeLost(first) }
}
