/** Bytes of a Parquet file, read and written whole: the system may take or give a part of them. */
import type { FileHandle } from 'node:fs/promises'
import { parquetFault } from './parquet-footer.ts'

export async function writeAll(file: FileHandle, bytes: Uint8Array, position: number): Promise<void> {
  for (let offset = 0; offset < bytes.length; ) {
    const { bytesWritten } = await file.write(bytes, offset, bytes.length - offset, position + offset)
    offset += bytesWritten
  }
}

export async function readAt(file: FileHandle, position: number, byteCount: number): Promise<Buffer> {
  const bytes = Buffer.allocUnsafeSlow(byteCount)
  for (let offset = 0; offset < byteCount; ) {
    const { bytesRead } = await file.read(bytes, offset, byteCount - offset, position + offset)
    if (bytesRead === 0) throw parquetFault('it is shorter than its metadata says')
    offset += bytesRead
  }
  return bytes
}
