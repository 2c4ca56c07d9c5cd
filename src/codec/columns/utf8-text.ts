/**
 * Bytes as a text that says all of them, also where they are no UTF-8.
 *
 * The form is that of URLs (RFC 3986): `%` and two hexadecimal digits for each byte that is no UTF-8, and `%25` for each `%`.
 * It is used for a text with such bytes alone, and the reason beside it says so; every other text stands as it is. So
 * `decodeURLComponent` gives the bytes back, and a text that looks like this form is never taken for it.
 */
import { Buffer, isUtf8 } from 'node:buffer'
import { escapedMark, type RecordReason, recordReasonEnd, recordReasons } from '../../shared/record-reasons.ts'

const percent = 0x25
const digits = Buffer.from('0123456789ABCDEF')

/** The bytes, or, where they are no UTF-8, what stands for them. Both may be views over what was given. */
export function toReadable(bytes: Uint8Array): Uint8Array {
  return isUtf8(bytes) ? bytes : escapedBytes(bytes)
}

/** The same as a text. */
export function readableText(bytes: Uint8Array): string {
  return Buffer.from(toReadable(bytes)).toString('utf8')
}

/** The reason for a record whose text stands behind it, up to there: it says whether that is escaped. */
export function reasonBeforeText(reason: string, bytes: Uint8Array): string {
  return reasonHead(reason, toReadable(bytes) !== bytes)
}

function reasonHead(reason: string, isEscaped: boolean): string {
  const isSaid = !isEscaped || reason === recordReasons.noUtf8
  return `${reason}${isSaid ? '' : escapedMark}${recordReasonEnd}`
}

/** Of the few reasons in front of texts, as bytes. */
const heads = new Map<string, Uint8Array>()

/** The reason and the text behind it, one after the other. */
export function recordText(reason: RecordReason, bytes: Uint8Array): readonly [head: Uint8Array, text: Uint8Array] {
  const text = toReadable(bytes)
  const headText = reasonHead(reason, text !== bytes)
  const head = heads.get(headText) ?? Buffer.from(headText)
  heads.set(headText, head)
  return [head, text]
}

/** How many bytes the character at `offset` has; 0 where there is none of UTF-8, or it is cut (RFC 3629, section 4). */
export function characterBytesAt(bytes: Uint8Array, offset: number): number {
  const lead = bytes[offset] ?? 0
  if (lead < 0x80) return 1
  const byteCount = characterBytesOf(lead)
  if (byteCount === 0 || offset + byteCount > bytes.length) return 0
  const second = bytes[offset + 1] ?? 0
  if (second < (secondMin[lead] ?? 0x80) || second > (secondMax[lead] ?? 0xbf)) return 0
  for (let position = 2; position < byteCount; position += 1) if (!isTrail(bytes[offset + position])) return 0
  return byteCount
}

/** How many bytes of a character stand at the very end, which may go on with those that follow. */
export function cutBytesOf(bytes: Uint8Array): number {
  for (let count = 1; count <= Math.min(3, bytes.length); count += 1) {
    const byte = bytes[bytes.length - count] ?? 0
    if (!isTrail(byte)) return characterBytesOf(byte) > count ? count : 0
  }
  return 0
}

/** How many bytes a character has that begins with this one; 0 for one that begins none. */
function characterBytesOf(lead: number): number {
  if (lead < 0x80) return 1
  if (lead >= 0xf0) return lead < 0xf5 ? 4 : 0
  return lead >= 0xe0 ? 3 : lead >= 0xc2 ? 2 : 0
}

function isTrail(byte: number | undefined): boolean {
  return byte !== undefined && byte >> 6 === 2
}

/** Longer forms than needed, halves of surrogate pairs, and what lies beyond U+10FFFF are no characters. */
const secondMin: Readonly<Record<number, number>> = { 224: 0xa0, 240: 0x90 }
const secondMax: Readonly<Record<number, number>> = { 237: 0x9f, 244: 0x8f }

function escapedBytes(bytes: Uint8Array): Uint8Array {
  const target = new Uint8Array(3 * bytes.length)
  let end = 0
  for (let offset = 0; offset < bytes.length; ) {
    const byte = bytes[offset] ?? 0
    // Most of it.
    if (byte < 0x80 && byte !== percent) {
      target[end] = byte
      end += 1
      offset += 1
      continue
    }
    const byteCount = byte === percent ? 0 : characterBytesAt(bytes, offset)
    for (let position = 0; position < byteCount; position += 1) target[end + position] = bytes[offset + position] ?? 0
    end += byteCount
    offset += Math.max(1, byteCount)
    if (byteCount > 0) continue
    target[end] = percent
    target[end + 1] = digits[byte >> 4] ?? 0
    target[end + 2] = digits[byte & 15] ?? 0
    end += 3
  }
  return target.subarray(0, end)
}
