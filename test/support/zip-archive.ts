import zlib from 'node:zlib'

interface MemberForm {
  readonly sizeBytes?: 4 | 8
  readonly isSigned?: boolean
}

/** A file in an archive, as a program writes it that cannot go back in its output; `zipEnd` stands behind the last one. */
export function packedMember(
  name: string,
  content: Buffer,
  { sizeBytes = 4, isSigned = true }: MemberForm = {},
): Buffer {
  const bytes = zlib.deflateRawSync(content)
  const header = Buffer.alloc(30)
  header.writeUInt32LE(0x04034b50, 0)
  header.writeUInt16LE(8, 6)
  header.writeUInt16LE(8, 8)
  header.writeUInt16LE(Buffer.byteLength(name), 26)
  const sizes = Buffer.alloc(4 + 2 * sizeBytes)
  sizes.writeUInt32LE(zlib.crc32(content), 0)
  sizes.writeUInt32LE(bytes.length, 4)
  sizes.writeUInt32LE(content.length, 4 + sizeBytes)
  const signature = isSigned ? Buffer.from('PK\u0007\b', 'latin1') : Buffer.alloc(0)
  return Buffer.concat([header, Buffer.from(name), bytes, signature, sizes])
}

export const zipEnd = Buffer.concat([Buffer.from('PK\u0005\u0006', 'latin1'), Buffer.alloc(18)])
