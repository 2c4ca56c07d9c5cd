import { assert } from '../shared/assert.ts'
import { ByteReader, ByteWriter } from './byte-cursor.ts'
import { type Sequence, toSequence } from './sequence.ts'
import type { LostRange, NewEntry, WalEntry } from './wal.types.ts'
import { WalFormatError } from './wal-errors.ts'

/** A block, named before it is inserted: the same entries in the same order give the same rows under the same id. */
export interface BlockName {
  /** At most 255 bytes of UTF-8. */
  readonly blockId: string
  /** Ascending, at least one; the first and the last bound the block. */
  readonly sequences: readonly Sequence[]
  /** Records of the block, counted from 0, that the engine refused and that go to quarantine; ascending. */
  readonly setAside: readonly number[]
  /** Records that go to quarantine because they are of too many partitions; ascending. */
  readonly beyond: readonly number[]
  /** Those set aside for which the engine took too much time or memory; ascending. */
  readonly costly?: readonly number[]
  /** Those set aside that were not tried, as others of the block took too much; ascending. */
  readonly untried?: readonly number[]
}

/** A block is in the engine. */
export interface Stored {
  readonly blockId: string
  /** The block's last entry; null in notes of directories of format 1. */
  readonly last: Sequence | null
  readonly rowCount: number
  readonly quarantinedRowCount: number
}

/** Nothing before it in the log may be inserted into its stream any more. */
export interface Barrier {
  /** Higher than that of the stream's last barrier; a stream without one is at 0. */
  readonly generation: number
  /** The stream is gone and never comes back: forgotten once the log is released beyond the barrier. */
  readonly isFinal: boolean
}

/** What a repeat of the same request is answered with. */
export interface Note {
  /** A hash, at most 255 bytes. */
  readonly key: Uint8Array
  readonly expiresAtMs: number
  /** Means nothing to the log. */
  readonly status: number
  readonly rowCount: number
  readonly quarantinedRowCount: number
}

/** A bookkeeping entry: no rows, no packing. `atMs` is epoch milliseconds. */
export function bookkeepingEntry(entry: {
  readonly kind: Exclude<NewEntry['kind'], 'rows'>
  readonly stream: string
  readonly atMs: number
  readonly payload: Uint8Array
}): NewEntry {
  const { kind, stream, atMs, payload } = entry
  const counts = { rowCount: 0, quarantinedRowCount: 0 }
  return { kind, stream, version: 0, encoding: 'identity', flags: 0, acceptedAtMs: atMs, ...counts, payload }
}

export function encodeBlockName({
  blockId,
  sequences,
  setAside,
  beyond,
  costly = [],
  untried = [],
}: BlockName): Uint8Array {
  assert(sequences.length > 0, 'a block has entries')
  const writer = new ByteWriter().text(blockId)
  writeSteps(writer, sequences, 0)
  writeSteps(writer, setAside, -1)
  // Lists at the end that are empty are left out.
  const more = [beyond, costly, untried]
  const count = more.findLastIndex(({ length }) => length > 0) + 1
  for (const list of more.slice(0, count)) writeSteps(writer, list, -1)
  return writer.finish()
}

/** Ascending numbers as the steps between them, the first one from `start`. */
function writeSteps(writer: ByteWriter, ascending: readonly number[], start: number): void {
  writer.varint(ascending.length)
  let previous = start
  for (const value of ascending) {
    assert(value > previous, 'the entries and the records of a block are in order')
    writer.varint(value - previous)
    previous = value
  }
}

function readSteps(reader: ByteReader, start: number): readonly number[] {
  const count = reader.varint()
  const ascending: number[] = []
  let previous = start
  for (let index = 0; index < count; index += 1) {
    const step = reader.varint()
    if (step === 0) throw new WalFormatError('the name of a block has an entry or a record twice')
    previous += step
    ascending.push(previous)
  }
  return ascending
}

/** @throws WalFormatError, as each of the readers below, when the payload is not of its kind. */
export function decodeBlockName(payload: Uint8Array): Required<BlockName> {
  const reader = new ByteReader(payload)
  const blockId = reader.text()
  const sequences = readSteps(reader, 0).map(toSequence)
  const setAside = readSteps(reader, -1)
  // In directories of format 1 none has them.
  const more: (readonly number[])[] = []
  while (!reader.isAtEnd && more.length < 3) more.push(readSteps(reader, -1))
  reader.end()
  if (more.at(-1)?.length === 0) throw new WalFormatError('the name of a block ends with an empty list')
  const [beyond = [], costly = [], untried = []] = more
  if (sequences.length === 0) throw new WalFormatError('the name of a block has no entries')
  return { blockId, sequences, setAside, beyond, costly, untried }
}

export function encodeStored({ blockId, last, rowCount, quarantinedRowCount }: Stored): Uint8Array {
  const writer = new ByteWriter().text(blockId).varint(rowCount).varint(quarantinedRowCount)
  return (last === null ? writer : writer.varint(last)).finish()
}

export function decodeStored(payload: Uint8Array): Stored {
  const reader = new ByteReader(payload)
  const counts = { blockId: reader.text(), rowCount: reader.varint(), quarantinedRowCount: reader.varint() }
  if (reader.isAtEnd) return { ...counts, last: null }
  const last = reader.varint()
  reader.end()
  if (last === 0) throw new WalFormatError('a block of the log ends before the first entry')
  return { ...counts, last: toSequence(last) }
}

export function encodeBarrier({ generation, isFinal }: Barrier): Uint8Array {
  return new ByteWriter()
    .varint(generation)
    .byte(isFinal ? 1 : 0)
    .finish()
}

export function decodeBarrier(payload: Uint8Array): Barrier {
  const reader = new ByteReader(payload)
  const barrier = { generation: reader.varint(), isFinal: reader.flag() }
  reader.end()
  return barrier
}

/** Many notes fit one entry; those of one request go into one batch with its rows. */
export function encodeNotes(notes: readonly Note[]): Uint8Array {
  const writer = new ByteWriter().varint(notes.length)
  for (const { key, expiresAtMs, status, rowCount, quarantinedRowCount } of notes) {
    assert(key.length <= 255, 'the key of a note is a hash')
    writer.short(key).varint(expiresAtMs).varint(status).varint(rowCount).varint(quarantinedRowCount)
  }
  return writer.finish()
}

/** The keys are copies. */
export function decodeNotes(payload: Uint8Array): readonly Note[] {
  const reader = new ByteReader(payload)
  const count = reader.varint()
  const notes: Note[] = []
  for (let index = 0; index < count; index += 1) {
    const key = Uint8Array.from(reader.short())
    const expiresAtMs = reader.varint()
    const status = reader.varint()
    notes.push({ key, expiresAtMs, status, rowCount: reader.varint(), quarantinedRowCount: reader.varint() })
  }
  reader.end()
  return notes
}

/** Everything of a stream before its first needed entry, or before `below` when it has none, is settled. */
export interface Settled {
  readonly below: Sequence
  readonly firstNeeded: ReadonlyMap<string, Sequence>
}

export function encodeSettled({ below, firstNeeded }: Settled): Uint8Array {
  const writer = new ByteWriter().varint(below).varint(firstNeeded.size)
  for (const [stream, first] of firstNeeded) writer.text(stream).varint(first)
  return writer.finish()
}

export function decodeSettled(payload: Uint8Array): Settled {
  const reader = new ByteReader(payload)
  const below = toSequence(reader.varint())
  const count = reader.varint()
  const firstNeeded = new Map<string, Sequence>()
  for (let index = 0; index < count; index += 1) firstNeeded.set(reader.text(), toSequence(reader.varint()))
  reader.end()
  return { below, firstNeeded }
}

/** For the log itself: the entry's own sequence is the last that is lost. */
export function encodeLost(first: number): Uint8Array {
  return new ByteWriter().varint(first).finish()
}

/** Which entries a `lost` or a `gone` entry stands for. */
export function decodeLost({ sequence, payload }: Pick<WalEntry, 'payload' | 'sequence'>): LostRange {
  const reader = new ByteReader(payload)
  const first = toSequence(reader.varint())
  reader.end()
  return { first, last: sequence }
}
