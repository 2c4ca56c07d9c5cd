/**
 * Cuts out of old segments what nobody needs any more, while a few streams still need entries between.
 *
 * 1. Entries keep their sequences: a `gone` entry stands for each gap. So names of blocks, readers and whoever waits for a sequence
 *    notice nothing.
 * 2. Before the first segment changes, a `settled` entry and a checkpoint are on disk. They say of every entry that is cut
 *    out that it is not needed, so a crash may leave any of the segments old and any of them new.
 * 3. A segment is written anew beside the old one, synced, and takes its name in one rename. A small one is joined to the
 *    one before: the joined file has its new name, on disk, before the later one is unlinked. As long as the later one is
 *    there, the joined file counts up to its beginning, and no gap reaches across that point.
 */
import { join } from 'node:path'
import { adoptEntry, encodeEntryHeader, entryHeaderBytes, type StoredEntry } from './entry-format.ts'
import { decodeBlockName, decodeLost, decodeSettled, decodeStored, encodeLost } from './entry-payloads.ts'
import { withFile, writeFully } from './file-access.ts'
import type { FileLayer, LogFile } from './file-layer.ts'
import type { NamingTurns } from './naming-turns.ts'
import type { SegmentChain } from './segment-chain.ts'
import { draftSuffix, encodeSegmentHeader, saltOf, segmentHeaderBytes } from './segment-format.ts'
import { type EntryView, type KnownSegment, readSegment, streamOf } from './segment-reader.ts'
import { type Sequence, toSequence } from './sequence.ts'
import type { CompactionRequest, WalOptions } from './wal.types.ts'

/** What is kept of a stream in a segment. */
interface KeptStream {
  byteCount: number
  /** The last entry that its rows are in. */
  last: number
}

type Kept = Map<string, KeptStream>

type Needs = Pick<CompactionRequest, 'below' | 'firstNeeded'>

/** A segment is written anew when that frees a quarter of it: the log is then at most a third larger than what is needed. */
const freedShareMin = 1 / 4
/** Joined segments stay below this part of a segment: joining more costs more than few files save. */
const joinedShareMax = 1 / 4
const bufferBytes = 1024 * 1024

export class SegmentCompactor {
  readonly #chain: SegmentChain
  readonly #files: FileLayer
  readonly #naming: NamingTurns
  readonly #options: Pick<WalOptions, 'directory' | 'onEvent' | 'segmentBytesMax'>
  readonly #logId: Uint8Array
  /** What was found needed in the segments that were looked at, by name. */
  readonly #keptOf = new Map<string, Kept>()

  constructor(
    options: Pick<WalOptions, 'directory' | 'onEvent' | 'segmentBytesMax'>,
    deps: {
      readonly chain: SegmentChain
      readonly files: FileLayer
      readonly naming: NamingTurns
      readonly logId: Uint8Array
    },
  ) {
    this.#options = options
    this.#chain = deps.chain
    this.#files = deps.files
    this.#naming = deps.naming
    this.#logId = deps.logId
  }

  /** Whether some segment has not been looked at yet, or has a quarter that is not needed any more. */
  hasWork(needs: Needs): boolean {
    return this.#chain.sealedBelow(needs.below).some((segment) => this.#isWorthReading(segment, needs))
  }

  /** Gives the bytes that became free. Precondition: see 2 above; nothing else replaces or removes segments meanwhile. */
  async compact(needs: Needs): Promise<number> {
    const { below } = needs
    const bytesOf = () => this.#chain.sealedBelow(below).reduce((total, { byteCount }) => total + byteCount, 0)
    const bytesBefore = bytesOf()
    const segments = this.#chain.sealedBelow(below)
    const names = new Set(this.#chain.segments().map(({ name }) => name))
    for (const name of this.#keptOf.keys()) if (!names.has(name)) this.#keptOf.delete(name)
    let previous: KnownSegment | null = null
    for (const segment of segments) {
      previous = this.#isWorthReading(segment, needs) ? await this.#compactOne(previous, segment, needs) : segment
    }
    return bytesBefore - bytesOf()
  }

  #isWorthReading(segment: KnownSegment, { firstNeeded }: Needs): boolean {
    const kept = this.#keptOf.get(segment.name)
    if (kept === undefined) return true
    let staleBytes = 0
    for (const [stream, { byteCount, last }] of kept) {
      const first = firstNeeded.get(stream)
      if (first === undefined || first > last) staleBytes += byteCount
    }
    return staleBytes >= Math.max(1, segment.byteCount * freedShareMin)
  }

  /** Gives the segment that then ends where `segment` ended. */
  async #compactOne(previous: KnownSegment | null, segment: KnownSegment, needs: Needs): Promise<KnownSegment> {
    const kept = await this.#examine(segment, needs)
    const keptBytes = [...kept.values()].reduce((total, { byteCount }) => total + byteCount, segmentHeaderBytes)
    const joinedBytesMax = this.#options.segmentBytesMax * joinedShareMax
    const isJoined = previous !== null && previous.byteCount + keptBytes <= joinedBytesMax
    if (previous !== null && isJoined) return await this.#replace([previous, segment], needs)
    if (keptBytes <= segment.byteCount * (1 - freedShareMin)) return await this.#replace([segment], needs)
    this.#keptOf.set(segment.name, kept)
    return segment
  }

  async #examine(segment: KnownSegment, needs: Needs): Promise<Kept> {
    const kept: Kept = new Map()
    const path = join(this.#options.directory, segment.name)
    await withFile(this.#files, { path, mode: 'read' }, async (file) => {
      for await (const views of readSegment(file, this.#logId, segment)) {
        for (const view of views) if (isNeeded(view, needs)) noteKept(kept, view)
      }
    })
    return kept
  }

  /** Writes one segment, or two neighbours, anew under the name of the first. */
  async #replace(
    sources: readonly [KnownSegment] | readonly [KnownSegment, KnownSegment],
    needs: Needs,
  ): Promise<KnownSegment> {
    const { directory } = this.#options
    const [first, second] = sources
    const draft = join(directory, first.name + draftSuffix)
    const kept: Kept = new Map()
    const written = await withFile(this.#files, { path: draft, mode: 'create' }, async (file) => {
      const target = new CompactWriter(file, encodeSegmentHeader(this.#logId, first.first), first.first)
      const ends: KnownSegment[] = []
      for (const source of sources) {
        await this.#copyNeeded(source, target, { kept, needs })
        ends.push({ name: first.name, first: first.first, next: source.next, byteCount: target.byteCount })
      }
      await target.flush()
      await file.datasync()
      return ends
    })
    const [alone, joined] = written
    if (alone === undefined) throw new Error('a segment was written')
    await this.#naming.take(async () => {
      await this.#files.rename(draft, join(directory, first.name))
      this.#chain.replace([first], alone)
      this.#keptOf.set(first.name, kept)
    })
    await this.#files.syncDirectory(directory)
    if (second === undefined || joined === undefined) return alone
    await this.#naming.take(async () => {
      await this.#files.unlink(join(directory, second.name))
      this.#chain.replace([alone, second], joined)
      this.#keptOf.delete(second.name)
    })
    await this.#files.syncDirectory(directory)
    return joined
  }

  async #copyNeeded(
    source: KnownSegment,
    target: CompactWriter,
    what: { readonly kept: Kept; readonly needs: Needs },
  ): Promise<void> {
    const path = join(this.#options.directory, source.name)
    await withFile(this.#files, { path, mode: 'read' }, async (file) => {
      for await (const views of readSegment(file, this.#logId, source)) {
        for (const view of views) {
          if (!isNeeded(view, what.needs)) continue
          noteKept(what.kept, view)
          await target.keep(view)
        }
      }
    })
    await target.skipTo(source.next)
  }
}

function isNeeded(view: EntryView, { below, firstNeeded }: Needs): boolean {
  const { kind, sequence } = view.header
  switch (kind) {
    case 'lost':
      return true
    case 'rows':
    case 'note': {
      // A note right behind its rows tells whether they are stored; a carried one has no stream, and is in the log anew.
      const first = firstNeeded.get(streamOf(view))
      return first !== undefined && sequence >= first
    }
    case 'blockName': {
      const first = firstNeeded.get(streamOf(view))
      if (first === undefined) return false
      const last = decodeBlockName(view.payload).sequences.at(-1)
      return last !== undefined && last >= first
    }
    // What it says beyond `below` no newer entry says.
    case 'settled':
      return decodeSettled(view.payload).below > below
    // Where blocks are needed that are stored, a start must not take them for others.
    case 'stored': {
      const first = firstNeeded.get(streamOf(view))
      const { last } = decodeStored(view.payload)
      return first !== undefined && last !== null && last >= first
    }
    // What lies before a barrier is settled.
    case 'barrier':
    case 'gone':
    case undefined:
      return false
  }
}

function noteKept(kept: Kept, view: EntryView): void {
  const { kind, sequence, headerBytes, payloadBytes } = view.header
  // These are of no stream, and never become stale.
  if (kind === 'lost' || kind === 'settled') return
  const stream = streamOf(view)
  const known = kept.get(stream) ?? { byteCount: 0, last: 0 }
  known.byteCount += headerBytes + payloadBytes
  if (kind === 'rows') known.last = sequence
  kept.set(stream, known)
}

/** Writes kept entries and the gaps between them, a buffer at a time. */
class CompactWriter {
  readonly #file: LogFile
  readonly #salt: number
  readonly #buffer = Buffer.allocUnsafe(bufferBytes)
  #filled: number
  #written = 0
  /** The sequence that comes next. */
  #expected: number

  constructor(file: LogFile, header: Buffer, first: Sequence) {
    this.#file = file
    this.#salt = saltOf(header)
    this.#expected = first
    this.#filled = header.copy(this.#buffer)
  }

  get byteCount(): number {
    return this.#written + this.#filled
  }

  async keep(view: EntryView): Promise<void> {
    const { header, bytes, start, payload } = view
    const sequence = toSequence(header.sequence)
    await this.skipTo(header.kind === 'lost' ? decodeLost({ sequence, payload }).first : sequence)
    const entryBytes = header.headerBytes + header.payloadBytes
    const target = await this.#reserve(entryBytes)
    bytes.copy(target, 0, start, start + entryBytes)
    adoptEntry(target, header.headerBytes, this.#salt)
    await this.#put(target)
    this.#expected = sequence + 1
  }

  /** Writes that the entries before `sequence` which were not kept are gone. */
  async skipTo(sequence: number): Promise<void> {
    if (sequence <= this.#expected) return
    const entry = goneEntry(this.#expected)
    const target = await this.#reserve(entryHeaderBytes + entry.payload.length)
    const place = { sequence: sequence - 1, groupPosition: 0, hasFollower: false, salt: this.#salt }
    target.set(entry.payload, encodeEntryHeader(target, 0, entry, place))
    await this.#put(target)
    this.#expected = sequence
  }

  async flush(): Promise<void> {
    await writeFully(this.#file, [this.#buffer.subarray(0, this.#filled)], this.#written)
    this.#written += this.#filled
    this.#filled = 0
  }

  /** Room for an entry: behind what the buffer holds, or, for a large one, by itself. */
  async #reserve(byteCount: number): Promise<Buffer> {
    if (this.#filled + byteCount > this.#buffer.length) await this.flush()
    if (byteCount > this.#buffer.length) return Buffer.allocUnsafeSlow(byteCount)
    return this.#buffer.subarray(this.#filled, this.#filled + byteCount)
  }

  async #put(entry: Buffer): Promise<void> {
    if (entry.length <= this.#buffer.length) {
      this.#filled += entry.length
      return
    }
    await writeFully(this.#file, [entry], this.#written)
    this.#written += entry.length
  }
}

function goneEntry(first: number): StoredEntry {
  const counts = { version: 0, flags: 0, acceptedAtMs: 0, rowCount: 0, quarantinedRowCount: 0 }
  return { kind: 'gone', stream: '', encoding: 'identity', ...counts, payload: encodeLost(first) }
}
