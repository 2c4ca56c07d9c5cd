/** The codes of zstd's blocks: tables of finite state entropy (RFC 8878 §4.1) and of Huffman (§4.2), and their bits. */

/** What is wrong with packed bytes. */
export class ZstdFault extends Error {}

export function corrupt(what: string): ZstdFault {
  return new ZstdFault(what)
}

/** The place of the highest bit that is set; of 0 it is -1. */
export function highestBit(value: number): number {
  return 31 - Math.clz32(value)
}

/**
 * Bits that are read from the end of their bytes to the beginning. Behind their beginning come further ones, of what
 * stands there: whoever reads looks at `bitsLeft` when he is done, and what it says below 0 was not there.
 */
export class BackwardBits {
  readonly bytes: Uint8Array
  bitsLeft: number
  readonly startAt: number

  constructor(bytes: Uint8Array, start: number, end: number) {
    const last = end > start ? (bytes[end - 1] as number) : 0
    if (last === 0) throw corrupt('a bit stream does not end in its mark')
    this.bytes = bytes
    this.startAt = start * 8
    this.bitsLeft = (end - start - 1) * 8 + highestBit(last)
  }

  /** At most 25 bits. */
  read(count: number): number {
    this.bitsLeft -= count
    return bitsAt(this.bytes, this.startAt + this.bitsLeft, count)
  }
}

/** At most 25 bits, from `bit` on; what lies outside of the bytes is 0. */
export function bitsAt(bytes: Uint8Array, bit: number, count: number): number {
  const at = bit >> 3
  const word =
    (bytes[at] as number) |
    ((bytes[at + 1] as number) << 8) |
    ((bytes[at + 2] as number) << 16) |
    ((bytes[at + 3] as number) << 24)
  return (word >>> (bit & 7)) & ((1 << count) - 1)
}

/** By state: the symbol, how many bits tell the next state, and what they are added to. */
export interface FseTable {
  readonly accuracy: number
  readonly symbols: Uint8Array
  readonly bitCounts: Uint8Array
  readonly bases: Uint16Array
}

export interface Distribution {
  readonly accuracy: number
  /** By symbol; -1 is less than one. */
  readonly counts: readonly number[]
}

/** A distribution that is written at `start`, and where it ends. */
export function readDistribution(
  bytes: Uint8Array,
  { start, end }: { readonly start: number; readonly end: number },
  { accuracyMax, symbolsMax }: { readonly accuracyMax: number; readonly symbolsMax: number },
): { readonly distribution: Distribution; readonly end: number } {
  let bit = start * 8
  const take = (count: number): number => {
    let value = 0
    for (let offset = 0; offset < count; offset += 1) {
      const at = bit + offset
      value |= (((bytes[at >>> 3] ?? 0) >>> (at & 7)) & 1) << offset
    }
    bit += count
    return value
  }
  const accuracy = take(4) + 5
  if (accuracy > accuracyMax) throw corrupt('a table of codes is too large')
  const counts: number[] = []
  let remaining = 1 << accuracy
  while (remaining > 0 && counts.length < symbolsMax) {
    const width = highestBit(remaining + 1) + 1
    const lowerMask = (1 << (width - 1)) - 1
    const threshold = (1 << width) - 1 - (remaining + 1)
    let value = take(width)
    if ((value & lowerMask) < threshold) {
      bit -= 1
      value &= lowerMask
    } else if (value > lowerMask) value -= threshold
    const count = value - 1
    remaining -= Math.abs(count)
    counts.push(count)
    for (let zeros = count === 0 ? 3 : 0; zeros === 3; ) {
      zeros = take(2)
      for (let index = 0; index < zeros; index += 1) counts.push(0)
      if (counts.length > symbolsMax) break
    }
  }
  const behind = (bit + 7) >>> 3
  if (remaining !== 0 || counts.length > symbolsMax || behind > end) throw corrupt('a table of codes is broken')
  return { distribution: { accuracy, counts }, end: behind }
}

export function fseTable({ accuracy, counts }: Distribution): FseTable {
  const size = 1 << accuracy
  const symbols = new Uint8Array(size)
  const next = new Uint16Array(counts.length)
  let high = size
  for (const [symbol, count] of counts.entries()) {
    if (count >= 0) next[symbol] = count
    else {
      high -= 1
      symbols[high] = symbol
      next[symbol] = 1
    }
  }
  const step = (size >>> 1) + (size >>> 3) + 3
  let position = 0
  for (const [symbol, count] of counts.entries()) {
    for (let index = 0; index < count; index += 1) {
      symbols[position] = symbol
      do position = (position + step) & (size - 1)
      while (position >= high)
    }
  }
  const bitCounts = new Uint8Array(size)
  const bases = new Uint16Array(size)
  for (let state = 0; state < size; state += 1) {
    const symbol = symbols[state] as number
    const following = next[symbol] as number
    next[symbol] = following + 1
    const bitCount = accuracy - highestBit(following)
    bitCounts[state] = bitCount
    bases[state] = (following << bitCount) - size
  }
  return { accuracy, symbols, bitCounts, bases }
}

/** One symbol, always. */
export function constantTable(symbol: number): FseTable {
  return { accuracy: 0, symbols: Uint8Array.of(symbol), bitCounts: new Uint8Array(1), bases: new Uint16Array(1) }
}

/** By the next `bitCount` bits: how many of them are the code, in the upper byte, and the symbol in the lower. */
export interface HuffmanTable {
  readonly bitCount: number
  readonly codes: Uint16Array
}

const huffmanBitsMax = 11
const weightAccuracyMax = 6

/** The table that is written at `start`, and where it ends. */
export function readHuffmanTable(
  bytes: Uint8Array,
  start: number,
  end: number,
): { readonly table: HuffmanTable; readonly end: number } {
  const header = bytes[start] ?? 0
  const isDirect = header >= 128
  const weightsEnd = start + 1 + (isDirect ? (header - 126) >>> 1 : header)
  if (start >= end || weightsEnd > end) throw corrupt('a Huffman table is cut off')
  const weights = isDirect
    ? Array.from({ length: header - 127 }, (_, index) => {
        const pair = bytes[start + 1 + (index >>> 1)] as number
        return index % 2 === 0 ? pair >>> 4 : pair & 15
      })
    : readWeights(bytes, start + 1, weightsEnd)
  return { table: huffmanTable(weights), end: weightsEnd }
}

/** Weights that are packed themselves, by two states in turn. */
function readWeights(bytes: Uint8Array, start: number, end: number): number[] {
  const limits = { accuracyMax: weightAccuracyMax, symbolsMax: 256 }
  const { distribution, end: bitsStart } = readDistribution(bytes, { start, end }, limits)
  const table = fseTable(distribution)
  const bits = new BackwardBits(bytes, bitsStart, end)
  let first = bits.read(table.accuracy)
  let second = bits.read(table.accuracy)
  const weights: number[] = []
  while (weights.length < 255) {
    weights.push(table.symbols[first] as number)
    const state = (table.bases[first] as number) + bits.read(table.bitCounts[first] as number)
    first = second
    second = state
    // The states whose bits were not there end it: the other one still stands for a symbol.
    if (bits.bitsLeft < 0) {
      weights.push(table.symbols[first] as number)
      break
    }
  }
  return weights
}

/** The weight of the last symbol is not written: it is what makes the sum a power of two. */
function huffmanTable(weights: number[]): HuffmanTable {
  let sum = 0
  for (const weight of weights) {
    if (weight > huffmanBitsMax + 1) throw corrupt('a Huffman code is too long')
    sum += weight === 0 ? 0 : 1 << (weight - 1)
  }
  const bitCount = highestBit(sum) + 1
  const left = (1 << bitCount) - sum
  const isBroken = sum === 0 || bitCount > huffmanBitsMax || (left & (left - 1)) !== 0 || weights.length > 255
  if (isBroken) throw corrupt('a Huffman table is broken')
  weights.push(highestBit(left) + 1)
  const codes = new Uint16Array(1 << bitCount)
  let at = 0
  for (let weight = 1; weight <= bitCount; weight += 1) {
    const width = 1 << (weight - 1)
    for (const [symbol, given] of weights.entries()) {
      if (given !== weight) continue
      codes.fill(((bitCount + 1 - weight) << 8) | symbol, at, at + width)
      at += width
    }
  }
  return { bitCount, codes }
}

/** Reads as many symbols as `target` has room for out of one stream, which must have just as many. */
export function readSymbols(
  { bitCount, codes }: HuffmanTable,
  bits: BackwardBits,
  range: { readonly bytes: Uint8Array; readonly from: number; readonly to: number },
): void {
  const { bytes: target, from, to } = range
  const { bytes } = bits
  const mask = (1 << bitCount) - 1
  const startBit = bits.startAt
  let left = bits.bitsLeft
  for (let at = from; at < to; at += 1) {
    const bit = startBit + left - bitCount
    const byteAt = bit >> 3
    const word =
      (bytes[byteAt] as number) | ((bytes[byteAt + 1] as number) << 8) | ((bytes[byteAt + 2] as number) << 16)
    const code = codes[(word >>> (bit & 7)) & mask] as number
    target[at] = code
    left -= code >>> 8
  }
  bits.bitsLeft = left
  if (left !== 0) throw corrupt('literals do not end with their stream')
}
