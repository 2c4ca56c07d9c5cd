/** What a body is written in, and how it becomes UTF-8: the scanners know no other encoding. */
import { isUtf8 } from 'node:buffer'

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
 * Guesses the encoding from the beginning of a body: UTF-16 by its mark, Latin-1 when there are bytes that are no UTF-8
 * and not one character that is; a few broken characters in UTF-8 leave it UTF-8.
 */
export function guessEncoding(head: Uint8Array): TextEncoding {
  const marked = encodingByMark(head)
  if (marked !== 'utf-8' || isUtf8(head)) return marked
  const { wholeCount, brokenCount } = countCharacters(head)
  return wholeCount === 0 && brokenCount > 0 ? 'windows-1252' : 'utf-8'
}

/** Characters of more than one byte in UTF-8, and bytes that are none; a last character that is cut counts as neither. */
function countCharacters(head: Uint8Array): { readonly wholeCount: number; readonly brokenCount: number } {
  let wholeCount = 0
  let brokenCount = 0
  for (let offset = 0; offset < head.length; ) {
    const lead = head[offset] ?? 0
    const byteCount = lead < 0x80 ? 1 : lead >= 0xf0 && lead < 0xf5 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc2 ? 2 : 0
    const isCut = offset + byteCount > head.length && head.subarray(offset + 1).every((byte) => byte >> 6 === 2)
    if (byteCount === 1) offset += 1
    else if (byteCount > 1 && isCut) break
    else if (byteCount > 1 && lead < 0xf5 && isUtf8(head.subarray(offset, offset + byteCount))) {
      wholeCount += 1
      offset += byteCount
    } else {
      brokenCount += 1
      offset += 1
    }
  }
  return { wholeCount, brokenCount }
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
