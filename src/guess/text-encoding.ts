/** What a body is written in, and how it becomes UTF-8: the scanners know no other encoding. */
import { isAscii, isUtf8 } from 'node:buffer'
import { characterBytesAt, cutBytesOf } from '../codec/columns/utf8-text.ts'

/** `windows-1252` is Latin-1 with letters and quotes where Latin-1 has control codes; browsers read both as this one. */
export type TextEncoding = 'utf-8' | 'utf-16be' | 'utf-16le' | 'windows-1252'

/** Turns a body into UTF-8, chunk by chunk, wherever the network cuts it. */
export interface Transcoder {
  /** The chunk as UTF-8; a character that the chunk cuts waits for the next one. The chunk may be given as it is. */
  push(chunk: Uint8Array): Uint8Array
  /** What the body ends with. */
  end(): Uint8Array
}

/** Reads the mark of UTF-16 at the beginning of a body; a body of UTF-8 needs none. */
export function encodingByMark(head: Uint8Array): 'utf-8' | 'utf-16be' | 'utf-16le' {
  if (head[0] === 0xff && head[1] === 0xfe) return 'utf-16le'
  if (head[0] === 0xfe && head[1] === 0xff) return 'utf-16be'
  return 'utf-8'
}

/**
 * Guesses the encoding from the beginning of a body: UTF-16 by its mark, Latin-1 by the weight of the bytes that are no UTF-8
 * against the characters that are.
 */
export function guessEncoding(head: Uint8Array, { isWhole }: { readonly isWhole: boolean }): GuessedEncoding {
  const evidence = new EncodingEvidence()
  const marked = encodingByMark(head)
  if (marked !== 'utf-8') return { encoding: marked, openEvidence: null }
  evidence.add(head, { isEnd: isWhole })
  const verdict = evidence.verdict()
  return { encoding: verdict ?? 'utf-8', openEvidence: verdict === null ? evidence : null }
}

export interface GuessedEncoding {
  readonly encoding: TextEncoding
  /** What has come together, where it is too little to tell: the encoding is UTF-8 for as long as nothing else is known. */
  readonly openEvidence: EncodingEvidence | null
}

const byteOrderMark = [0xef, 0xbb, 0xbf]
/** Characters of several bytes, without a byte that is no UTF-8, from which on a body is UTF-8 whatever comes. */
const wholeEnough = 16
/** So many bytes must be wrong for each character that is right: what is taken for Latin-1 is read without a word. */
const brokenShareMin = 4
/** What a character weighs that is in Latin-1 a letter before a quotation mark or its like, as in `«CAFÉ»`. */
const oddWeight = 0.1

/** What the bytes of a body say of its encoding, where no mark of UTF-16 does. */
export class EncodingEvidence {
  #whole = 0
  #odd = 0
  #broken = 0
  #isMarked = false
  #isEmpty = true

  /**
   * Takes bytes that follow on those before, and gives how many were looked at: a character that is cut at their end says
   * nothing yet, and comes again with the next ones.
   */
  add(bytes: Uint8Array, { isEnd }: { readonly isEnd: boolean } = { isEnd: false }): number {
    if (this.#isEmpty) this.#isMarked = byteOrderMark.every((byte, offset) => bytes[offset] === byte)
    this.#isEmpty &&= bytes.length === 0
    const taken = bytes.subarray(0, bytes.length - (isEnd ? 0 : cutBytesOf(bytes)))
    if (!this.#isMarked && !isAscii(taken)) this.#count(taken)
    return taken.length
  }

  /** Null while there is too little to say so. */
  verdict(): 'utf-8' | 'windows-1252' | null {
    if (this.#isMarked) return 'utf-8'
    if (this.#broken === 0) return this.#whole >= wholeEnough ? 'utf-8' : null
    const weight = this.#whole + oddWeight * this.#odd
    return this.#broken > brokenShareMin * weight ? 'windows-1252' : 'utf-8'
  }

  #count(bytes: Uint8Array): void {
    const isSound = isUtf8(bytes)
    for (let offset = 0; offset < bytes.length; ) {
      const byteCount = characterBytesAt(bytes, offset)
      if (byteCount === 0) this.#broken += 1
      else if (byteCount > 1) this.#weigh(bytes.subarray(offset, offset + byteCount))
      if (isSound && this.#whole >= wholeEnough) return
      offset += Math.max(1, byteCount)
    }
  }

  #weigh(character: Uint8Array): void {
    if (mayBeLatin(character)) this.#odd += 1
    else this.#whole += 1
  }
}

/** In windows-1252: quotation marks, dashes, the ellipsis, the blank that does not break, and signs of currency and trade. */
const signs = new Set([0x80, 0x82, 0x83, 0x84, 0x85, 0x91, 0x92, 0x93, 0x94, 0x95, 0x96, 0x97, 0x99, 0xa0, 0xab, 0xbb])

/** Whether text in Latin-1 has these bytes now and then. Hardly any has `Â` and `Ã` before a sign, and much of UTF-8 has. */
function mayBeLatin(character: Uint8Array): boolean {
  const lead = character[0] ?? 0
  return lead !== 0xc2 && lead !== 0xc3 && character.subarray(1).every((byte) => signs.has(byte))
}

/** What makes UTF-8 out of the bytes; null when they are UTF-8 already. */
export function createTranscoder(encoding: TextEncoding): Transcoder | null {
  switch (encoding) {
    case 'utf-8':
      return null
    case 'windows-1252':
      return { push: windowsToUtf8, end: () => new Uint8Array(0) }
    case 'utf-16be':
    case 'utf-16le': {
      const decoder = new TextDecoder(encoding)
      const encoder = new TextEncoder()
      return {
        push: (chunk) => encoder.encode(decoder.decode(chunk, { stream: true })),
        end: () => encoder.encode(decoder.decode()),
      }
    }
  }
}

/** A copy whose carriage returns are line feeds, for lines as old Macs ended them. */
export function withLineFeeds(bytes: Uint8Array): Uint8Array {
  const changed = Uint8Array.from(bytes)
  for (let at = changed.indexOf(0x0d); at >= 0; at = changed.indexOf(0x0d, at + 1)) changed[at] = 0x0a
  return changed
}

/** Code points of the bytes 0x80 to 0x9f; the other bytes are their own. WHATWG Encoding, index windows-1252. */
const windowsCodes = [
  0x20ac, 0x81, 0x201a, 0x192, 0x201e, 0x2026, 0x2020, 0x2021, 0x2c6, 0x2030, 0x160, 0x2039, 0x152, 0x8d, 0x17d, 0x8f,
  0x90, 0x2018, 0x2019, 0x201c, 0x201d, 0x2022, 0x2013, 0x2014, 0x2dc, 0x2122, 0x161, 0x203a, 0x153, 0x9d, 0x17e, 0x178,
]

// By hand: some versions of Node take the bytes 0x80 to 0x9f for control codes when they decode windows-1252.
function windowsToUtf8(chunk: Uint8Array): Uint8Array {
  const bytes = new Uint8Array(3 * chunk.length)
  let byteCount = 0
  for (const byte of chunk) {
    const code = byte >= 0x80 && byte < 0xa0 ? (windowsCodes[byte - 0x80] ?? byte) : byte
    if (code < 0x80) {
      bytes[byteCount] = code
      byteCount += 1
    } else if (code < 0x800) {
      bytes[byteCount] = 0xc0 | (code >> 6)
      bytes[byteCount + 1] = 0x80 | (code & 0x3f)
      byteCount += 2
    } else {
      bytes[byteCount] = 0xe0 | (code >> 12)
      bytes[byteCount + 1] = 0x80 | ((code >> 6) & 0x3f)
      bytes[byteCount + 2] = 0x80 | (code & 0x3f)
      byteCount += 3
    }
  }
  return bytes.subarray(0, byteCount)
}
