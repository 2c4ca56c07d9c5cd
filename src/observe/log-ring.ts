// A ring of bytes in shared memory: the main thread puts entries in, the thread of the log takes them out. It is what
// bounds the log: an entry that has no room is dropped and counted, and nobody ever waits to put one in.
//
// One thread writes and one reads. Positions count bytes and wrap at 2^32; `head` is moved by the writer alone, `tail` by
// the reader alone, and only when what lies before it has reached its stream.

import { kibibyte, mebibyte } from '../shared/bytes.ts'

/** Which stream a record is for, and whether it is an entry (JSON) or text for people. */
export type LogRecordKind = 'entry' | 'error-text' | 'output-text'

export interface LogRecord {
  readonly kind: LogRecordKind
  readonly bytes: Buffer
}

/** A power of two, so that positions may wrap. */
const capacityBytes = mebibyte
/** Room that only errors may take: warnings that nobody reads must not crowd out what was lost. */
const errorReserveBytes = 128 * kibibyte
/** A record that is longer is dropped and counted; writers cut theirs before. */
export const logRecordBytesMax = 64 * kibibyte

const cellCount = 6
const head = 0
const tail = 1
const dropped = 2
/** Raised by a writer that waits for the ring to be empty, so that the reader does not pause. */
const hurried = 3
/** Never changes, so that who waits for it sleeps. */
const still = 4
/** Set once the reader runs. */
const reading = 5
const headerBytes = 4
const kinds: readonly LogRecordKind[] = ['entry', 'error-text', 'output-text']

export class LogRing {
  /** To be handed to the other thread. */
  readonly memory: SharedArrayBuffer
  readonly #cells: Int32Array
  readonly #bytes: Buffer

  constructor(memory: SharedArrayBuffer = new SharedArrayBuffer(cellCount * 4 + capacityBytes)) {
    this.memory = memory
    this.#cells = new Int32Array(memory, 0, cellCount)
    this.#bytes = Buffer.from(memory, cellCount * 4, capacityBytes)
  }

  /** Puts a record in, or counts it as dropped. `isError` may use the room that is kept for errors. */
  put(kind: LogRecordKind, text: string, isError: boolean): boolean {
    const bytes = Buffer.from(text)
    const start = Atomics.load(this.#cells, head)
    const freeBytes = capacityBytes - this.#used(start) - (isError ? 0 : errorReserveBytes)
    if (bytes.length > logRecordBytesMax || headerBytes + bytes.length > freeBytes) {
      Atomics.add(this.#cells, dropped, 1)
      return false
    }
    const header = Buffer.alloc(headerBytes)
    header.writeUInt32LE(bytes.length * 4 + kinds.indexOf(kind))
    this.#copyIn(header, start)
    this.#copyIn(bytes, start + headerBytes)
    Atomics.store(this.#cells, head, (start + headerBytes + bytes.length) | 0)
    Atomics.notify(this.#cells, head)
    return true
  }

  /** The next records, of about `bytesMax` bytes and at least one; they stay in the ring until they are released. */
  peek(bytesMax: number): readonly LogRecord[] {
    const records: LogRecord[] = []
    const end = Atomics.load(this.#cells, head)
    let position = Atomics.load(this.#cells, tail)
    let byteCount = 0
    while (position !== end && byteCount < bytesMax) {
      const header = this.#copyOut(position, headerBytes).readUInt32LE()
      const bytes = this.#copyOut(position + headerBytes, header >>> 2)
      records.push({ kind: kinds[header & 3] ?? 'entry', bytes })
      byteCount += bytes.length
      position = (position + headerBytes + bytes.length) | 0
    }
    return records
  }

  /** Gives back the room of the first of what `peek` gave. */
  release(records: readonly LogRecord[]): void {
    const byteCount = records.reduce((sum, { bytes }) => sum + headerBytes + bytes.length, 0)
    Atomics.add(this.#cells, tail, byteCount)
    Atomics.notify(this.#cells, tail)
  }

  /** Counts entries that were taken out and reached no stream. */
  countDropped(count: number): void {
    Atomics.add(this.#cells, dropped, count)
  }

  /** The count since it was last asked for. */
  takeDropped(): number {
    return Atomics.exchange(this.#cells, dropped, 0)
  }

  /** The reader's thread says that it runs. */
  beginReading(): void {
    Atomics.store(this.#cells, reading, 1)
    Atomics.notify(this.#cells, reading)
  }

  /** Waits in the writer's thread until the reader runs, which takes a moment after its start and more on a busy machine. */
  waitForReader(timeoutMs: number): void {
    Atomics.wait(this.#cells, reading, 0, timeoutMs)
  }

  /** Waits in the reader's thread until there is a record. */
  waitForRecord(): void {
    const end = Atomics.load(this.#cells, tail)
    // The head is where the tail is: there is nothing. The wait ends at once when it has moved meanwhile.
    while (Atomics.load(this.#cells, head) === end) Atomics.wait(this.#cells, head, end)
  }

  /** Pauses in the reader's thread, unless a writer waits for the ring to be empty. */
  pause(pauseMs: number): void {
    Atomics.wait(this.#cells, hurried, 0, pauseMs)
  }

  /** Sleeps in the reader's thread. */
  sleep(sleepMs: number): void {
    Atomics.wait(this.#cells, still, 0, sleepMs)
  }

  /** Waits in the writer's thread until all records have reached their streams; false when that takes longer. */
  waitUntilEmpty(timeoutMs: number, now: () => number): boolean {
    const endMs = now() + timeoutMs
    Atomics.store(this.#cells, hurried, 1)
    Atomics.notify(this.#cells, hurried)
    try {
      for (;;) {
        const position = Atomics.load(this.#cells, tail)
        if (position === Atomics.load(this.#cells, head)) return true
        const leftMs = endMs - now()
        if (leftMs <= 0) return false
        Atomics.wait(this.#cells, tail, position, leftMs)
      }
    } finally {
      Atomics.store(this.#cells, hurried, 0)
    }
  }

  #used(headPosition: number): number {
    return (headPosition - Atomics.load(this.#cells, tail)) >>> 0
  }

  #copyIn(source: Uint8Array, position: number): void {
    const offset = (position >>> 0) % capacityBytes
    const firstBytes = Math.min(source.length, capacityBytes - offset)
    this.#bytes.set(source.subarray(0, firstBytes), offset)
    this.#bytes.set(source.subarray(firstBytes), 0)
  }

  #copyOut(position: number, byteCount: number): Buffer {
    const offset = (position >>> 0) % capacityBytes
    const firstBytes = Math.min(byteCount, capacityBytes - offset)
    const copy = Buffer.alloc(byteCount)
    this.#bytes.copy(copy, 0, offset, offset + firstBytes)
    this.#bytes.copy(copy, firstBytes, 0, byteCount - firstBytes)
    return copy
  }
}
