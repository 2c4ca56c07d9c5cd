import { checkpointName } from './checkpoint.ts'
import type { FileLayer } from './file-layer.ts'
import { Generations } from './generations.ts'
import { knownOf } from './known-log.ts'
import type { LogMark } from './log-mark.ts'
import { parseSegmentName, segmentName } from './segment-format.ts'
import { type SegmentScan, scanSegment } from './segment-scan.ts'
import { firstSequence, type Sequence, toSequence } from './sequence.ts'
import type { Damage, HarmlessLoss } from './wal.types.ts'

/** What the files of a log say, without a change to any of them. */
export interface LogSurvey {
  readonly logId: Uint8Array
  readonly released: Sequence
  readonly settled: Sequence
  /** Everything below had been synced when the checkpoint, or the mark, was written. */
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
  readonly harmlessLosses: readonly HarmlessLoss[]
  /** Needed entries before the first segment there is. */
  readonly missing: { readonly first: Sequence; readonly until: Sequence } | null
}

/** Null when the directory holds no log yet. @throws WalFormatError when a newer version wrote one of the files. */
export async function surveyLog(
  files: FileLayer,
  directory: string,
  mark: LogMark | null = null,
): Promise<LogSurvey | null> {
  const names = await files.list(directory)
  const firsts = segmentFirsts(names)
  const hasCheckpoint = names.includes(checkpointName)
  if (!hasCheckpoint && firsts.length === 0 && mark === null) return null
  const known = await knownOf(files, directory, { firsts, hasCheckpoint, mark })
  const { logId, settled, synced, isClosed } = known
  // Where all segments are gone, and all that was in them is stored, nothing is missed but the keys of requests.
  const areGone = firsts.length === 0 && known.released < synced && settled >= synced
  const released = areGone ? synced : known.released
  // When all that is known to be synced was released, its segments may be on their way out, in any order.
  const required = released < synced ? synced : firstSequence
  const needed = firsts.filter((_, index) => (firsts[index + 1] ?? Number.POSITIVE_INFINITY) > released)
  const generations = new Generations(known.generations)
  const scans: SegmentScan[] = []
  for (const [index, first] of needed.entries()) {
    const place = { name: segmentName(first), first, until: needed[index + 1] ?? null, logId, required }
    scans.push(await scanSegment(files, directory, place, generations))
  }
  const missing = missingBefore(needed[0] ?? synced, released)
  const missingDamages = missing === null ? [] : [missingDamage(missing)]
  const scanDamages = scans.flatMap(({ damage }) => (damage === null ? [] : [damage]))
  const goneSegments = areGone ? [{ kind: 'stored-segments', first: known.released, last: synced - 1 } as const] : []
  return {
    logId,
    released,
    settled: settled > released ? settled : released,
    synced,
    next: toSequence(Math.max(scans.at(-1)?.next ?? synced, synced)),
    isClosed,
    generations,
    scans,
    unneeded: firsts.filter((first) => !needed.includes(first)).map(segmentName),
    damages: [...known.damages, ...missingDamages, ...scanDamages],
    harmlessLosses: [...known.harmlessLosses, ...goneSegments],
    missing,
  }
}

function segmentFirsts(names: readonly string[]): readonly Sequence[] {
  const firsts = names.map(parseSegmentName).filter((first) => first !== null)
  return firsts.toSorted((a, b) => a - b)
}

function missingBefore(first: Sequence, released: Sequence): LogSurvey['missing'] {
  return first > released ? { first: released, until: first } : null
}

function missingDamage({ first, until }: { readonly first: Sequence; readonly until: Sequence }): Damage {
  const place = { file: segmentName(first), offset: 0, reason: 'missing' } as const
  return { ...place, firstLost: first, lastLost: until - 1, nextGood: null }
}
