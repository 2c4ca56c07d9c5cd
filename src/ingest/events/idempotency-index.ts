/**
 * What repeated requests are answered with, by key: for five hours, and for as many keys as there is room for.
 *
 * A key is in doubt while its first request is under way; a repeat waits for it. The log has a note of each key in the same
 * batch as its rows, so after a crash either both are there or neither is.
 */
import { createHash } from 'node:crypto'
import type { Note } from '../../wal/entry-payloads.ts'
import { type Sequence, toSequence } from '../../wal/sequence.ts'

/** As the API promises: a repeat within this time is detected. */
const keptMs = 5 * 60 * 60 * 1000

/** The first bytes of a note's key are the request's, the last ones are the body's. */
const keyBytes = 16
const bodyBytes = 8

/** What the note of a key takes of the log, at most, counts and times included. */
const noteBytesMax = 64
/** A release writes the notes again, into the sixteenth of the log that is for bookkeeping alone. */
const notesShare = 1 / 32

/** How many keys are remembered: those of the option, as far as their notes have room in a log of this size. */
export function keysMaxOf({ idempotencyKeysMax, eventsLogBytesMax }: KeysOptions): number {
  return Math.max(1, Math.min(idempotencyKeysMax, Math.floor((eventsLogBytesMax * notesShare) / noteBytesMax)))
}

interface KeysOptions {
  readonly idempotencyKeysMax: number
  readonly eventsLogBytesMax: number
}

export interface RequestKey {
  /** As it stands in the log. */
  readonly bytes: Uint8Array
  readonly text: string
  /** Two requests with one key and different bodies are no repeats of each other. */
  readonly bodyText: string
}

/** What is known of a key. */
export type KnownKey =
  | { readonly kind: 'under-way'; readonly settled: Promise<void> }
  | {
      readonly kind: 'answered'
      readonly bodyText: string
      readonly rowCount: number
      readonly quarantinedRowCount: number
      /** When this entry of the log is stored, the rows are; null when they have been for long. */
      readonly rowsUpTo: Sequence | null
    }

interface Answered {
  readonly kind: 'answered'
  readonly bodyText: string
  readonly note: Note
  place: NotePlace
}

/** Where a note stands in the log. */
export interface NotePlace {
  readonly sequence: Sequence
  /** Whose rows stand right before it; empty when it was carried on, which happens to notes of stored rows alone. */
  readonly stream: string
}

interface UnderWay {
  readonly kind: 'under-way'
  readonly settled: Promise<void>
  readonly settle: () => void
}

export class IdempotencyIndex {
  readonly #keysMax: number
  readonly #onForgotten: (keyCount: number) => void
  /** Oldest first: a Map keeps the order in which keys came. */
  readonly #byKey = new Map<string, Answered | UnderWay>()

  /** `onForgotten` is told of keys that went, oldest first, before their time, because there is room for `keysMax`. */
  constructor(keysMax: number, onForgotten: (keyCount: number) => void = () => undefined) {
    this.#keysMax = keysMax
    this.#onForgotten = onForgotten
  }

  get size(): number {
    return this.#byKey.size
  }

  find({ text }: RequestKey, nowMs: number): KnownKey | undefined {
    const known = this.#byKey.get(text)
    if (known === undefined || known.kind === 'under-way') return known
    const { bodyText, note, place } = known
    const { rowCount, quarantinedRowCount, expiresAtMs } = note
    if (expiresAtMs <= nowMs) return undefined
    const rowsUpTo = place.stream === '' ? null : before(place.sequence)
    return { kind: 'answered', bodyText, rowsUpTo, rowCount, quarantinedRowCount }
  }

  /** A request with a new key is under way; repeats wait until `remember` or `forget`. */
  begin({ text }: RequestKey): void {
    let settle = (): void => undefined
    const settled = new Promise<void>((resolve) => {
      settle = resolve
    })
    this.#byKey.delete(text)
    this.#byKey.set(text, { kind: 'under-way', settled, settle })
  }

  /** The request's rows are in the log, and the note right behind them. */
  remember({ text, bodyText }: RequestKey, { note, ...place }: NotePlace & { readonly note: Note }): void {
    const known = this.#byKey.get(text)
    this.#byKey.set(text, { kind: 'answered', bodyText, note, place })
    if (known?.kind === 'under-way') known.settle()
    this.#forgetOldest()
  }

  /** The request came to nothing: the next one with its key is the first. */
  forget({ text }: RequestKey): void {
    const known = this.#byKey.get(text)
    this.#byKey.delete(text)
    if (known?.kind === 'under-way') known.settle()
  }

  /** Takes a note out of the log at the start; the last one of a key counts. */
  restore(note: Note, place: NotePlace, nowMs: number): void {
    if (note.expiresAtMs <= nowMs) return
    const { text, bodyText } = readKey(note.key)
    this.#byKey.delete(text)
    this.#byKey.set(text, { kind: 'answered', bodyText, note, place })
    this.#forgetOldest()
  }

  /**
   * Notes below `sequence` that are still needed, and must be in the log once more before it lets go of them; without those
   * that stay where they are, as their rows do.
   */
  notesBelow(sequence: Sequence, nowMs: number, isStaying: (place: NotePlace) => boolean): readonly Note[] {
    const notes: Note[] = []
    for (const [text, known] of this.#byKey) {
      if (known.kind !== 'answered') continue
      if (known.note.expiresAtMs <= nowMs) this.#byKey.delete(text)
      else if (known.place.sequence < sequence && !isStaying(known.place)) notes.push(known.note)
    }
    return notes
  }

  /** The notes are in the log once more. */
  moveTo(notes: readonly Note[], sequence: Sequence): void {
    for (const note of notes) {
      const known = this.#byKey.get(readKey(note.key).text)
      // The key may have been used anew meanwhile, and has a later note then.
      if (known?.kind !== 'answered' || known.note !== note) continue
      known.place = { sequence, stream: '' }
    }
  }

  #forgetOldest(): void {
    let forgottenCount = 0
    for (const [text, known] of this.#byKey) {
      if (this.#byKey.size <= this.#keysMax) break
      if (known.kind !== 'answered') continue
      this.#byKey.delete(text)
      forgottenCount += 1
    }
    if (forgottenCount > 0) this.#onForgotten(forgottenCount)
  }
}

function before(sequence: Sequence): Sequence {
  return toSequence(Math.max(1, sequence - 1))
}

/** The key of a request: what names it, in order, and the bytes of its body. */
export function requestKey(names: readonly string[], body: Uint8Array): RequestKey {
  const named = createHash('sha256')
  for (const name of names) named.update(`${Buffer.byteLength(name)}:${name}`)
  const key = named.digest().subarray(0, keyBytes)
  return readKey(Buffer.concat([key, createHash('sha256').update(body).digest().subarray(0, bodyBytes)]))
}

/** The key of a request that nothing but its body names. */
export function bodyKey(names: readonly string[], body: Uint8Array): RequestKey {
  return requestKey([...names, createHash('sha256').update(body).digest('base64')], body)
}

export function noteOf(
  { bytes }: RequestKey,
  counts: Pick<Note, 'quarantinedRowCount' | 'rowCount'>,
  nowMs: number,
): Note {
  return { key: bytes, expiresAtMs: nowMs + keptMs, status: 202, ...counts }
}

function readKey(bytes: Uint8Array): RequestKey {
  const all = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  return { bytes, text: all.toString('latin1', 0, keyBytes), bodyText: all.toString('latin1', keyBytes) }
}
