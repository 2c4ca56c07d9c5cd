import { encodeEntryHeader, entryBytesOf, type StoredEntry } from './entry-format.ts'

/** Payloads up to here are copied next to their headers: one large chunk is cheaper to write than many small ones. */
const copiedPayloadBytesMax = 32 * 1024
const scratchBytes = 256 * 1024

/** Entries that are on disk together or not at all. */
export type Batch = readonly StoredEntry[]

/** Lays out the batches of one write. One group at a time: the bytes are good until the next call. */
export class GroupEncoder {
  readonly #scratch = Buffer.allocUnsafeSlow(scratchBytes)

  /** The chunks to write behind one another; large payloads among them are the callers' own bytes. */
  encode(
    batches: readonly Batch[],
    place: { readonly sequence: number; readonly salt: number },
  ): readonly Uint8Array[] {
    const copiedBytes = copiedBytesOf(batches)
    const target = copiedBytes <= this.#scratch.length ? this.#scratch : Buffer.allocUnsafeSlow(copiedBytes)
    const chunks: Uint8Array[] = []
    let start = 0
    let end = 0
    let groupPosition = 0
    for (const batch of batches) {
      for (const [index, entry] of batch.entries()) {
        const sequence = place.sequence + groupPosition
        const hasFollower = index + 1 < batch.length
        end = encodeEntryHeader(target, end, entry, { sequence, groupPosition, hasFollower, salt: place.salt })
        groupPosition += 1
        if (entry.payload.length <= copiedPayloadBytesMax) {
          target.set(entry.payload, end)
          end += entry.payload.length
        } else {
          chunks.push(target.subarray(start, end), entry.payload)
          start = end
        }
      }
    }
    if (end > start) chunks.push(target.subarray(start, end))
    return chunks
  }
}

function copiedBytesOf(batches: readonly Batch[]): number {
  let byteCount = 0
  for (const batch of batches) {
    for (const entry of batch) {
      const { length } = entry.payload
      byteCount += entryBytesOf(entry) - (length > copiedPayloadBytesMax ? length : 0)
    }
  }
  return byteCount
}
