import type { Part } from './part.types.ts'

/** The chunks of a part as bytes of their own, exactly sized. */
export function joined(chunks: readonly Uint8Array[]): Uint8Array {
  const bytes = new Uint8Array(chunks.reduce((total, chunk) => total + chunk.length, 0))
  let offset = 0
  for (const chunk of chunks) {
    bytes.set(chunk, offset)
    offset += chunk.length
  }
  return bytes
}

/** Bytes of a part, wherever it lies. */
export function partByteCount(part: Part): number {
  return part instanceof Uint8Array ? part.length : part.byteCount
}
