/** Thrift's compact protocol, as far as walking through a structure needs it. Raises RangeError where it is none. */

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

/** Reads the value of a field and says true, or leaves it to be passed over. */
type FieldReader = (field: number, type: number) => boolean

export class CompactReader {
  offset = 0
  private readonly bytes: Uint8Array
  private readonly view: DataView
  private depth = 0

  constructor(bytes: Uint8Array) {
    this.bytes = bytes
    this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  }

  readStruct(read: FieldReader): void {
    this.deeper(() => {
      let field = 0
      for (;;) {
        const header = this.readByte()
        if (header === 0) return
        const type = header & 0x0f
        field = header >> 4 === 0 ? this.readInteger() : field + (header >> 4)
        if (!read(field, type)) this.skip(type)
      }
    })
  }

  readListHeader(): { readonly count: number; readonly type: number } {
    const header = this.readByte()
    const count = header >> 4 === 15 ? this.readVarint() : header >> 4
    // Each element takes a byte or more.
    if (count > this.bytes.length - this.offset) throw new RangeError('a list is longer than the metadata')
    return { count, type: header & 0x0f }
  }

  /** A number of 16, 32 or 64 bits; beyond 2^53 it is near, which no size and no offset is. */
  readInteger(): number {
    const value = this.readVarint()
    return value % 2 === 0 ? value / 2 : -(value + 1) / 2
  }

  readText(): string {
    const byteCount = this.readVarint()
    const start = this.offset
    this.advance(byteCount)
    return Buffer.from(this.bytes.buffer, this.bytes.byteOffset + start, byteCount).toString()
  }

  private readVarint(): number {
    let value = 0
    for (let scale = 1; scale < 2 ** 70; scale *= 128) {
      const byte = this.readByte()
      value += (byte & 0x7f) * scale
      if (byte < 0x80) return value
    }
    throw new RangeError('a number has more than 64 bits')
  }

  private readByte(): number {
    const byte = this.view.getUint8(this.offset)
    this.offset += 1
    return byte
  }

  private advance(byteCount: number): void {
    if (byteCount > this.bytes.length - this.offset) throw new RangeError('it ends in a value')
    this.offset += byteCount
  }

  /** Passes over a value. */
  skip(type: number): void {
    switch (type) {
      case CompactType.true:
      case CompactType.false:
        return
      case CompactType.byte:
        this.advance(1)
        return
      case CompactType.i16:
      case CompactType.i32:
      case CompactType.i64:
        this.readVarint()
        return
      case CompactType.double:
        this.advance(8)
        return
      case CompactType.binary:
        this.advance(this.readVarint())
        return
      case CompactType.list:
      case CompactType.set:
        this.skipList()
        return
      case CompactType.map:
        this.skipMap()
        return
      case CompactType.struct:
        this.readStruct(() => false)
        return
      default:
        throw new RangeError(`there is no type ${type}`)
    }
  }

  private skipList(): void {
    const { count, type } = this.readListHeader()
    for (let index = 0; index < count; index += 1) this.skipElement(type)
  }

  private skipMap(): void {
    const count = this.readVarint()
    if (count > this.bytes.length - this.offset) throw new RangeError('a map is longer than the metadata')
    if (count === 0) return
    const types = this.readByte()
    for (let index = 0; index < count; index += 1) {
      this.skipElement(types >> 4)
      this.skipElement(types & 0x0f)
    }
  }

  /** In a list a boolean takes a byte; in a structure its type says it. */
  private skipElement(type: number): void {
    if (type === CompactType.true || type === CompactType.false) this.advance(1)
    else this.deeper(() => this.skip(type))
  }

  private deeper(read: () => void): void {
    this.depth += 1
    if (this.depth > depthMax) throw new RangeError('it is nested too deep')
    read()
    this.depth -= 1
  }
}

/** A structure that is written field by field, in the order of their numbers. */
export class StructWriter {
  private readonly pieces: Uint8Array[] = []
  private lastField = 0

  add(field: number, type: number, value: Uint8Array): void {
    const step = field - this.lastField
    const isNear = step > 0 && step <= 15
    this.pieces.push(
      isNear ? Uint8Array.of((step << 4) | type) : Buffer.concat([Uint8Array.of(type), varint(2 * field)]),
    )
    this.pieces.push(value)
    this.lastField = field
  }

  end(): Uint8Array {
    return Buffer.concat([...this.pieces, Uint8Array.of(0)])
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
