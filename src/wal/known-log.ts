/**
 * What checkpoint and mark say of a log before its segments are read, and which of them speaks of this log.
 *
 * Either may be lost, damaged, or of another time or another log: a checkpoint tells nothing that mark and segments do not
 * tell as well, so its loss costs nothing; a mark only adds to what the log's own files tell.
 */
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { type Checkpoint, readCheckpoint } from './checkpoint.ts'
import { readFully, withFile } from './file-access.ts'
import type { FileLayer } from './file-layer.ts'
import type { Generation } from './generations.ts'
import { type LogMark, markName } from './log-mark.ts'
import { logIdBytes, readLogId, segmentHeaderBytes, segmentName } from './segment-format.ts'
import { firstSequence, type Sequence } from './sequence.ts'
import type { Damage, HarmlessLoss } from './wal.types.ts'

export interface KnownLog {
  readonly logId: Uint8Array
  readonly released: Sequence
  readonly settled: Sequence
  readonly synced: Sequence
  readonly isClosed: boolean
  readonly generations: ReadonlyMap<string, Generation>
  readonly harmlessLosses: readonly HarmlessLoss[]
  readonly damages: readonly Damage[]
}

interface FoundFiles {
  readonly firsts: readonly Sequence[]
  readonly hasCheckpoint: boolean
  readonly mark: LogMark | null
}

/** Changes nothing. @throws WalFormatError when a newer version wrote one of the files. */
export async function knownOf(files: FileLayer, directory: string, found: FoundFiles): Promise<KnownLog> {
  const read = found.hasCheckpoint ? await readCheckpoint(files, directory) : null
  const ids = await logIdsOf(files, directory, found.firsts)
  const logId = commonest([read?.logId, found.mark?.logId, ...ids]) ?? randomBytes(logIdBytes)
  const checkpoint = read !== null && isSame(read.logId, logId) ? read : null
  const isOurs = found.mark !== null && isSame(found.mark.logId, logId)
  const mark = isOurs ? found.mark : null
  const losses: HarmlessLoss[] = []
  if (checkpoint === null) losses.push({ kind: 'checkpoint', reason: lossOf(found.hasCheckpoint, read) })
  // Without both everything there counts as needed.
  const released = latest(checkpoint?.released, mark?.released) ?? found.firsts[0] ?? firstSequence
  const synced = latest(checkpoint?.next, mark?.next) ?? released
  return {
    logId,
    released,
    settled: latest(released, mark?.settled) ?? released,
    synced,
    isClosed: checkpoint?.isClosed === true && checkpoint.next === synced,
    generations: checkpoint?.generations ?? new Map(),
    harmlessLosses: losses,
    damages: found.mark === null || isOurs ? [] : otherLog(found.mark),
  }
}

function lossOf(hasCheckpoint: boolean, read: Checkpoint | null): 'checksum' | 'foreign' | 'missing' {
  if (!hasCheckpoint) return 'missing'
  return read === null ? 'checksum' : 'foreign'
}

/** The log that the mark tells of is not the one that is there: nothing is missed of it if all of it was stored. */
function otherLog({ settled, next }: LogMark): readonly Damage[] {
  if (settled >= next) return []
  return [{ file: markName, offset: 0, reason: 'log-id', firstLost: settled, lastLost: next - 1, nextGood: null }]
}

function latest(...sequences: readonly (Sequence | undefined)[]): Sequence | undefined {
  return sequences.reduce(
    (most, one) => (most === undefined || (one !== undefined && one > most) ? one : most),
    undefined,
  )
}

function isSame(one: Uint8Array, other: Uint8Array): boolean {
  return Buffer.compare(one, other) === 0
}

/** The first of those that are named most often. */
function commonest(ids: readonly (Uint8Array | undefined)[]): Uint8Array | undefined {
  const counts = new Map<string, { readonly id: Uint8Array; count: number }>()
  for (const id of ids) {
    if (id === undefined) continue
    const known = counts.get(Buffer.from(id).toString('hex'))
    if (known === undefined) counts.set(Buffer.from(id).toString('hex'), { id, count: 1 })
    else known.count += 1
  }
  const most = Math.max(0, ...[...counts.values()].map(({ count }) => count))
  return [...counts.values()].find(({ count }) => count === most)?.id
}

/** The log ids of all segments whose headers are whole. */
async function logIdsOf(
  files: FileLayer,
  directory: string,
  firsts: readonly Sequence[],
): Promise<readonly Uint8Array[]> {
  const ids: Uint8Array[] = []
  for (const name of firsts.map(segmentName)) {
    const id = await withFile(files, { path: join(directory, name), mode: 'read' }, async (file) => {
      const header = Buffer.alloc(segmentHeaderBytes)
      return readLogId(header.subarray(0, await readFully(file, header, 0)), name)
    })
    if (id !== null) ids.push(id)
  }
  return ids
}
