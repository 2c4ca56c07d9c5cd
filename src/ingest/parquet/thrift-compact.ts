/** Thrift's compact protocol, as far as walking through a structure needs it. Raises RangeError where it is none. */
import type { Pieces } from '../../shared/time-slices.ts'

export const CompactType = {
  true: 1,
  false: 2,
  byte: 3,
  i16: 4,
  i32: 5,
  i64: 6,
  double: 7,
  binary: 8,
  list: 9,
  set: 10,
  map: 11,
  struct: 12,
} as const

/** Deeper than the structures of Parquet are. */
const depthMax = 32

/** More fields than a structure of Parquet has. */
const fieldsMax = 100

/** Bytes that are read between two pauses: a fraction of a millisecond, whatever they hold. */
const bytesBetweenPauses = 4096

export interface Field {
  readonly number: number
  readonly type: number
}

/** Reads the value of a field and says true, or gives the work of reading it; false leaves it to be passed over. */
type FieldReader = (field: number, type: number) => Pieces<unknown> | boolean

/** What may be long is read in pieces, by generators that pause between them. */
export class CompactReader {
  offset = 0
  readonly #bytes: Uint8Array
  readonly #view: DataView
  #depth = 0
  #pauseAt = bytesBetweenPauses

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  }

  *readStruct(read: FieldReader): Pieces {
    for (let field = this.nextField(0); field !== null; field = this.nextField(field.number)) {
      const reading = read(field.number, field.type)
      if (reading === false) yield* this.skip(field.type)
      else if (reading !== true) yield* reading
      if (this.isPauseDue()) yield
    }
  }

  /** The header of the field behind the one of that number, 0 before the first; null at the end of the structure. */
  nextField(previous: number): Field | null {
    const header = this.#readByte()
    if (header === 0) return null
    return { number: header >> 4 === 0 ? this.readInteger() : previous + (header >> 4), type: header & 0x0f }
  }

  /** Whether others are to have their turn: said once for each piece that was read. */
  isPauseDue(): boolean {
    if (this.offset < this.#pauseAt) return false
    this.#pauseAt = this.offset + bytesBetweenPauses
    return true
  }

  readListHeader(): { readonly count: number; readonly type: number } {
    const header = this.#readByte()
    const count = header >> 4 === 15 ? this.#readVarint() : header >> 4
    // Each element takes a byte or more.
    if (count > this.#bytes.length - this.offset) throw new RangeError('a list is longer than the metadata')
    return { count, type: header & 0x0f }
  }

  /** A number of 16, 32 or 64 bits; beyond 2^53 it is near, which no size and no offset is. */
  readInteger(): number {
    const value = this.#readVarint()
    return value % 2 === 0 ? value / 2 : -(value + 1) / 2
  }

  readText(): string {
    const byteCount = this.#readVarint()
    const start = this.offset
    this.#advance(byteCount)
    return Buffer.from(this.#bytes.buffer, this.#bytes.byteOffset + start, byteCount).toString()
  }

  #readVarint(): number {
    let value = 0
    for (let scale = 1; scale < 2 ** 70; scale *= 128) {
      const byte = this.#readByte()
      value += (byte & 0x7f) * scale
      if (byte < 0x80) return value
    }
    throw new RangeError('a number has more than 64 bits')
  }

  #readByte(): number {
    const byte = this.#view.getUint8(this.offset)
    this.offset += 1
    return byte
  }

  #advance(byteCount: number): void {
    if (byteCount > this.#bytes.length - this.offset) throw new RangeError('it ends in a value')
    this.offset += byteCount
  }

  /** Passes over a value. */
  *skip(type: number): Pieces {
    switch (type) {
      case CompactType.true:
      case CompactType.false:
        return
      case CompactType.byte:
        this.#advance(1)
        return
      case CompactType.i16:
      case CompactType.i32:
      case CompactType.i64:
        this.#readVarint()
        return
      case CompactType.double:
        this.#advance(8)
        return
      case CompactType.binary:
        this.#advance(this.#readVarint())
        return
      case CompactType.list:
      case CompactType.set:
      case CompactType.map:
      case CompactType.struct:
        yield* this.#skipNested(type)
        return
      default:
        throw new RangeError(`there is no type ${type}`)
    }
  }

  *#skipNested(type: number): Pieces {
    this.#depth += 1
    if (this.#depth > depthMax) throw new RangeError('it is nested too deep')
    if (type === CompactType.struct) yield* this.readStruct(() => false)
    else if (type === CompactType.map) yield* this.#skipMap()
    else yield* this.#skipList()
    this.#depth -= 1
  }

  *#skipList(): Pieces {
    const { count, type } = this.readListHeader()
    for (let index = 0; index < count; index += 1) yield* this.#skipElement(type)
  }

  *#skipMap(): Pieces {
    const count = this.#readVarint()
    if (count > this.#bytes.length - this.offset) throw new RangeError('a map is longer than the metadata')
    if (count === 0) return
    const types = this.#readByte()
    for (let index = 0; index < count; index += 1) {
      yield* this.#skipElement(types >> 4)
      yield* this.#skipElement(types & 0x0f)
    }
  }

  /** In a list a boolean takes a byte; in a structure its type says it. */
  *#skipElement(type: number): Pieces {
    if (type === CompactType.true || type === CompactType.false) this.#advance(1)
    else yield* this.skip(type)
    if (this.isPauseDue()) yield
  }
}

/** A structure that is written field by field, in the order of their numbers. */
export class StructWriter {
  readonly #pieces: Uint8Array[] = []
  #lastField = 0

  add({ number: field, type }: Field, value: Uint8Array): void {
    // Fields of a byte each would be as many arrays.
    if (this.#pieces.length >= 2 * fieldsMax) throw new RangeError(`a structure has more than ${fieldsMax} fields`)
    const step = field - this.#lastField
    const isNear = step > 0 && step <= 15
    this.#pieces.push(
      isNear ? Uint8Array.of((step << 4) | type) : Buffer.concat([Uint8Array.of(type), varint(2 * field)]),
    )
    this.#pieces.push(value)
    this.#lastField = field
  }

  end(): Uint8Array {
    return Buffer.concat([...this.#pieces, Uint8Array.of(0)])
  }
}

/** A whole number below 2^53 without a sign; those with one are given as twice as much (zigzag). */
export function varint(value: number): Uint8Array {
  const bytes: number[] = []
  let rest = value
  while (rest >= 128) {
    bytes.push((rest % 128) | 0x80)
    rest = Math.floor(rest / 128)
  }
  bytes.push(rest)
  return Uint8Array.from(bytes)
}
