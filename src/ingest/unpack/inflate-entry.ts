/** Inflates one member of a zip archive, whose end only the deflate stream itself may know. */
import zlib from 'node:zlib'
import type { ByteReader } from './byte-reader.ts'
import type { MemberHeader } from './zip-headers.ts'

/** Node's default of 16 KiB makes four times as many rounds through the thread pool. */
const chunkBytes = 256 * 1024
const feedBytes = 64 * 1024

/** The bytes of a member; the reader then stands behind its last packed byte. Raises what zlib raises. */
export async function* inflateMember(
  reader: ByteReader,
  { packedBytes }: Pick<MemberHeader, 'packedBytes'>,
): AsyncGenerator<Uint8Array> {
  const inflate = zlib.createInflateRaw({ chunkSize: chunkBytes })
  const ended = new Promise<void>((resolve) => {
    for (const event of ['end', 'error', 'close']) inflate.once(event, () => resolve())
  })
  const feeding = feed(reader, inflate, { ended, packedBytes })
  feeding.catch((error: unknown) => inflate.destroy(error instanceof Error ? error : new Error(String(error))))
  try {
    yield* inflate
    await feeding
  } finally {
    inflate.destroy()
  }
}

interface Feeding {
  /** Resolves when the deflate stream has ended, well or not. */
  readonly ended: Promise<void>
  readonly packedBytes: number | null
}

async function feed(reader: ByteReader, inflate: zlib.InflateRaw, { ended, packedBytes }: Feeding): Promise<void> {
  let isEnded = false
  const end = ended.then(() => {
    isEnded = true
  })
  let fedBytes = 0
  let last: Uint8Array = new Uint8Array(0)
  while (!isEnded && (packedBytes === null || fedBytes < packedBytes)) {
    const piece = await reader.takeSome(Math.min(feedBytes, (packedBytes ?? Number.POSITIVE_INFINITY) - fedBytes))
    if (piece === null) break
    fedBytes += piece.length
    last = piece
    const taken = new Promise<void>((resolve) => inflate.write(piece, () => resolve()))
    // A stream that has its end takes no more, and never says so; what it leaves is of this piece alone.
    await Promise.race([taken, end])
    if (inflate.bytesWritten < fedBytes) isEnded = true
  }
  if (!isEnded) inflate.end()
  await end
  // Of bytes behind the end of the stream, zlib has taken none.
  const unusedBytes = fedBytes - inflate.bytesWritten
  if (unusedBytes > 0) reader.giveBack(last.subarray(Math.max(0, last.length - unusedBytes)))
}
