import type { FileHandle } from 'node:fs/promises'
import { parquetFault } from './parquet-footer.ts'

/** Exactly `byteCount` bytes of a Parquet file: the system may give a part of them at a time. */
export async function readAt(file: FileHandle, position: number, byteCount: number): Promise<Buffer> {
  const bytes = Buffer.allocUnsafeSlow(byteCount)
  for (let offset = 0; offset < byteCount; ) {
    const { bytesRead } = await file.read(bytes, offset, byteCount - offset, position + offset)
    if (bytesRead === 0) throw parquetFault('it is shorter than its metadata says')
    offset += bytesRead
  }
  return bytes
}
