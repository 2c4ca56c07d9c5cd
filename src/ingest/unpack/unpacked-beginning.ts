/** What the first bytes of a packed body unpack to, as far as they go. */
import { constants, gunzipSync, inflateRawSync } from 'node:zlib'
import { blockBytesMax } from '../../shared/zstd/zstd-headers.ts'
import { unzstd } from '../../shared/zstd/zstd-unpacker.ts'
import { isBesideFile } from './zip-central-directory.ts'

/** Of deflate so many bytes are unpacked: they give half a mebibyte at most, and nearly always a whole record. */
const deflatedBytes = 512
/** Deflate makes no more of a byte. */
const inflationMax = 1_032
/** No more is given of what is unpacked. */
export const unpackedBytes = 64 * 1024

/** How much has to be there of a body: a zstd block is unpacked as a whole, a zip member has a name in front. */
export const packedHeadBytes: Readonly<Record<string, number>> = { gzip: 512, zip: 4096, zstd: blockBytesMax + 4096 }

/** Empty for what is no such packing, or damaged: whoever reads all of it tells. */
export async function unpackedBeginning(head: Buffer, contentEncoding: string): Promise<Uint8Array> {
  switch (contentEncoding) {
    case 'gzip':
      return inflated(() => gunzipSync(head.subarray(0, deflatedBytes), inflation))
    case 'zip':
      return firstMember(head)
    case 'zstd':
      return await firstBlocks(head)
    default:
      return Buffer.of()
  }
}

/** Cut off as it is: what is whole of it is given. */
const inflation = { finishFlush: constants.Z_SYNC_FLUSH, maxOutputLength: deflatedBytes * inflationMax }

function inflated(inflate: () => Buffer): Uint8Array {
  try {
    return inflate().subarray(0, unpackedBytes)
  } catch {
    // Damaged.
    return Buffer.of()
  }
}

async function firstBlocks(head: Buffer): Promise<Uint8Array> {
  const pieces: Uint8Array[] = []
  let byteCount = 0
  try {
    for await (const piece of unzstd([head])) {
      pieces.push(piece.slice(0, unpackedBytes - byteCount))
      byteCount += piece.length
      if (byteCount >= unpackedBytes) break
    }
  } catch {
    // It is cut here, or damaged: the pieces before are sound.
  }
  return Buffer.concat(pieces)
}

const memberMark = Buffer.from('PK\u0003\u0004', 'latin1')
const memberHeaderBytes = 30
const stored = 0

/** Of the first member that is a file. See APPNOTE.TXT 4.3.7. */
function firstMember(head: Buffer): Uint8Array {
  for (let at = head.indexOf(memberMark); at >= 0; at = head.indexOf(memberMark, at + memberHeaderBytes)) {
    if (at + memberHeaderBytes > head.length) break
    const nameEnd = at + memberHeaderBytes + head.readUInt16LE(at + 26)
    const start = nameEnd + head.readUInt16LE(at + 28)
    if (isBesideFile(head.toString('utf8', at + memberHeaderBytes, nameEnd))) continue
    const packed = head.subarray(start, start + deflatedBytes)
    return head.readUInt16LE(at + 8) === stored ? packed : inflated(() => inflateRawSync(packed, inflation))
  }
  return Buffer.of()
}
