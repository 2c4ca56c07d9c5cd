/**
 * What a body is written in whose beginning does not say it: it goes on as UTF-8 until there is enough to tell.
 *
 * From the first byte that is no ASCII on so many bytes are held as a sample has, and judged together with all before them;
 * so the same body gives the same text wherever the network cuts it.
 */
import { isAscii } from 'node:buffer'
import { createTranscoder, type EncodingEvidence, type Transcoder } from '../../guess/text-encoding.ts'
import type { LikenessKind } from '../insert/text-likeness.types.ts'

export interface LateDecision {
  /** What the first chunk, the sample, says, but for the character that may be cut at its end. */
  readonly evidence: EncodingEvidence
  /** How many bytes that character has so far. */
  readonly cutBytes: number
  readonly windowBytes: number
  /** Told how the text and the bytes stand to each other, as far as both are read. */
  readonly onLikeness: (kind: LikenessKind) => void
}

const nothing = new Uint8Array(0)

/** The chunks in UTF-8, but for bytes that are none. Each is its own memory, which whoever takes it may give back. */
export async function* decidedLate(
  chunks: AsyncIterable<Uint8Array>,
  { evidence, cutBytes, windowBytes, onLikeness }: LateDecision,
): AsyncGenerator<Uint8Array> {
  let held: Uint8Array = nothing
  let isSample = true
  let decided: { readonly transcoder: Transcoder | null } | null = null
  // Whoever begins behind it would not know of the character that is cut.
  if (cutBytes > 0) onLikeness('other')
  for await (const chunk of chunks) {
    if (decided !== null) {
      yield decided.transcoder?.push(chunk) ?? chunk
      continue
    }
    if (isSample) {
      isSample = false
      held = copyOf(chunk.subarray(chunk.length - cutBytes))
      yield chunk.subarray(0, chunk.length - cutBytes)
      continue
    }
    if (held.length === 0 && isAscii(chunk)) {
      yield chunk
      continue
    }
    let bytes: Uint8Array = held.length === 0 ? chunk : Buffer.concat([held, chunk])
    for (;;) {
      const start = firstOther(bytes)
      if (start > 0) yield copyOf(bytes.subarray(0, start))
      held = copyOf(bytes.subarray(start))
      if (held.length < windowBytes) break
      const taken = evidence.add(held.subarray(0, windowBytes))
      const encoding = evidence.verdict()
      if (encoding !== null) {
        decided = { transcoder: createTranscoder(encoding) }
        onLikeness(decided.transcoder === null ? 'same' : 'other')
        yield decided.transcoder?.push(held) ?? held
        break
      }
      // Whoever begins behind it would not know what these have told.
      onLikeness('other')
      yield copyOf(held.subarray(0, taken))
      bytes = held.subarray(taken)
    }
  }
  if (decided !== null || held.length === 0) return
  evidence.add(held, { isEnd: true })
  yield createTranscoder(evidence.verdict() ?? 'utf-8')?.push(held) ?? held
}

/** The offset of the first byte that is no ASCII. */
function firstOther(bytes: Uint8Array): number {
  let offset = 0
  while (offset < bytes.length && (bytes[offset] ?? 0) < 0x80) offset += 1
  return offset
}

/** In memory of its own, also of a Buffer. */
function copyOf(bytes: Uint8Array): Uint8Array {
  return new Uint8Array(bytes)
}
