/** The bytes with one bit flipped, a bit of each byte in turn. */
export function* flippedBits(bytes: Uint8Array): Generator<Uint8Array> {
  for (const [index, byte] of bytes.entries()) {
    const flipped = Uint8Array.from(bytes)
    flipped[index] = byte ^ (1 << (index % 8))
    yield flipped
  }
}
