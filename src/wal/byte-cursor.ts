import { WalFormatError } from './wal-errors.ts'

/** Puts small values behind one another: numbers little-endian, texts and bytes behind their length in one byte. */
export class ByteWriter {
  #target = Buffer.allocUnsafe(128)
  #length = 0

  bytes(value: Uint8Array): this {
    this.#reserve(value.length)
    this.#target.set(value, this.#length)
    this.#length += value.length
    return this
  }

  byte(value: number): this {
    this.#reserve(1)
    this.#length = this.#target.writeUInt8(value, this.#length)
    return this
  }

  uint32(value: number): this {
    this.#reserve(4)
    this.#length = this.#target.writeUInt32LE(value, this.#length)
    return this
  }

  /** Any whole number from 0 to 2^53 - 1: seven bits a byte, lowest first, the eighth says that more follow. */
  varint(value: number): this {
    this.#reserve(8)
    let rest = value
    while (rest >= 0x80) {
      this.#length = this.#target.writeUInt8((rest % 0x80) + 0x80, this.#length)
      rest = Math.floor(rest / 0x80)
    }
    this.#length = this.#target.writeUInt8(rest, this.#length)
    return this
  }

  /** At most 255 bytes. */
  short(value: Uint8Array): this {
    return this.byte(value.length).bytes(value)
  }

  text(value: string): this {
    return this.short(Buffer.from(value))
  }

  /** A copy of its own, exactly sized. */
  finish(): Buffer {
    return Buffer.from(this.#target.subarray(0, this.#length))
  }

  #reserve(byteCount: number): void {
    if (this.#length + byteCount <= this.#target.length) return
    const larger = Buffer.allocUnsafe(Math.max(this.#target.length * 2, this.#length + byteCount))
    larger.set(this.#target.subarray(0, this.#length))
    this.#target = larger
  }
}

/** Reads what ByteWriter wrote. @throws WalFormatError when the bytes end early or late, or hold no such value. */
export class ByteReader {
  readonly #source: Buffer
  #offset = 0

  constructor(source: Uint8Array) {
    this.#source = Buffer.from(source.buffer, source.byteOffset, source.length)
  }

  /** A view, not a copy. */
  bytes(byteCount: number): Buffer {
    const end = this.#offset + byteCount
    if (end > this.#source.length) throw new WalFormatError('a value of the log ends too early')
    const part = this.#source.subarray(this.#offset, end)
    this.#offset = end
    return part
  }

  byte(): number {
    return this.bytes(1).readUInt8()
  }

  uint32(): number {
    return this.bytes(4).readUInt32LE()
  }

  varint(): number {
    let value = 0
    let unit = 1
    for (;;) {
      const byte = this.byte()
      value += (byte & 0x7f) * unit
      if (!Number.isSafeInteger(value)) throw new WalFormatError('a value of the log is over 2^53')
      if (byte < 0x80) return value
      unit *= 0x80
    }
  }

  short(): Buffer {
    return this.bytes(this.byte())
  }

  text(): string {
    return this.short().toString('utf8')
  }

  flag(): boolean {
    const value = this.byte()
    if (value > 1) throw new WalFormatError(`the log says ${value} where 0 or 1 is meant`)
    return value === 1
  }

  get isAtEnd(): boolean {
    return this.#offset === this.#source.length
  }

  /** States that nothing is left. */
  end(): void {
    if (!this.isAtEnd) throw new WalFormatError('a value of the log is longer than this version knows')
  }
}
