/**
 * Brings the files of a log into a state that can be appended to, and says what it found.
 *
 * First everything is read and verified and nothing changed; a damaged log is refused in that state. Then the end is made
 * true: a process may have died between a write and its sync, or after a sync that failed and left clean pages in the cache
 * that no disk has, so the names are synced, and the last group is written and synced once more, before anything is built
 * upon them. Every step may be cut off by a crash and is repeated by the next start.
 */
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { assert } from '../shared/assert.ts'
import { checkpointName, writeCheckpoint } from './checkpoint.ts'
import { withFile } from './file-access.ts'
import type { FileLayer } from './file-layer.ts'
import { Generations } from './generations.ts'
import { readMark } from './log-mark.ts'
import { type LogSurvey, surveyLog } from './log-survey.ts'
import { copyAside, copyRange, salvageLog } from './salvage.ts'
import { draftSuffix, logIdBytes, segmentHeaderBytes } from './segment-format.ts'
import type { KnownSegment } from './segment-reader.ts'
import type { SegmentScan } from './segment-scan.ts'
import { firstSequence, type Sequence } from './sequence.ts'
import type { CutTail, RecoveryReport, WalOptions } from './wal.types.ts'
import { WalCorruptError } from './wal-errors.ts'

export interface RecoveredLog {
  readonly logId: Uint8Array
  readonly segments: readonly KnownSegment[]
  readonly released: Sequence
  readonly next: Sequence
  readonly generations: Generations
  readonly report: RecoveryReport
}

/**
 * @throws WalCorruptError when files are damaged and the options refuse to go on.
 * @throws WalFormatError when a newer version wrote them.
 */
export async function recoverLog(
  options: Pick<WalOptions, 'directory' | 'markPath' | 'onDamage'>,
  files: FileLayer,
): Promise<RecoveredLog> {
  const { directory, markPath, onDamage } = options
  await files.createDirectory(directory)
  const mark = await readMark(files, markPath)
  const survey = await surveyLog(files, directory, mark)
  if (survey === null) return createLog(files, directory)
  if (survey.damages.length === 0) return settleLog(files, directory, survey)
  if (onDamage === 'refuse') throw new WalCorruptError(survey.damages, mark?.waitingRows ?? null)
  const keptAside = await salvageLog(files, directory, survey)
  // All that the mark told is in the log's own files by now.
  const salvaged = await surveyLog(files, directory)
  assert(salvaged !== null, 'what was salvaged is a log')
  if (salvaged.damages.length > 0) throw new WalCorruptError(salvaged.damages)
  const log = await settleLog(files, directory, { ...salvaged, settled: survey.settled })
  const { damages, harmlessLosses } = survey
  return { ...log, report: { ...log.report, damages, harmlessLosses, keptAside } }
}

async function createLog(files: FileLayer, directory: string): Promise<RecoveredLog> {
  const logId = randomBytes(logIdBytes)
  const [released, next] = [firstSequence, firstSequence]
  await writeCheckpoint(files, directory, { logId, released, next, isClosed: false, generations: new Map() })
  const report: RecoveryReport = {
    isNew: true,
    wasClosed: false,
    segmentCount: 0,
    entryCount: 0,
    byteCount: 0,
    releasedSequence: released,
    nextSequence: next,
    cutTails: [],
    removedFiles: [],
    harmlessLosses: [],
    settledSequence: released,
    damages: [],
    keptAside: [],
    lostRanges: [],
  }
  return { logId, segments: [], released, next, generations: new Generations(), report }
}

async function settleLog(files: FileLayer, directory: string, survey: LogSurvey): Promise<RecoveredLog> {
  const { logId, released, generations, scans, next, unneeded } = survey
  // A process that was killed between a rename and its sync left names that only the cache has: before anything is built on
  // the checkpoint, or let go because of it, they must be on the disk.
  await files.syncDirectory(directory)
  const keptAside = await renewCheckpoint(files, directory, survey)
  // A segment that a crash left without entries is made anew when the next entry comes.
  const isUsed = (scan: SegmentScan) => scan.next > scan.place.first && scan.next > released
  const used = scans.filter(isUsed)
  for (const scan of used) await settleSegment(files, directory, scan, survey)
  const drafts = (await files.list(directory)).filter((name) => name.endsWith(draftSuffix))
  const removedFiles = [...drafts, ...unneeded, ...scans.filter((scan) => !isUsed(scan)).map(({ place }) => place.name)]
  await removeFiles(files, directory, removedFiles)
  const segments = used.map(({ place, next, end }) => ({ name: place.name, first: place.first, next, byteCount: end }))
  const lostRanges = scans.flatMap((scan) => scan.lostRanges)
  const report: RecoveryReport = {
    isNew: false,
    wasClosed: survey.isClosed && survey.synced === next,
    segmentCount: segments.length,
    entryCount: segments.reduce((total, segment) => total + segment.next - segment.first, 0),
    byteCount: segments.reduce((total, { byteCount }) => total + byteCount, 0),
    releasedSequence: released,
    nextSequence: next,
    cutTails: scans.flatMap(cutTailOf),
    removedFiles,
    harmlessLosses: survey.harmlessLosses,
    settledSequence: survey.settled,
    damages: [],
    keptAside,
    lostRanges: lostRanges.filter(({ last }) => last >= released),
  }
  return { logId, segments, released, next, generations, report }
}

/** Puts a whole checkpoint in the place of one that is lost; gives the name under which a damaged one is kept. */
async function renewCheckpoint(files: FileLayer, directory: string, survey: LogSurvey): Promise<readonly string[]> {
  const { harmlessLosses, logId, released, next, generations } = survey
  if (harmlessLosses.length === 0) return []
  const isBroken = harmlessLosses.some((loss) => loss.kind === 'checkpoint' && loss.reason !== 'missing')
  const copy = isBroken ? await copyAside(files, directory, checkpointName) : null
  await writeCheckpoint(files, directory, {
    logId,
    released,
    next,
    isClosed: false,
    generations: generations.entries(),
  })
  return copy === null ? [] : [copy]
}

async function settleSegment(files: FileLayer, directory: string, scan: SegmentScan, survey: LogSurvey): Promise<void> {
  const { place, size, end, lastGroupOffset } = scan
  const isSettled = place.until !== null || scan.next === survey.synced
  if (isSettled && size === end) return
  await withFile(files, { path: join(directory, place.name), mode: 'update' }, async (file) => {
    if (!isSettled) await copyRange(file, file, { offset: lastGroupOffset, end })
    if (size > end) await file.truncate(end)
    await file.datasync()
  })
}

async function removeFiles(files: FileLayer, directory: string, names: readonly string[]): Promise<void> {
  if (names.length === 0) return
  for (const name of names) await files.unlink(join(directory, name))
  await files.syncDirectory(directory)
}

function cutTailOf(scan: SegmentScan): readonly CutTail[] {
  const { place, writtenBytes, end, wholeEntriesBehind: wholeEntryCount } = scan
  // A header alone is a segment that was begun, and nothing was in it.
  if (writtenBytes <= Math.max(end, segmentHeaderBytes)) return []
  const reason = place.until === null ? 'torn' : 'abandoned'
  return [{ file: place.name, offset: end, byteCount: writtenBytes - end, wholeEntryCount, reason }]
}
