/**
 * What the log says at the start, in two passes: first which blocks were named and stored, then which events are left.
 *
 * Of the events only counts are kept: they are read back from the log as there is room for them. A block is what of its
 * entries is there: damage takes its own entries from it, and never holds up the others.
 */

import { entryBytesOf } from '../../wal/entry-format.ts'
import {
  decodeBlockName,
  decodeLost,
  decodeNotes,
  decodeSettled,
  decodeStored,
  type Settled,
  type Stored,
} from '../../wal/entry-payloads.ts'
import { firstSequence, type Sequence } from '../../wal/sequence.ts'
import type { LostRange, WalEntry } from '../../wal/wal.types.ts'
import type { NamedBlock } from '../insert/block.types.ts'
import type { RecoveredSource, SequenceRange } from './events.types.ts'
import type { IdempotencyIndex } from './idempotency-index.ts'

export interface RecoveredEvents {
  readonly sources: ReadonlyMap<string, RecoveredSource>
  /** Entries that damage took, of whatever kind they were. */
  readonly lost: readonly LostRange[]
  /** By data source, what damage took of events that were not stored, as far as the log tells whose they were. */
  readonly losses: ReadonlyMap<string, Loss>
  /** By data source, blocks that are stored and that somebody still needs, in the order of the log. */
  readonly kept: ReadonlyMap<string, KeptHistory>
}

export interface KeptHistory {
  readonly blocks: readonly NamedBlock[]
  /** True when damage took a part of it. */
  readonly hasGaps: boolean
}

export interface Loss {
  readonly entryCount: number
  /** Rows of those entries that still say how many they had. */
  readonly rowCount: number
}

interface StreamState {
  /** By id: a block that is named again takes the place of its first name. */
  readonly named: Map<string, RecoveredBlock>
  /** Everything up to here is named by a block's name, or lies before a barrier. */
  settledUpTo: number
  behind: SequenceRange | null
  waitingRows: number
  waitingBytes: number
  acceptedMs: RecoveredSource['acceptedMs']
  /** Rows by entry, of those that damage took and that still tell whose they were. */
  readonly lostRows: Map<Sequence, number>
  /** Where blocks are needed from that are stored; null where none are. */
  readonly keptFrom: Sequence | null
  readonly kept: Map<string, RecoveredBlock>
  /** Those of `kept` whose entries have been counted. */
  readonly passed: RecoveredBlock[]
  hasGaps: boolean
}

interface RecoveredBlock extends Omit<NamedBlock, 'isCutShort' | 'loggedBytes'> {
  readonly present: Set<Sequence>
  loggedBytes: number
}

export interface RecoveryPlaces {
  /** Where the log begins for events: a block that begins before it was stored, whatever the log has of it. */
  readonly released: Sequence
  /** By data source, where blocks are needed from that are stored. */
  readonly keptFrom: ReadonlyMap<string, Sequence>
  readonly nowMs: number
}

export async function recoverEvents(
  replay: () => AsyncIterable<WalEntry>,
  keys: IdempotencyIndex,
  { released, keptFrom, nowMs }: RecoveryPlaces,
): Promise<RecoveredEvents> {
  const streams = new Map([...keptFrom].map(([stream, from]) => [stream, newState(from)] as const))
  const lost: LostRange[] = []
  const settled: Settled[] = []
  for await (const entry of replay()) {
    switch (entry.kind) {
      case 'blockName':
        noteBlockName(stateOf(streams, entry.stream), entry, released)
        break
      case 'stored':
        noteStored(stateOf(streams, entry.stream), decodeStored(entry.payload))
        break
      case 'barrier':
        noteBarrier(stateOf(streams, entry.stream), entry.sequence)
        break
      case 'note': {
        // Notes that were carried on belong to no stream.
        const place = { sequence: entry.sequence, stream: entry.stream }
        for (const note of decodeNotes(entry.payload)) keys.restore(note, place, nowMs)
        break
      }
      case 'lost':
        lost.push(decodeLost(entry))
        if (entry.stream !== '') {
          stateOf(streams, entry.stream).lostRows.set(entry.sequence, entry.rowCount + entry.quarantinedRowCount)
        }
        break
      case 'settled':
        settled.push(decodeSettled(entry.payload))
        break
      case 'gone':
        break
      case 'rows':
        stateOf(streams, entry.stream)
    }
  }
  for (const [stream, state] of streams) for (const one of settled) passOver(state, stream, one)
  for await (const entry of replay()) {
    if (entry.kind === 'rows' && entry.sequence >= released) count(stateOf(streams, entry.stream), entry)
  }
  const kept = [...keptFrom.keys()].map((stream) => [stream, keptOf(stateOf(streams, stream), lost)] as const)
  const losses = [...streams].map(([stream, state]) => [stream, lossOf(state)] as const)
  const sources = [...streams].map(([stream, state]) => [stream, sourceOf(state)] as const)
  return {
    sources: new Map(sources.filter(([, { named, behind }]) => named.length > 0 || behind !== null)),
    lost,
    losses: new Map(losses.filter(([, { entryCount }]) => entryCount > 0)),
    kept: new Map(kept),
  }
}

function stateOf(streams: Map<string, StreamState>, stream: string): StreamState {
  const known = streams.get(stream)
  if (known !== undefined) return known
  const state = newState(null)
  streams.set(stream, state)
  return state
}

function newState(keptFrom: Sequence | null): StreamState {
  return {
    named: new Map(),
    settledUpTo: firstSequence - 1,
    behind: null,
    waitingRows: 0,
    waitingBytes: 0,
    acceptedMs: null,
    lostRows: new Map(),
    keptFrom,
    kept: new Map(),
    passed: [],
    hasGaps: false,
  }
}

function noteBlockName(state: StreamState, entry: WalEntry, released: Sequence): void {
  const { blockId, sequences, setAside, beyond, costly, untried } = decodeBlockName(entry.payload)
  const [first] = sequences
  const last = sequences.at(-1)
  if (first === undefined || last === undefined) return
  state.settledUpTo = Math.max(state.settledUpTo, last)
  if (first < released) return
  const block = { blockId, sequences, setAside, beyond, costly, untried, namedAtMs: entry.acceptedAtMs }
  const recovered: RecoveredBlock = { ...block, present: new Set(), loggedBytes: 0 }
  state.named.set(blockId, recovered)
  if (state.keptFrom !== null && last >= state.keptFrom) state.kept.set(blockId, recovered)
}

/** It tells as well what its block was, should damage have taken the name. */
function noteStored(state: StreamState, { blockId, last }: Stored): void {
  state.named.delete(blockId)
  state.settledUpTo = Math.max(state.settledUpTo, last ?? 0)
}

function noteBarrier(state: StreamState, sequence: Sequence): void {
  state.named.clear()
  state.settledUpTo = sequence
}

/** What a compaction called settled is stored or gone, though the names of its blocks may be cut out, and its rows not. */
function passOver(state: StreamState, stream: string, { below, firstNeeded }: Settled): void {
  const last = (firstNeeded.get(stream) ?? below) - 1
  state.settledUpTo = Math.max(state.settledUpTo, last)
  for (const [id, { sequences }] of state.named) if ((sequences.at(-1) ?? 0) <= last) state.named.delete(id)
}

function count(state: StreamState, entry: WalEntry): void {
  const { sequence } = entry
  const block = sequence > state.settledUpTo ? undefined : namedBlockOf(state, sequence)
  if (sequence <= state.settledUpTo && block === undefined) {
    countKept(state, entry)
    return
  }
  state.waitingRows += entry.rowCount + entry.quarantinedRowCount
  const byteCount = entryBytesOf(entry)
  state.waitingBytes += byteCount
  state.acceptedMs = { first: state.acceptedMs?.first ?? entry.acceptedAtMs, last: entry.acceptedAtMs }
  if (block !== undefined) {
    block.loggedBytes += byteCount
    block.present.add(sequence)
  } else state.behind = { first: state.behind?.first ?? sequence, last: sequence }
}

/** Entries and blocks come in the same order, so of the blocks that are left the first is the one. */
function countKept(state: StreamState, entry: WalEntry): void {
  const { sequence } = entry
  if (state.keptFrom === null || sequence < state.keptFrom) return
  for (const block of state.kept.values()) {
    if ((block.sequences.at(-1) ?? 0) < sequence) {
      state.passed.push(block)
      state.kept.delete(block.blockId)
      continue
    }
    if (sequence < (block.sequences[0] ?? 0)) break
    block.loggedBytes += entryBytesOf(entry)
    block.present.add(sequence)
    return
  }
  // It is stored, and nothing says in which block.
  state.hasGaps = true
}

/** Those among the blocks that are stored; the others are when they are inserted. */
function keptOf({ kept, passed, named, hasGaps, keptFrom }: StreamState, lost: readonly LostRange[]): KeptHistory {
  const blocks = [...passed, ...kept.values()].filter(({ blockId }) => !named.has(blockId))
  const isLost = keptFrom !== null && lost.some(({ last }) => last >= keptFrom)
  const isWhole = blocks.every(({ sequences, present }) => sequences.length === present.size)
  return { blocks: blocks.map(namedBlockFrom), hasGaps: hasGaps || isLost || !isWhole }
}

/** Few blocks of a stream are named and not stored at a time. */
function namedBlockOf({ named }: StreamState, sequence: Sequence): RecoveredBlock | undefined {
  for (const block of named.values()) {
    const [first] = block.sequences
    const last = block.sequences.at(-1)
    if (first !== undefined && last !== undefined && sequence >= first && sequence <= last) return block
  }
  return undefined
}

/** What damage took of blocks that are not stored, and of events behind them. */
function lossOf({ named, settledUpTo, lostRows }: StreamState): Loss {
  const lost = new Set([...lostRows.keys()].filter((sequence) => sequence > settledUpTo))
  for (const { sequences, present } of named.values()) {
    for (const sequence of sequences) if (!present.has(sequence)) lost.add(sequence)
  }
  const rowCount = [...lost].reduce((total, sequence) => total + (lostRows.get(sequence) ?? 0), 0)
  return { entryCount: lost.size, rowCount }
}

function sourceOf({ named, behind, waitingRows, waitingBytes, acceptedMs }: StreamState): RecoveredSource {
  const blocks = [...named.values()].filter(({ present }) => present.size > 0)
  return { named: blocks.map(namedBlockFrom), behind, waitingRows, waitingBytes, acceptedMs }
}

function namedBlockFrom({ present, ...block }: RecoveredBlock): NamedBlock {
  if (present.size === block.sequences.length) return block
  const sequences = block.sequences.filter((sequence) => present.has(sequence))
  return { ...block, sequences, isCutShort: block.setAside.length + block.beyond.length > 0 }
}
