/**
 * The host of the scan kernel (`kernel/`, WebAssembly): its memory, its calls, and what it asks for in the middle of one.
 * Each thread that scans has one of its own.
 */
import { isUtf8 } from 'node:buffer'
import { assert } from '../../shared/assert.ts'
import { localToUtcSeconds } from '../coercion/zone-offset.ts'
import { kernelModule } from '../kernel-module.ts'
import { KernelMemory } from './kernel-memory.ts'

/** What the kernel exports. Addresses and offsets are bytes; see `kernel/index.ts`. */
interface KernelExports {
  heapStart(): number
  scanNdjson(plan: number, frame: number, start: number, end: number): number
  scanCsv(plan: number, frame: number, start: number, end: number): number
  writeSurveyedTexts(row: number): void
  fillTexts(quarantine: number): void
  openCsvBoundary(delimiter: number, escapeByte: number): void
  advanceCsv(start: number, end: number, state: number): number
  csvState(): number
  initialCsvState(): number
  skipValue(at: number): number
  unescapeInto(target: number, start: number, end: number): number
}

/** What one scan leaves to its host; offsets are counted from the frame's beginning. */
export interface ScanHost {
  /** Makes room for more rows in every column. */
  growRows(rowCount: number): void
  /** Reads one JSON value by the exact path; false when it does not fit. */
  readValueExactly(position: number, start: number, end: number): boolean
  /** Reads one CSV cell by the exact path; gives its end, or -1 when it does not fit. */
  readCellExactly(position: number, start: number): number
}

/** Bytes behind a frame that the kernel may read ahead. */
const slackBytes = 64
const scratchBytesMin = 4_096

/** A column, as far as the kernel asks for room in it. */
interface GrowingColumn {
  grow(rowCount: number): void
  growBytes(byteCount: number): void
}

export class ScanKernel {
  readonly memory = new KernelMemory()
  readonly exports: KernelExports
  readonly #columns = new Map<number, GrowingColumn>()
  #nextColumnId = 1
  /** Time zones by number; 0 is UTC. */
  readonly #zones: string[] = ['UTC']
  #frameAt = 0
  #frameCapacity = 0
  #frame: Uint8Array = new Uint8Array(0)
  #scratchAt = 0
  #scratchCapacity = 0
  #host: ScanHost | undefined

  constructor() {
    const instance = new WebAssembly.Instance(kernelModule(), {
      env: { memory: this.memory.memory },
      host: this.#imports(),
    })
    // The compiler has checked the exports against `kernel/index.ts`; WebAssembly itself has no types for them.
    this.exports = instance.exports as unknown as KernelExports
    this.memory.open(this.exports.heapStart())
  }

  /** Copies a frame into the kernel's memory, where it stays until the next one. */
  loadFrame(frame: Uint8Array): void {
    if (frame.length + slackBytes > this.#frameCapacity) {
      if (this.#frameCapacity > 0) this.memory.release(this.#frameAt, this.#frameCapacity)
      this.#frameCapacity = frame.length + slackBytes
      this.#frameAt = this.memory.allocate(this.#frameCapacity)
    }
    this.memory.bytes.set(frame, this.#frameAt)
    this.#frame = frame
  }

  /**
   * Reads records of the frame from offset `start` on, up to `end`; gives the offset of the record at which it stopped because
   * it is for the exact path, with what it found in the plan's cells, or `end`.
   */
  scan(
    format: 'csv' | 'ndjson',
    plan: number,
    range: { readonly start: number; readonly end: number },
    host: ScanHost,
  ): number {
    this.#host = host
    const frameAt = this.#frameAt
    const start = frameAt + range.start
    const end = frameAt + range.end
    const scanRecords = format === 'csv' ? this.exports.scanCsv : this.exports.scanNdjson
    return (scanRecords(plan, frameAt, start, end) >>> 0) - frameAt
  }

  /** The offset of an address in the frame. */
  offsetOf(address: number): number {
    return address - this.#frameAt
  }

  /** Gives the column a number by which the kernel can ask for room in it. */
  addColumn(column: GrowingColumn): number {
    const id = this.#nextColumnId
    this.#nextColumnId += 1
    this.#columns.set(id, column)
    return id
  }

  removeColumn(id: number): void {
    this.#columns.delete(id)
  }

  /** The number by which the kernel asks for a zone's time; null and UTC are 0. */
  zoneNumber(zone: string | null): number {
    if (zone === null) return 0
    const known = this.#zones.indexOf(zone)
    if (known > 0) return known
    return this.#zones.push(zone) - 1
  }

  #column(id: number): GrowingColumn {
    const column = this.#columns.get(id)
    assert(column !== undefined, 'the kernel knows columns of this kernel only')
    return column
  }

  #scanHost(): ScanHost {
    assert(this.#host !== undefined, 'the kernel asks only in the middle of a scan')
    return this.#host
  }

  #imports() {
    return {
      growColumn: (id: number, rowCount: number) => this.#column(id).grow(rowCount),
      growBytes: (id: number, byteCount: number) => this.#column(id).growBytes(byteCount),
      growRows: (rowCount: number) => this.#scanHost().growRows(rowCount),
      growScratch: (byteCount: number) => this.#growScratch(byteCount),
      readValueExactly: (position: number, start: number, end: number) =>
        this.#scanHost().readValueExactly(position, start, end) ? 1 : 0,
      readCellExactly: (position: number, start: number) => this.#scanHost().readCellExactly(position, start),
      readLongFloat: (at: number, byteCount: number) => Number(latin1(this.memory.bytes, at >>> 0, byteCount)),
      localToUtcSeconds: (zone: number, localSeconds: number) =>
        localToUtcSeconds(this.#zones[zone] ?? 'UTC', localSeconds),
      isUtf8: (start: number, end: number) => (isUtf8(this.#frame.subarray(start, end)) ? 1 : 0),
    }
  }

  #growScratch(byteCount: number): number {
    if (byteCount <= this.#scratchCapacity) return this.#scratchAt
    if (this.#scratchCapacity > 0) this.memory.release(this.#scratchAt, this.#scratchCapacity)
    this.#scratchCapacity = Math.max(scratchBytesMin, byteCount * 2)
    this.#scratchAt = this.memory.allocate(this.#scratchCapacity)
    return this.#scratchAt
  }
}

function latin1(bytes: Uint8Array, at: number, byteCount: number): string {
  let text = ''
  for (let offset = at; offset < at + byteCount; offset += 1) text += String.fromCharCode(bytes[offset] ?? 0)
  return text
}
