/**
 * A column under construction.
 *
 * Invariants that the scanners rely on:
 * - Everything is written at an index, never appended: a row that fails is undone by writing the next row at the same
 *   index. Bytes and list elements of row `i` begin where row `i - 1` ended (`offsets[i]`), so nothing is rolled back.
 * - `isNull` and `isMissing` are all zero beyond the rows written so far; whoever sets one for a row that then fails
 *   clears it again (`clearMarksFrom`).
 * - One hidden class for every kind of column: arrays that a kind does not use are empty. That keeps the scanners'
 *   property reads monomorphic.
 */
import { assert } from '../shared/assert.ts'
import type { Cell } from './cell.types.ts'

/** How a column keeps its values while it grows; `seal` narrows them to the part's own widths. */
export type Storage = 'int32' | 'uint32' | 'float64' | 'words' | 'utf8' | 'fixed16' | 'list' | 'map' | 'struct'

const initialRowCapacity = 1024
const initialByteCapacity = 16 * 1024
/** Free bytes from which on a text mostly fits. */
const textRoomBytes = 1024
const shortTextLength = 64
const noInt32 = new Int32Array(0)
const noUint32 = new Uint32Array(0)
const noFloat64 = new Float64Array(0)
const noBytes = new Uint8Array(0)
const textEncoder = new TextEncoder()

export class Column {
  readonly storage: Storage
  /** Elements of a list, `[key, value]` of a map, fields of a tuple. */
  readonly children: readonly Column[]
  /** Rows that fit before `grow` must be called. */
  capacity = 0
  int32 = noInt32
  uint32 = noUint32
  float64 = noFloat64
  /** 64-bit values as two 32-bit words, low word first. */
  words = noInt32
  /** Row `i` of text is `bytes[offsets[i]…offsets[i + 1]]`; of a list it is elements `offsets[i]…offsets[i + 1]`. */
  offsets = noInt32
  bytes = noBytes
  isNull = noBytes
  isMissing = noBytes
  nullCount = 0
  missingCount = 0
  /** No row at or beyond this index is marked. */
  private markedEnd = 0
  /** What a DateTime64 cell's ticks are multiplied with to get the part's unit (ms, µs or ns); 1 for all else. */
  private readonly tickFactor: bigint

  constructor(storage: Storage, children: readonly Column[] = [], tickFactor = 1n) {
    this.storage = storage
    this.children = children
    this.tickFactor = tickFactor
    this.grow(initialRowCapacity)
  }

  /** Makes room for at least `rowCount` rows. Existing rows stay. */
  grow(rowCount: number): void {
    if (rowCount <= this.capacity) return
    const capacity = Math.max(rowCount, this.capacity * 2)
    this.isNull = enlarged(this.isNull, new Uint8Array(capacity))
    this.isMissing = enlarged(this.isMissing, new Uint8Array(capacity))
    switch (this.storage) {
      case 'int32':
        this.int32 = enlarged(this.int32, new Int32Array(capacity))
        break
      case 'uint32':
        this.uint32 = enlarged(this.uint32, new Uint32Array(capacity))
        break
      case 'float64':
        this.float64 = enlarged(this.float64, new Float64Array(capacity))
        break
      case 'words':
        this.words = enlarged(this.words, new Int32Array(capacity * 2))
        break
      case 'utf8':
        this.offsets = enlarged(this.offsets, new Int32Array(capacity + 1))
        this.growBytes(initialByteCapacity)
        break
      case 'fixed16':
        this.bytes = enlarged(this.bytes, new Uint8Array(capacity * 16))
        break
      case 'list':
      case 'map':
        this.offsets = enlarged(this.offsets, new Int32Array(capacity + 1))
        break
      case 'struct':
        for (const child of this.children) child.grow(capacity)
        break
    }
    this.capacity = capacity
  }

  /** Makes room for `byteCount` bytes of text in all, keeping what is there. */
  growBytes(byteCount: number): void {
    if (byteCount <= this.bytes.length) return
    this.bytes = enlarged(this.bytes, new Uint8Array(Math.max(byteCount, this.bytes.length * 2)))
  }

  /** Bytes of all buffers, used or not. */
  get byteSize(): number {
    const own = [
      this.int32,
      this.uint32,
      this.float64,
      this.words,
      this.offsets,
      this.bytes,
      this.isNull,
      this.isMissing,
    ]
    const inChildren = this.children.reduce((total, child) => total + child.byteSize, 0)
    return own.reduce((total, buffer) => total + buffer.byteLength, inChildren)
  }

  /** Empties the column for the next block; buffers stay for reuse. */
  reset(): void {
    this.clearMarksFrom(0)
  }

  /** The value at `index` is NULL. */
  writeNull(index: number): void {
    if (this.isNull[index] === 0) {
      this.isNull[index] = 1
      this.nullCount += 1
      this.markedEnd = Math.max(this.markedEnd, index + 1)
    }
    this.writeEmpty(index)
  }

  /** The value at `index` is the column's DEFAULT: NULL in the part, with a mark that says so. */
  writeMissing(index: number): void {
    if (this.isMissing[index] === 0) {
      this.isMissing[index] = 1
      this.missingCount += 1
    }
    this.writeNull(index)
  }

  /** Takes back the marks of row `index` and of all that lies beyond, so that another row can stand in its place. */
  clearMarksFrom(index: number): void {
    for (let row = index; row < this.markedEnd; row += 1) {
      this.nullCount -= this.isNull[row] ?? 0
      this.missingCount -= this.isMissing[row] ?? 0
    }
    this.isNull.fill(0, index, Math.max(index, this.markedEnd))
    this.isMissing.fill(0, index, Math.max(index, this.markedEnd))
    this.markedEnd = Math.min(this.markedEnd, index)
    const childIndex = this.storage === 'struct' ? index : (this.offsets[index] ?? 0)
    for (const child of this.children) child.clearMarksFrom(childIndex)
  }

  /** Nothing is written at `index`, and the next row begins where this one does. */
  private writeEmpty(index: number): void {
    if (this.storage === 'utf8' || this.storage === 'list' || this.storage === 'map') {
      this.offsets[index + 1] = this.offsets[index] ?? 0
    }
    if (this.storage === 'struct') for (const child of this.children) child.writeNull(index)
  }

  /**
   * Ends the text of row `index` at byte `end`, and sees to room for the next one. False when the text did not fit: stores
   * past the end of a typed array do nothing, so it is to be written once more, now that there is room.
   */
  endText(index: number, end: number): boolean {
    const { length } = this.bytes
    if (end + textRoomBytes > length) this.growBytes(end + textRoomBytes)
    this.offsets[index + 1] = end
    return end <= length
  }

  /** Writes text at `index` as UTF-8; lone surrogates become U+FFFD. */
  writeText(index: number, text: string): void {
    const start = this.offsets[index] ?? 0
    // A UTF-16 unit is at most three bytes of UTF-8.
    this.growBytes(start + text.length * 3)
    if (text.length <= shortTextLength && this.writeAscii(start, text)) {
      this.offsets[index + 1] = start + text.length
      return
    }
    const { written } = textEncoder.encodeInto(text, this.bytes.subarray(start))
    this.offsets[index + 1] = start + written
  }

  /** Short plain text, for which a call of the native encoder costs more than the text; false for any other. */
  private writeAscii(start: number, text: string): boolean {
    const { bytes } = this
    for (let position = 0; position < text.length; position += 1) {
      const unit = text.charCodeAt(position)
      if (unit > 0x7f) return false
      bytes[start + position] = unit
    }
    return true
  }

  /** Writes bytes `start…end` of `source` at `index`. */
  writeBytes(index: number, source: Uint8Array, range: { readonly start: number; readonly end: number }): void {
    const at = this.offsets[index] ?? 0
    const byteCount = range.end - range.start
    this.growBytes(at + byteCount)
    this.bytes.set(source.subarray(range.start, range.end), at)
    this.offsets[index + 1] = at + byteCount
  }

  /** Writes the 16 bytes of a UUID given as its 36 characters. */
  private writeUuid(index: number, text: string): void {
    const digits = text.replaceAll('-', '')
    for (let byte = 0; byte < 16; byte += 1) {
      this.bytes[index * 16 + byte] = Number.parseInt(digits.slice(byte * 2, byte * 2 + 2), 16)
    }
  }

  private writeBigint(index: number, cell: bigint): void {
    const value = cell * this.tickFactor
    this.words[index * 2] = Number(BigInt.asIntN(32, value))
    this.words[index * 2 + 1] = Number(BigInt.asIntN(32, value >> 32n))
  }

  /**
   * Writes a judged value; the exact path beside the scanners' own writes.
   * Precondition: the cell has the form that the column's storage keeps (see `Cell`).
   */
  writeCell(index: number, cell: Cell): void {
    if (cell === null) {
      this.writeNull(index)
    } else if (typeof cell === 'number') {
      this.writeNumber(index, cell)
    } else if (typeof cell === 'bigint') {
      this.writeBigint(index, cell)
    } else if (typeof cell === 'string') {
      if (this.storage === 'fixed16') this.writeUuid(index, cell)
      else this.writeText(index, cell)
    } else {
      this.writeElements(index, cell)
    }
  }

  private writeNumber(index: number, value: number): void {
    switch (this.storage) {
      case 'int32':
        this.int32[index] = value
        break
      case 'uint32':
        this.uint32[index] = value
        break
      default:
        assert(this.storage === 'float64', `a number does not fit ${this.storage}`)
        this.float64[index] = value
    }
  }

  private writeElements(index: number, cells: readonly Cell[]): void {
    if (this.storage === 'struct') {
      for (const [field, child] of this.children.entries()) child.writeCell(index, cells[field] ?? null)
      return
    }
    const start = this.offsets[index] ?? 0
    for (const child of this.children) child.grow(start + cells.length)
    for (const [position, cell] of cells.entries()) this.writeElement(start + position, cell)
    this.offsets[index + 1] = start + cells.length
  }

  private writeElement(at: number, cell: Cell): void {
    if (this.storage === 'list') {
      this.children[0]?.writeCell(at, cell)
      return
    }
    assert(Array.isArray(cell) && cell.length === 2, 'a map holds pairs')
    for (const [side, child] of this.children.entries()) child.writeCell(at, cell[side] ?? null)
  }
}

function enlarged<Values extends Uint8Array | Int32Array | Uint32Array | Float64Array>(
  old: Values,
  larger: Values,
): Values {
  larger.set(old)
  return larger
}
