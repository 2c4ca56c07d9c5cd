import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { checkpointName, readCheckpoint } from './checkpoint.ts'
import { readFully, withFile } from './file-access.ts'
import type { FileLayer } from './file-layer.ts'
import { type Generation, Generations } from './generations.ts'
import { logIdBytes, parseSegmentName, readLogId, segmentHeaderBytes, segmentName } from './segment-format.ts'
import { type SegmentScan, scanSegment } from './segment-scan.ts'
import { firstSequence, type Sequence, toSequence } from './sequence.ts'
import type { Damage } from './wal.types.ts'

/** What the files of a log say, without a change to any of them. */
export interface LogSurvey {
  readonly logId: Uint8Array
  readonly released: Sequence
  /** Everything below had been synced when the checkpoint was written. */
  readonly synced: Sequence
  /** Behind the last usable entry, and not below `synced`: no sequence is used twice. */
  readonly next: Sequence
  readonly isClosed: boolean
  readonly generations: Generations
  /** The segments that are needed, in order. */
  readonly scans: readonly SegmentScan[]
  /** Segments of which nothing is needed. */
  readonly unneeded: readonly string[]
  readonly damages: readonly Damage[]
  /** Needed entries before the first segment there is. */
  readonly missing: { readonly first: Sequence; readonly until: Sequence } | null
}

interface KnownCheckpoint {
  readonly logId: Uint8Array
  readonly released: Sequence
  readonly next: Sequence
  readonly isClosed: boolean
  readonly generations: ReadonlyMap<string, Generation>
  readonly damages: readonly Damage[]
}

/** Null when the directory holds no log yet. @throws WalFormatError when a newer version wrote one of the files. */
export async function surveyLog(files: FileLayer, directory: string): Promise<LogSurvey | null> {
  const names = await files.list(directory)
  const firsts = segmentFirsts(names)
  const hasCheckpoint = names.includes(checkpointName)
  if (!hasCheckpoint && firsts.length === 0) return null
  const checkpoint =
    (hasCheckpoint ? await intactCheckpoint(files, directory) : null) ??
    (await guessedCheckpoint(files, directory, { firsts, hasCheckpoint }))
  const { logId, released, next: synced, isClosed } = checkpoint
  // When all that is known to be synced was released, its segments may be on their way out, in any order.
  const required = released < synced ? synced : firstSequence
  const needed = firsts.filter((_, index) => (firsts[index + 1] ?? Number.POSITIVE_INFINITY) > released)
  const generations = new Generations(checkpoint.generations)
  const scans: SegmentScan[] = []
  for (const [index, first] of needed.entries()) {
    const place = { name: segmentName(first), first, until: needed[index + 1] ?? null, logId, required }
    scans.push(await scanSegment(files, directory, place, generations))
  }
  const missing = missingBefore(needed[0] ?? synced, released)
  const missingDamages = missing === null ? [] : [missingDamage(missing)]
  const scanDamages = scans.flatMap(({ damage }) => (damage === null ? [] : [damage]))
  return {
    logId,
    released,
    synced,
    next: toSequence(Math.max(scans.at(-1)?.next ?? synced, synced)),
    isClosed,
    generations,
    scans,
    unneeded: firsts.filter((first) => !needed.includes(first)).map(segmentName),
    damages: [...checkpoint.damages, ...missingDamages, ...scanDamages],
    missing,
  }
}

function segmentFirsts(names: readonly string[]): readonly Sequence[] {
  const firsts = names.map(parseSegmentName).filter((first) => first !== null)
  return firsts.toSorted((a, b) => a - b)
}

async function intactCheckpoint(files: FileLayer, directory: string): Promise<KnownCheckpoint | null> {
  const checkpoint = await readCheckpoint(files, directory)
  return checkpoint === null ? null : { ...checkpoint, damages: [] }
}

/** Stands in for a checkpoint that is damaged or gone: everything there is counts as needed. */
async function guessedCheckpoint(
  files: FileLayer,
  directory: string,
  found: { readonly firsts: readonly Sequence[]; readonly hasCheckpoint: boolean },
): Promise<KnownCheckpoint> {
  const released = found.firsts[0] ?? firstSequence
  const reason = found.hasCheckpoint ? 'checkpoint-checksum' : 'checkpoint-missing'
  const damage: Damage = { file: checkpointName, offset: 0, reason, firstLost: released, nextGood: null }
  const logId = (await logIdOf(files, directory, found.firsts)) ?? randomBytes(logIdBytes)
  return { logId, released, next: released, isClosed: false, generations: new Map(), damages: [damage] }
}

/** The log id of the first segment whose header is whole. */
async function logIdOf(files: FileLayer, directory: string, firsts: readonly Sequence[]): Promise<Uint8Array | null> {
  for (const name of firsts.map(segmentName)) {
    const logId = await withFile(files, { path: join(directory, name), mode: 'read' }, async (file) => {
      const header = Buffer.alloc(segmentHeaderBytes)
      return readLogId(header.subarray(0, await readFully(file, header, 0)), name)
    })
    if (logId !== null) return logId
  }
  return null
}

function missingBefore(first: Sequence, released: Sequence): LogSurvey['missing'] {
  return first > released ? { first: released, until: first } : null
}

function missingDamage({ first, until }: { readonly first: Sequence; readonly until: Sequence }): Damage {
  const nextGood = { offset: segmentHeaderBytes, sequence: toSequence(until) }
  return { file: segmentName(first), offset: 0, reason: 'missing', firstLost: first, nextGood }
}
