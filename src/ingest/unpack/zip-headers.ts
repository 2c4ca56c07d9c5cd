/** The headers of members in a zip archive. See APPNOTE.TXT 4.3.7 and 4.5.3. */
import { errors } from '../../shared/errors/errors.ts'
import type { ByteReader } from './byte-reader.ts'

export const signatures = {
  member: 0x04034b50,
  directory: 0x02014b50,
  directoryEnd: 0x06054b50,
  archiveExtra: 0x08064b50,
  /** Behind a member's bytes; also in front of an archive that was made to be split. */
  descriptor: 0x08074b50,
} as const

export interface MemberHeader {
  readonly name: string
  readonly isEncrypted: boolean
  /** 0 is stored, 8 is deflated. */
  readonly method: number
  /** CRC-32 and sizes stand behind the bytes, not here. */
  readonly hasDescriptor: boolean
  readonly isZip64: boolean
  readonly checksum: number
  /** Null where a descriptor has it. */
  readonly packedBytes: number | null
  readonly unpackedBytes: number | null
}

const fixedBytes = 30
const zip64Mark = 0xffffffff

/** The next member's header, the reader behind it; null at the archive's directory, which is left for whoever reads it. */
export async function readMemberHeader(reader: ByteReader): Promise<MemberHeader | null> {
  let fixed = await reader.take(fixedBytes)
  if (signatureOf(fixed) === signatures.descriptor) {
    reader.giveBack(fixed.subarray(4))
    fixed = await reader.take(fixedBytes)
  }
  const signature = signatureOf(fixed)
  if (signature !== signatures.member) {
    const isEnd = [signatures.directory, signatures.directoryEnd, signatures.archiveExtra].some(
      (it) => it === signature,
    )
    if (!isEnd) throw corrupt('something else is where a member or the directory should be')
    reader.giveBack(fixed)
    return null
  }
  if (fixed.length < fixedBytes) throw corrupt('it ends in a header')
  const view = viewOf(fixed)
  const names = await reader.take(view.getUint16(26, true) + view.getUint16(28, true))
  const name = names.subarray(0, view.getUint16(26, true))
  return headerOf(view, new TextDecoder().decode(name), names.subarray(name.length))
}

function headerOf(view: DataView, name: string, extra: Uint8Array): MemberHeader {
  const flags = view.getUint16(6, true)
  const hasDescriptor = (flags & 8) !== 0
  const sizes = { packed: view.getUint32(18, true), unpacked: view.getUint32(22, true) }
  const wide = readZip64(extra)
  const of = (size: number, wideSize: number | undefined) => (size === zip64Mark ? (wideSize ?? size) : size)
  return {
    name,
    isEncrypted: (flags & 1) !== 0,
    method: view.getUint16(8, true),
    hasDescriptor,
    isZip64: wide !== null,
    checksum: view.getUint32(14, true),
    packedBytes: hasDescriptor ? null : of(sizes.packed, wide?.[1]),
    unpackedBytes: hasDescriptor ? null : of(sizes.unpacked, wide?.[0]),
  }
}

/** The extra field of large members: the size unpacked, then packed; null without one. */
function readZip64(extra: Uint8Array): readonly number[] | null {
  const view = viewOf(extra)
  for (let offset = 0; offset + 4 <= extra.length; ) {
    const byteCount = view.getUint16(offset + 2, true)
    const end = Math.min(extra.length, offset + 4 + byteCount)
    if (view.getUint16(offset, true) === 1) {
      const sizes: number[] = []
      for (let at = offset + 4; at + 8 <= end && sizes.length < 2; at += 8) {
        sizes.push(Number(view.getBigUint64(at, true)))
      }
      return sizes
    }
    offset += 4 + byteCount
  }
  return null
}

function signatureOf(bytes: Uint8Array): number {
  if (bytes.length < 4) throw corrupt('it ends before its directory')
  return viewOf(bytes).getUint32(0, true)
}

function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}

function corrupt(reason: string): Error {
  return errors.BODY_CORRUPT({ format: 'zip archive', reason })
}
