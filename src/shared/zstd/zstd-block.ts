/**
 * Unpacks a compressed block of zstd (RFC 8878 §3.1.1.3). What it costs is bound by what it gives, 128 KiB at most, whatever
 * is written in it: a block of twenty bytes may ask for gigabytes of copies, and stops at the first one too many.
 */
import {
  BackwardBits,
  bitsAt,
  constantTable,
  corrupt,
  type FseTable,
  fseTable,
  type HuffmanTable,
  readDistribution,
  readHuffmanTable,
  readSymbols,
} from './zstd-entropy.ts'
import { blockBytesMax } from './zstd-headers.ts'

// Code: what its bits are added to, and how many bits.
const lengthBases = new Int32Array([
  0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 18, 20, 22, 24, 28, 32, 40, 48, 64, 128, 256, 512, 1024,
  2048, 4096, 8192, 16384, 32768, 65536,
])
const lengthBits = new Uint8Array([
  0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 3, 3, 4, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16,
])
const matchBases = new Int32Array([
  3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33,
  34, 35, 37, 39, 41, 43, 47, 51, 59, 67, 83, 99, 131, 259, 515, 1027, 2051, 4099, 8195, 16387, 32771, 65539,
])
const matchBits = new Uint8Array([
  0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 3,
  3, 4, 4, 5, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16,
])

interface TableKind {
  readonly accuracyMax: number
  readonly symbolsMax: number
  readonly usual: FseTable
}

const kinds: readonly [TableKind, TableKind, TableKind] = [
  {
    accuracyMax: 9,
    symbolsMax: lengthBases.length,
    usual: fseTable({
      accuracy: 6,
      counts: [
        4, 3, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 1, 1, 1, 2, 2, 2, 2, 2, 2, 2, 2, 2, 3, 2, 1, 1, 1, 1, 1, -1, -1, -1, -1,
      ],
    }),
  },
  {
    accuracyMax: 8,
    symbolsMax: 32,
    usual: fseTable({
      accuracy: 5,
      counts: [1, 1, 1, 1, 1, 1, 2, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, -1, -1, -1, -1, -1],
    }),
  },
  {
    accuracyMax: 9,
    symbolsMax: matchBases.length,
    usual: fseTable({
      accuracy: 6,
      counts: [
        1, 4, 3, 2, 2, 2, 2, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
        1, 1, 1, 1, 1, 1, 1, 1, 1, -1, -1, -1, -1, -1, -1, -1,
      ],
    }),
  },
]

/** Where a block is written: behind what its matches may copy from. */
export interface BlockTarget {
  readonly bytes: Uint8Array
  /** Where the frame's bytes begin that are still there. */
  readonly historyStart: number
  readonly at: number
  readonly limit: number
}

/** What blocks of one frame leave to the next. */
export class BlockReader {
  #huffman: HuffmanTable | null = null
  #tables: readonly (FseTable | null)[] = [null, null, null]
  #offsets: readonly [number, number, number] = [1, 4, 8]
  #literals: Uint8Array = new Uint8Array(0)
  #ownLiterals: Uint8Array = new Uint8Array(0)
  #literalsEnd = 0

  /** Unpacks a block and gives the offset behind what it gave. `bytes` are the block, behind at least four others. */
  read(bytes: Uint8Array, range: { readonly start: number; readonly end: number }, target: BlockTarget): number {
    const { end } = range
    const sequencesStart = this.#readLiterals(bytes, range.start, end)
    if (sequencesStart >= end) throw corrupt('a block is cut off')
    const first = bytes[sequencesStart] as number
    let at = sequencesStart + 1
    let count = first
    if (first === 255) {
      count = (bytes[at] ?? 0) + ((bytes[at + 1] ?? 0) << 8) + 0x7f00
      at += 2
    } else if (first > 127) {
      count = ((first - 128) << 8) + (bytes[at] ?? 0)
      at += 1
    }
    if (count === 0) return this.#copyLiterals(target, 0, target.at)
    return this.#copySequences(this.#readTables(bytes, at, end), count, target)
  }

  #readLiterals(bytes: Uint8Array, start: number, end: number): number {
    const byte = (offset: number): number => bytes[start + offset] ?? 0
    const first = byte(0)
    const kind = first & 3
    const sizeFormat = (first >>> 2) & 3
    if (kind > 1) return this.#readPackedLiterals(bytes, { start, end, sizeFormat, isTreeless: kind === 3 })
    const headerBytes = sizeFormat === 1 ? 2 : sizeFormat === 3 ? 3 : 1
    const size =
      headerBytes === 1 ? first >>> 3 : (first >>> 4) | (byte(1) << 4) | (headerBytes === 3 ? byte(2) << 12 : 0)
    const from = start + headerBytes
    const to = from + (kind === 0 ? size : 1)
    if (size > blockBytesMax || to > end) throw corrupt('literals are cut off')
    if (kind === 0) this.#literals = bytes.subarray(from, to)
    else this.#room(size).fill(bytes[from] as number, 0, size)
    this.#literalsEnd = size
    return to
  }

  #readPackedLiterals(bytes: Uint8Array, section: LiteralsSection): number {
    const { start, end, sizeFormat } = section
    const byte = (offset: number): number => bytes[start + offset] ?? 0
    const [headerBytes, low] = packedLayouts[sizeFormat] ?? packedLayouts[0]
    const size = literalSize(byte, low)
    const packedSize =
      low === 10
        ? (byte(1) >>> 6) | (byte(2) << 2)
        : low === 14
          ? (byte(2) >>> 2) | (byte(3) << 6)
          : (byte(2) >>> 6) | (byte(3) << 2) | (byte(4) << 10)
    let from = start + headerBytes
    const to = from + packedSize
    if (size > blockBytesMax || to > end) throw corrupt('literals are cut off')
    if (!section.isTreeless) {
      const { table, end: tableEnd } = readHuffmanTable(bytes, from, to)
      this.#huffman = table
      from = tableEnd
    }
    const huffman = this.#huffman
    if (huffman === null) throw corrupt('a block repeats a table that was never there')
    const target = this.#room(size)
    if (sizeFormat === 0) readSymbols(huffman, new BackwardBits(bytes, from, to), { bytes: target, from: 0, to: size })
    else readFourStreams(huffman, { bytes, from, to }, target, size)
    this.#literalsEnd = size
    return to
  }

  /** Room for literals; what was in it is gone. */
  #room(size: number): Uint8Array {
    // Raw literals are a view of the block, and not to be written to.
    if (this.#ownLiterals.length < size) this.#ownLiterals = new Uint8Array(blockBytesMax)
    this.#literals = this.#ownLiterals
    return this.#literals
  }

  #readTables(bytes: Uint8Array, start: number, end: number): Sequences {
    const modes = bytes[start] ?? 0
    if ((modes & 3) !== 0) throw corrupt('a block has unknown codes')
    let at = start + 1
    const tables = kinds.map(({ usual, accuracyMax, symbolsMax }, index) => {
      const mode = (modes >>> (6 - 2 * index)) & 3
      if (mode === 0) return usual
      if (mode === 1) {
        const symbol = bytes[at] ?? 0
        at += 1
        if (symbol >= symbolsMax) throw corrupt('a block has unknown codes')
        return constantTable(symbol)
      }
      if (mode === 2) {
        const read = readDistribution(bytes, { start: at, end }, { accuracyMax, symbolsMax })
        at = read.end
        return fseTable(read.distribution)
      }
      const before = this.#tables[index] ?? null
      if (before === null) throw corrupt('a block repeats a table that was never there')
      return before
    })
    this.#tables = tables
    if (at >= end) throw corrupt('a block is cut off')
    const [lengths, offsets, matches] = tables as [FseTable, FseTable, FseTable]
    return { lengths, offsets, matches, bits: new BackwardBits(bytes, at, end) }
  }

  #copySequences({ lengths, offsets, matches, bits }: Sequences, count: number, target: BlockTarget): number {
    const { bytes, historyStart, limit } = target
    const literals = this.#literals
    const literalsEnd = this.#literalsEnd
    let literalAt = 0
    let out = target.at
    let lengthState = bits.read(lengths.accuracy)
    let offsetState = bits.read(offsets.accuracy)
    let matchState = bits.read(matches.accuracy)
    const { bytes: packed, startAt } = bits
    let [last, second, third] = this.#offsets
    let bit = startAt + bits.bitsLeft
    for (let index = 1; ; index += 1) {
      const offsetCode = offsets.symbols[offsetState] as number
      const matchCode = matches.symbols[matchState] as number
      const lengthCode = lengths.symbols[lengthState] as number
      bit -= offsetCode
      let offset = (1 << offsetCode) + manyBitsAt(packed, bit, offsetCode)
      bit -= matchBits[matchCode] as number
      const matchLength = (matchBases[matchCode] as number) + bitsAt(packed, bit, matchBits[matchCode] as number)
      bit -= lengthBits[lengthCode] as number
      const literalLength = (lengthBases[lengthCode] as number) + bitsAt(packed, bit, lengthBits[lengthCode] as number)
      // A value up to 3 is one of the last offsets; without literals in front it is the one behind.
      const recent = offset > 3 ? 0 : literalLength === 0 ? offset + 1 : offset
      if (recent === 0) offset -= 3
      else offset = recent === 1 ? last : recent === 2 ? second : recent === 3 ? third : last - 1
      if (recent === 0 || recent > 2) third = second
      if (recent !== 1) second = last
      last = offset
      const matchAt = out + literalLength
      const end = matchAt + matchLength
      if (end > limit || literalAt + literalLength > literalsEnd) throw corrupt('a block gives more than it may')
      if (offset <= 0 || matchAt - offset < historyStart) throw corrupt('a match reaches too far back')
      if (literalLength >= callBytesMin) bytes.set(literals.subarray(literalAt, literalAt + literalLength), out)
      else for (let at = 0; at < literalLength; at += 1) bytes[out + at] = literals[literalAt + at] as number
      literalAt += literalLength
      // A match may reach into itself: then it repeats what it has given.
      if (offset >= matchLength && matchLength >= callBytesMin) {
        bytes.copyWithin(matchAt, matchAt - offset, end - offset)
      } else for (let at = matchAt; at < end; at += 1) bytes[at] = bytes[at - offset] as number
      out = end
      if (index === count) break
      bit -= lengths.bitCounts[lengthState] as number
      lengthState =
        (lengths.bases[lengthState] as number) + bitsAt(packed, bit, lengths.bitCounts[lengthState] as number)
      bit -= matches.bitCounts[matchState] as number
      matchState = (matches.bases[matchState] as number) + bitsAt(packed, bit, matches.bitCounts[matchState] as number)
      bit -= offsets.bitCounts[offsetState] as number
      offsetState =
        (offsets.bases[offsetState] as number) + bitsAt(packed, bit, offsets.bitCounts[offsetState] as number)
      if (bit < startAt) break
    }
    if (bit !== startAt) throw corrupt('the codes of a block do not end with it')
    this.#offsets = [last, second, third]
    return this.#copyLiterals(target, literalAt, out)
  }

  /** The literals from `from` on, behind what the block has given so far. */
  #copyLiterals({ bytes, limit }: BlockTarget, from: number, at: number): number {
    const end = at + this.#literalsEnd - from
    if (end > limit) throw corrupt('a block gives more than it may')
    bytes.set(this.#literals.subarray(from, this.#literalsEnd), at)
    return end
  }
}

interface Sequences {
  readonly lengths: FseTable
  readonly offsets: FseTable
  readonly matches: FseTable
  readonly bits: BackwardBits
}

interface LiteralsSection {
  readonly start: number
  readonly end: number
  readonly sizeFormat: number
  readonly isTreeless: boolean
}

/** By the format of sizes: bytes of the header, and bits of each size. */
const packedLayouts: readonly [readonly [number, number], ...(readonly [number, number])[]] = [
  [3, 10],
  [3, 10],
  [4, 14],
  [5, 18],
]

function literalSize(byte: (offset: number) => number, bits: number): number {
  return ((byte(0) >>> 4) | (byte(1) << 4) | (byte(2) << 12)) & ((1 << bits) - 1)
}

/** A table of sizes in front of four streams, the first three of which are equally long when unpacked. */
function readFourStreams(
  table: HuffmanTable,
  { bytes, from, to }: { readonly bytes: Uint8Array; readonly from: number; readonly to: number },
  target: Uint8Array,
  size: number,
): void {
  let start = from + 6
  const quarter = (size + 3) >>> 2
  if (start > to || quarter * 3 > size) throw corrupt('literals are cut off')
  for (let stream = 0; stream < 4; stream += 1) {
    const sizeAt = from + stream * 2
    const end = stream === 3 ? to : start + ((bytes[sizeAt] as number) | ((bytes[sizeAt + 1] as number) << 8))
    if (end > to) throw corrupt('literals are cut off')
    const range = { bytes: target, from: stream * quarter, to: stream === 3 ? size : (stream + 1) * quarter }
    readSymbols(table, new BackwardBits(bytes, start, end), range)
    start = end
  }
}

/** Offsets of large windows have more bits than are read at once. */
function manyBitsAt(bytes: Uint8Array, bit: number, count: number): number {
  if (count <= 24) return bitsAt(bytes, bit, count)
  return bitsAt(bytes, bit, 16) + bitsAt(bytes, bit + 16, count - 16) * 65_536
}

/** Below it a loop is faster than a call. */
const callBytesMin = 64
