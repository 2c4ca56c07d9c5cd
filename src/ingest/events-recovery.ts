/**
 * What the log says at the start, in two passes: first which blocks were named and stored, then which events are left.
 *
 * Of the events only counts are kept: they are read back from the log as there is room for them.
 */

import { entryBytesOf } from '../wal/entry-format.ts'
import {
  decodeLost,
  decodeNotes,
  decodeSeal,
  decodeSettled,
  decodeStored,
  type Settled,
} from '../wal/entry-payloads.ts'
import { firstSequence, type Sequence } from '../wal/sequence.ts'
import type { LostRange, WalEntry } from '../wal/wal.types.ts'
import type { SealedBlock } from './events.types.ts'
import type { Behind, RecoveredLine } from './events-line.ts'
import type { IdempotencyIndex } from './idempotency-index.ts'

export interface RecoveredEvents {
  readonly lines: ReadonlyMap<string, RecoveredLine>
  readonly lost: readonly LostRange[]
}

interface StreamState {
  /** By the first entry of each: a block that is named again takes the place of its first name. */
  readonly sealed: Map<Sequence, Mutable<SealedBlock>>
  /** Everything up to here is named by a seal, or lies before a barrier. */
  settledUpTo: number
  behind: Behind | null
  waitingRows: number
  waitingBytes: number
}

type Mutable<Value> = { -readonly [Key in keyof Value]: Value[Key] }

/** `released` is where the log begins: a block whose entries lie before it was stored. */
export async function recoverEvents(
  replay: () => AsyncIterable<WalEntry>,
  keys: IdempotencyIndex,
  { released, nowMs }: { readonly released: Sequence; readonly nowMs: number },
): Promise<RecoveredEvents> {
  const streams = new Map<string, StreamState>()
  const lost: LostRange[] = []
  const settled: Settled[] = []
  for await (const entry of replay()) {
    switch (entry.kind) {
      case 'seal':
        noteSeal(stateOf(streams, entry.stream), entry, released)
        break
      case 'stored':
        noteStored(stateOf(streams, entry.stream), decodeStored(entry.payload).blockId)
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
  for await (const entry of replay()) if (entry.kind === 'rows') count(stateOf(streams, entry.stream), entry)
  const lines = [...streams].map(([stream, state]) => [stream, lineOf(state)] as const)
  return { lines: new Map(lines.filter(([, line]) => line.sealed.length > 0 || line.behind !== null)), lost }
}

function stateOf(streams: Map<string, StreamState>, stream: string): StreamState {
  const known = streams.get(stream)
  if (known !== undefined) return known
  const state: StreamState = {
    sealed: new Map(),
    settledUpTo: firstSequence - 1,
    behind: null,
    waitingRows: 0,
    waitingBytes: 0,
  }
  streams.set(stream, state)
  return state
}

function noteSeal(state: StreamState, entry: WalEntry, released: Sequence): void {
  const { blockId, sequences, setAside } = decodeSeal(entry.payload)
  const [first] = sequences
  const last = sequences.at(-1)
  if (first === undefined || last === undefined) return
  state.settledUpTo = Math.max(state.settledUpTo, last)
  if (first < released) return
  state.sealed.set(first, { blockId, sequences, setAside, loggedBytes: 0, sealedAtMs: entry.acceptedAtMs })
}

function noteStored(state: StreamState, blockId: string): void {
  for (const [first, block] of state.sealed) if (block.blockId === blockId) state.sealed.delete(first)
}

function noteBarrier(state: StreamState, sequence: Sequence): void {
  state.sealed.clear()
  state.settledUpTo = sequence
}

/** What a compaction called settled is stored or gone, though the seals that named it may be cut out, and its rows not. */
function passOver(state: StreamState, stream: string, { below, firstNeeded }: Settled): void {
  const last = (firstNeeded.get(stream) ?? below) - 1
  state.settledUpTo = Math.max(state.settledUpTo, last)
  for (const [first, { sequences }] of state.sealed) if ((sequences.at(-1) ?? 0) <= last) state.sealed.delete(first)
}

function count(state: StreamState, entry: WalEntry): void {
  const { sequence } = entry
  const block = sequence > state.settledUpTo ? undefined : sealedBlockOf(state, sequence)
  if (sequence <= state.settledUpTo && block === undefined) return
  state.waitingRows += entry.rowCount + entry.quarantinedRowCount
  const byteCount = entryBytesOf(entry)
  state.waitingBytes += byteCount
  if (block !== undefined) block.loggedBytes += byteCount
  else state.behind = { first: state.behind?.first ?? sequence, last: sequence }
}

/** Few blocks of a stream are sealed and not stored at a time. */
function sealedBlockOf({ sealed }: StreamState, sequence: Sequence): Mutable<SealedBlock> | undefined {
  for (const block of sealed.values()) {
    const [first] = block.sequences
    const last = block.sequences.at(-1)
    if (first !== undefined && last !== undefined && sequence >= first && sequence <= last) return block
  }
  return undefined
}

function lineOf({ sealed, behind, waitingRows, waitingBytes }: StreamState): RecoveredLine {
  return { sealed: [...sealed.values()], behind, waitingRows, waitingBytes }
}
