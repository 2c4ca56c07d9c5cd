/**
 * A column under construction, in the memory of a scan kernel, which writes the usual values while this class writes those
 * of the exact path.
 *
 * Invariants that both rely on:
 * - Everything is written at an index, never appended: a row that fails is undone by writing the next row at the same
 *   index. Bytes and list elements of row `i` begin where row `i - 1` ended (`offsets[i]`), so nothing is rolled back.
 * - `isNull` and `isMissing` are all zero beyond the rows written so far; whoever sets one for a row that then fails
 *   clears it again (`clearMarksFrom`).
 * - The arrays are views: they are made anew whenever the memory or the column grows, so nobody keeps one.
 */
import { assert } from '../../shared/assert.ts'
import type { Cell } from '../cell.types.ts'
import { columnRecordBytes, columnWords } from '../scan-kernel/kernel-layout.ts'
import type { ViewKeeper } from '../scan-kernel/kernel-memory.ts'
import type { ScanKernel } from '../scan-kernel/scan-kernel.ts'

/** How a column keeps its values while it grows; the encoder narrows them to the part's own widths. */
export type Storage = 'int32' | 'uint32' | 'float64' | 'words' | 'utf8' | 'fixed16' | 'list' | 'map' | 'struct'

/** Bytes of one value; 0 where rows are told apart by offsets or by the children. */
const valueBytes: Readonly<Record<Storage, number>> = {
  int32: 4,
  uint32: 4,
  float64: 8,
  words: 8,
  fixed16: 16,
  utf8: 0,
  list: 0,
  map: 0,
  struct: 0,
}
const storagesWithOffsets: readonly Storage[] = ['utf8', 'list', 'map']

const initialRowCapacity = 1024
const initialByteCapacity = 16 * 1024
const shortTextLength = 128
const noInt32 = new Int32Array(0)
const noUint32 = new Uint32Array(0)
const noFloat64 = new Float64Array(0)
const noBytes = new Uint8Array(0)
const textEncoder = new TextEncoder()

export class Column implements ViewKeeper {
  readonly storage: Storage
  /** Elements of a list, `[key, value]` of a map, fields of a tuple. */
  readonly children: readonly Column[]
  /** Address of the record by which the kernel knows this column. */
  readonly pointer: number
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
  readonly #kernel: ScanKernel
  /** What a DateTime64 cell's ticks are multiplied with to get the part's unit (ms, µs or ns); 1 for all else. */
  readonly #tickFactor: bigint

  constructor(kernel: ScanKernel, storage: Storage, children: readonly Column[] = [], tickFactor = 1n) {
    this.#kernel = kernel
    this.storage = storage
    this.children = children
    this.#tickFactor = tickFactor
    const { memory } = kernel
    this.pointer = memory.allocate(columnRecordBytes)
    memory.bytes.fill(0, this.pointer, this.pointer + columnRecordBytes)
    memory.addKeeper(this)
    this.write('id', kernel.addColumn(this))
    this.write('isStruct', storage === 'struct' ? 1 : 0)
    this.grow(initialRowCapacity)
    if (this.#hasOffsets) this.offsets[0] = 0
    if (storage === 'utf8') this.growBytes(initialByteCapacity)
  }

  /** Gives all memory back; the column is not to be used again. */
  free(): void {
    const { memory } = this.#kernel
    memory.removeKeeper(this)
    this.#kernel.removeColumn(this.#read('id'))
    for (const { address, byteCount } of this.#buffers()) memory.release(address, byteCount)
    memory.release(this.pointer, columnRecordBytes)
    for (const child of this.children) child.free()
  }

  /** Rows that fit before `grow` must be called. */
  get capacity(): number {
    return this.#read('capacity')
  }

  get nullCount(): number {
    return this.#read('nullCount')
  }

  get missingCount(): number {
    return this.#read('missingCount')
  }

  get #hasOffsets(): boolean {
    return storagesWithOffsets.includes(this.storage)
  }

  /** Makes room for at least `rowCount` rows. Existing rows stay. */
  grow(rowCount: number): void {
    const old = this.capacity
    if (rowCount <= old) return
    const capacity = Math.max(rowCount, old * 2)
    const width = valueBytes[this.storage]
    this.#enlarge('isNull', old, capacity)
    this.#enlarge('isMissing', old, capacity)
    if (width > 0) this.#enlarge('values', old * width, capacity * width)
    if (this.#hasOffsets) this.#enlarge('offsets', old === 0 ? 0 : (old + 1) * 4, (capacity + 1) * 4)
    this.write('capacity', capacity)
    this.bind()
    this.isNull.fill(0, old)
    this.isMissing.fill(0, old)
    if (this.storage === 'struct') for (const child of this.children) child.grow(capacity)
  }

  /** Makes room for `byteCount` bytes of text in all, keeping what is there. */
  growBytes(byteCount: number): void {
    const old = this.#read('byteCapacity')
    if (byteCount <= old) return
    const capacity = Math.max(byteCount, old * 2)
    this.#enlarge('bytes', old, capacity)
    this.write('byteCapacity', capacity)
    this.bind()
  }

  bind(): void {
    const { buffer } = this.#kernel.memory.memory
    const capacity = this.capacity
    const values = this.#read('values')
    this.isNull = new Uint8Array(buffer, this.#read('isNull'), capacity)
    this.isMissing = new Uint8Array(buffer, this.#read('isMissing'), capacity)
    if (this.#hasOffsets && capacity > 0) this.offsets = new Int32Array(buffer, this.#read('offsets'), capacity + 1)
    switch (this.storage) {
      case 'int32':
        this.int32 = new Int32Array(buffer, values, capacity)
        break
      case 'uint32':
        this.uint32 = new Uint32Array(buffer, values, capacity)
        break
      case 'float64':
        this.float64 = new Float64Array(buffer, values, capacity)
        break
      case 'words':
        this.words = new Int32Array(buffer, values, capacity * 2)
        break
      case 'fixed16':
        this.bytes = new Uint8Array(buffer, values, capacity * 16)
        break
      case 'utf8':
        this.bytes = new Uint8Array(buffer, this.#read('bytes'), this.#read('byteCapacity'))
        break
      case 'list':
      case 'map':
      case 'struct':
        break
    }
  }

  /** Sets a field of the record that the kernel reads. */
  write(field: keyof typeof columnWords, value: number): void {
    this.#kernel.memory.int32[this.pointer / 4 + columnWords[field]] = value
  }

  #read(field: keyof typeof columnWords): number {
    // Addresses reach beyond 2^31, and no field is negative.
    return (this.#kernel.memory.int32[this.pointer / 4 + columnWords[field]] ?? 0) >>> 0
  }

  #enlarge(field: 'bytes' | 'isMissing' | 'isNull' | 'offsets' | 'values', old: number, byteCount: number): void {
    const { memory } = this.#kernel
    const larger = memory.allocate(byteCount)
    const address = this.#read(field)
    if (old > 0) {
      memory.bytes.copyWithin(larger, address, address + old)
      memory.release(address, old)
    }
    this.write(field, larger)
  }

  #buffers(): readonly { readonly address: number; readonly byteCount: number }[] {
    const capacity = this.capacity
    const all = [
      { address: this.#read('isNull'), byteCount: capacity },
      { address: this.#read('isMissing'), byteCount: capacity },
      { address: this.#read('values'), byteCount: capacity * valueBytes[this.storage] },
      { address: this.#read('offsets'), byteCount: this.#hasOffsets ? (capacity + 1) * 4 : 0 },
      { address: this.#read('bytes'), byteCount: this.#read('byteCapacity') },
    ]
    return all.filter(({ byteCount }) => byteCount > 0)
  }

  /** Bytes of all buffers, used or not. */
  get byteSize(): number {
    const inChildren = this.children.reduce((total, child) => total + child.byteSize, 0)
    return this.#buffers().reduce((total, { byteCount }) => total + byteCount, inChildren)
  }

  /** Empties the column for the next part; buffers stay for reuse. */
  reset(): void {
    this.clearMarksFrom(0)
  }

  /** The value at `index` is NULL. */
  writeNull(index: number): void {
    if (this.isNull[index] === 0) {
      this.isNull[index] = 1
      this.write('nullCount', this.nullCount + 1)
      this.write('markedEnd', Math.max(this.#read('markedEnd'), index + 1))
    }
    this.#writeEmpty(index)
  }

  /** The value at `index` is the column's DEFAULT: NULL in the part, with a mark that says so. */
  writeMissing(index: number): void {
    if (this.isMissing[index] === 0) {
      this.isMissing[index] = 1
      this.write('missingCount', this.missingCount + 1)
    }
    this.writeNull(index)
  }

  /** Takes back the marks of row `index` and of all that lies beyond, so that another row can stand in its place. */
  clearMarksFrom(index: number): void {
    const markedEnd = this.#read('markedEnd')
    if (index < markedEnd) this.#clearMarks(index, markedEnd)
    if (this.children.length === 0) return
    const childIndex = this.storage === 'struct' ? index : (this.offsets[index] ?? 0)
    for (const child of this.children) child.clearMarksFrom(childIndex)
  }

  #clearMarks(start: number, end: number): void {
    const { isNull, isMissing } = this
    let nulls = 0
    let missing = 0
    // From the first row on there are only marks to be cleared, however many.
    for (let row = start; row < end && start > 0; row += 1) {
      nulls += isNull[row] ?? 0
      missing += isMissing[row] ?? 0
    }
    this.write('nullCount', start === 0 ? 0 : this.nullCount - nulls)
    this.write('missingCount', start === 0 ? 0 : this.missingCount - missing)
    this.write('markedEnd', start)
    isNull.fill(0, start, end)
    isMissing.fill(0, start, end)
  }

  /** Nothing is written at `index`, and the next row begins where this one does. */
  #writeEmpty(index: number): void {
    if (this.storage === 'utf8' || this.storage === 'list' || this.storage === 'map') {
      this.offsets[index + 1] = this.offsets[index] ?? 0
    }
    if (this.storage === 'struct') for (const child of this.children) child.writeNull(index)
  }

  /** Writes text at `index` as UTF-8; lone surrogates become U+FFFD. */
  writeText(index: number, text: string): void {
    const start = this.offsets[index] ?? 0
    // A UTF-16 unit is at most three bytes of UTF-8.
    const bytesMax = start + text.length * 3
    if (bytesMax > this.bytes.length) this.growBytes(bytesMax)
    if (text.length <= shortTextLength && this.#writeAscii(start, text)) {
      this.offsets[index + 1] = start + text.length
      return
    }
    const { written } = textEncoder.encodeInto(text, this.bytes.subarray(start))
    this.offsets[index + 1] = start + written
  }

  /** Short plain text, for which a call of the native encoder costs more than the text; false for any other. */
  #writeAscii(start: number, text: string): boolean {
    const { bytes } = this
    for (let position = 0; position < text.length; position += 1) {
      const unit = text.charCodeAt(position)
      if (unit > 0x7f) return false
      bytes[start + position] = unit
    }
    return true
  }

  /** Writes pieces of a text, one after the other, at `index`. */
  writePieces(index: number, pieces: readonly Uint8Array[]): void {
    let end = this.offsets[index] ?? 0
    for (const piece of pieces) {
      this.growBytes(end + piece.length)
      this.bytes.set(piece, end)
      end += piece.length
    }
    this.offsets[index + 1] = end
  }

  /** Writes the 16 bytes of a UUID given as its 36 characters. */
  #writeUuid(index: number, text: string): void {
    const digits = text.replaceAll('-', '')
    for (let byte = 0; byte < 16; byte += 1) {
      this.bytes[index * 16 + byte] = Number.parseInt(digits.slice(byte * 2, byte * 2 + 2), 16)
    }
  }

  #writeBigint(index: number, cell: bigint): void {
    const value = cell * this.#tickFactor
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
      this.#writeNumber(index, cell)
    } else if (typeof cell === 'bigint') {
      this.#writeBigint(index, cell)
    } else if (typeof cell === 'string') {
      if (this.storage === 'fixed16') this.#writeUuid(index, cell)
      else this.writeText(index, cell)
    } else {
      this.#writeElements(index, cell)
    }
  }

  #writeNumber(index: number, value: number): void {
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

  #writeElements(index: number, cells: readonly Cell[]): void {
    if (this.storage === 'struct') {
      for (const [field, child] of this.children.entries()) child.writeCell(index, cells[field] ?? null)
      return
    }
    const start = this.offsets[index] ?? 0
    for (const child of this.children) child.grow(start + cells.length)
    for (const [position, cell] of cells.entries()) this.#writeElement(start + position, cell)
    this.offsets[index + 1] = start + cells.length
  }

  #writeElement(at: number, cell: Cell): void {
    if (this.storage === 'list') {
      this.children[0]?.writeCell(at, cell)
      return
    }
    assert(Array.isArray(cell) && cell.length === 2, 'a map holds pairs')
    for (const [side, child] of this.children.entries()) child.writeCell(at, cell[side] ?? null)
  }
}
