/**
 * The checkpoint says what of the log is still needed, and how far the log had been synced when it was written.
 *
 * It is replaced as a whole: written to `checkpoint.new`, synced, renamed, the directory synced; only then may a segment be
 * unlinked, so a log without a valid checkpoint is damaged, and entries below its `next` that are missing are damage too.
 * Format, numbers little-endian or varint: magic (8), format version (4), log id (8), released, next, closed (1), count of
 * generations, for each the stream's name, generation, final (1) and sequence; CRC32 of all this (4).
 */
import { join } from 'node:path'
import { crc32 } from 'node:zlib'
import { ByteReader, ByteWriter } from './byte-cursor.ts'
import { readFully, withFile, writeFully } from './file-access.ts'
import type { FileLayer } from './file-layer.ts'
import type { Generation } from './generations.ts'
import { logIdBytes } from './segment-format.ts'
import { type Sequence, toSequence } from './sequence.ts'
import { WalFormatError } from './wal-errors.ts'

export const checkpointName = 'checkpoint'
const newCheckpointName = 'checkpoint.new'
/** Raised with the format of the data directory: versions that do not know that number refuse a directory by this one. */
const checkpointFormatVersion = 2
/** Same content; what a directory of format 1 has. */
const firstFormatVersion = 1
const magic = Buffer.from('MILLRCKP')
const crcBytes = 4
const bytesMin = 8 + 4 + logIdBytes + 1 + 1 + 1 + 1 + crcBytes

export interface Checkpoint {
  readonly logId: Uint8Array
  /** Nothing below is needed. */
  readonly released: Sequence
  /** Everything below had been synced. */
  readonly next: Sequence
  /** Written by a proper close: `next` is the end of the log. */
  readonly isClosed: boolean
  readonly generations: ReadonlyMap<string, Generation>
}

/** Resolves when the checkpoint is on disk; after an error either the old or the new one is, and both are true. */
export async function writeCheckpoint(files: FileLayer, directory: string, checkpoint: Checkpoint): Promise<void> {
  const bytes = encodeCheckpoint(checkpoint)
  const path = join(directory, newCheckpointName)
  await withFile(files, { path, mode: 'create' }, async (file) => {
    await writeFully(file, [bytes], 0)
    await file.datasync()
  })
  await files.rename(path, join(directory, checkpointName))
  await files.syncDirectory(directory)
}

/**
 * The checkpoint, or null when the file is damaged.
 *
 * @throws WalFormatError when it is whole and of another version.
 */
export async function readCheckpoint(files: FileLayer, directory: string): Promise<Checkpoint | null> {
  const bytes = await withFile(files, { path: join(directory, checkpointName), mode: 'read' }, async (file) => {
    const content = Buffer.alloc(await file.size())
    return content.subarray(0, await readFully(file, content, 0))
  })
  return decodeCheckpoint(bytes)
}

/**
 * Writes the checkpoint of a log anew in the current version, so that no older version opens the log any more. What there is
 * no valid checkpoint of is left as it is: whoever opens the log next judges that.
 *
 * @throws WalFormatError when a newer version wrote it.
 */
export async function raiseCheckpoint(files: FileLayer, directory: string): Promise<void> {
  const checkpoint = await readCheckpoint(files, directory).catch((thrown: unknown) => {
    if (thrown instanceof Error && 'code' in thrown && thrown.code === 'ENOENT') return null
    throw thrown
  })
  if (checkpoint !== null) await writeCheckpoint(files, directory, checkpoint)
}

export function encodeCheckpoint({ logId, released, next, isClosed, generations }: Checkpoint): Buffer {
  const writer = new ByteWriter().bytes(magic).uint32(checkpointFormatVersion).bytes(logId)
  writer
    .varint(released)
    .varint(next)
    .byte(isClosed ? 1 : 0)
    .varint(generations.size)
  for (const [stream, { generation, isFinal, sequence }] of generations) {
    writer
      .text(stream)
      .varint(generation)
      .byte(isFinal ? 1 : 0)
      .varint(sequence)
  }
  const content = writer.finish()
  return new ByteWriter().bytes(content).uint32(crc32(content)).finish()
}

/** See `readCheckpoint`. */
export function decodeCheckpoint(bytes: Buffer): Checkpoint | null {
  if (bytes.length < bytesMin || !bytes.subarray(0, 8).equals(magic)) return null
  const content = bytes.subarray(0, bytes.length - crcBytes)
  if (crc32(content) !== bytes.readUInt32LE(content.length)) return null
  const reader = new ByteReader(content.subarray(magic.length))
  const version = reader.uint32()
  if (version < firstFormatVersion || version > checkpointFormatVersion) {
    throw new WalFormatError(
      `the checkpoint of the write-ahead log is of format ${version}, and this version reads formats ${firstFormatVersion} to ${checkpointFormatVersion}`,
    )
  }
  const logId = Uint8Array.from(reader.bytes(logIdBytes))
  const released = toSequence(reader.varint())
  const next = toSequence(reader.varint())
  const isClosed = reader.flag()
  const generations = readGenerations(reader)
  reader.end()
  return { logId, released, next, isClosed, generations }
}

function readGenerations(reader: ByteReader): ReadonlyMap<string, Generation> {
  const generations = new Map<string, Generation>()
  const count = reader.varint()
  for (let index = 0; index < count; index += 1) {
    const stream = reader.text()
    const generation = reader.varint()
    const isFinal = reader.flag()
    generations.set(stream, { generation, isFinal, sequence: reader.varint() })
  }
  return generations
}
