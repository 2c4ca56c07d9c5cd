import type { FileHandle } from 'node:fs/promises'

/** Writes all of `bytes` at `position`: the system may take a part of them at a time. */
export async function writeAll(file: FileHandle, bytes: Uint8Array, position: number): Promise<void> {
  for (let offset = 0; offset < bytes.length; ) {
    const { bytesWritten } = await file.write(bytes, offset, bytes.length - offset, position + offset)
    offset += bytesWritten
  }
}
