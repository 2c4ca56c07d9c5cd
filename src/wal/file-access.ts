import type { FileLayer, LogFile, OpenMode } from './file-layer.ts'

/** Opens a file, gives it to `use`, and closes it whatever happens. */
export async function withFile<Result>(
  files: FileLayer,
  place: { readonly path: string; readonly mode: OpenMode },
  use: (file: LogFile) => Promise<Result>,
): Promise<Result> {
  const file = await files.open(place.path, place.mode)
  try {
    return await use(file)
  } finally {
    await file.close()
  }
}

/** Reads until `target` is full or the file ends; gives the bytes read. */
export async function readFully(file: LogFile, target: Uint8Array, position: number): Promise<number> {
  let filled = 0
  while (filled < target.length) {
    const count = await file.read(target.subarray(filled), position + filled)
    if (count === 0) break
    filled += count
  }
  return filled
}

/**
 * Writes all bytes, going on after a short write.
 *
 * @throws what the layer throws, after any part of the bytes was written.
 */
export async function writeFully(file: LogFile, chunks: readonly Uint8Array[], position: number): Promise<void> {
  let rest = chunks.filter((chunk) => chunk.length > 0)
  let place = position
  while (rest.length > 0) {
    const written = await file.write(rest, place)
    if (written === 0) throw new Error('the disk takes no bytes and names no reason')
    place += written
    rest = behind(rest, written)
  }
}

/** No room on the device, or in the quota: passes when somebody makes room, unlike every other error of a disk. */
export function isDiskFull(error: unknown): boolean {
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  return code === 'ENOSPC' || code === 'EDQUOT'
}

function behind(chunks: readonly Uint8Array[], written: number): Uint8Array[] {
  let skipped = 0
  for (const [index, chunk] of chunks.entries()) {
    if (skipped + chunk.length > written) return [chunk.subarray(written - skipped), ...chunks.slice(index + 1)]
    skipped += chunk.length
  }
  return []
}
