// What all modules stand on: the data directory, the engine, and the records that are held in memory.

import { join } from 'node:path'
import { CatalogLookup } from './access/catalog-lookup.ts'
import { renewOldDigest } from './access/tokens/old-digest.ts'
import type { TokenAuditLine } from './access/tokens/token.types.ts'
import { adminTokenFileName, openTokensWithFile, sealOldAdminToken } from './admin-token.ts'
import { type Catalog, catalogKinds, openCatalog } from './catalog/catalog.ts'
import { openVariables, sealOldVariable, variableKinds } from './catalog/variables.ts'
import type { Options } from './config.ts'
import { refuseLostCatalog } from './datasources/recovery/lost-catalog.ts'
import { PartNote } from './datasources/recovery/part-note.ts'
import { reportDefinitions } from './datasources/recovery/report-definitions.ts'
import { closeToOthers } from './directory/close-to-others.ts'
import { DiskWatch } from './directory/disk-watch.ts'
import { type FormatStep, raiseFormat, readFormat } from './directory/format.ts'
import { lockDirectory } from './directory/lock.ts'
import { TableChanges } from './imports/url-jobs/table-changes.ts'
import type { Jobs, OnJobLimit } from './jobs/jobs.types.ts'
import { openJobs } from './jobs/open-jobs.ts'
import { LimitBook } from './limits/limit-book.ts'
import { LimitHits } from './limits/limit-hits.ts'
import { openRates } from './limits/rates.ts'
import { openInsertsUnderWay } from './materialize/behind/inserts-under-way.ts'
import { openKeptImports } from './materialize/behind/kept-imports.ts'
import { Recorder } from './metrics/recorder.ts'
import { LogSecrets } from './observe/log-secrets.ts'
import type { Logger } from './observe/logger.ts'
import type { WorkRecorder } from './observe/work-recorder.types.ts'
import { openSecretStorage } from './secrets/open-secrets.ts'
import type { SealPlain } from './secrets/sealed-records.ts'
import { type KeyFile, keyPlaceOf, readKeyFile } from './secrets/secret-key-file.ts'
import { openServiceRows } from './service-rows/open-service-rows.ts'
import { RowSecrets } from './service-rows/row-secrets.ts'
import { mebibyte } from './shared/bytes.ts'
import type { CloseTime } from './shared/close-time.ts'
import { loadRecords } from './storage/loaded-records.ts'
import { openSettings, type Settings } from './storage/settings.ts'
import { openEmbeddedStore } from './store/embedded/embedded-store.ts'
import type { SupervisedStore } from './store/store.types.ts'
import { raiseCheckpoint } from './wal/checkpoint.ts'
import { diskFileLayer } from './wal/file-layer.ts'
import { markName } from './wal/log-mark.ts'
import { logDirectoryName } from './wal/wal.ts'

export const catalogName = 'catalog.lmdb'
/** How the plain secrets of earlier releases are sealed, each by the module that keeps them. */
export const sealPlain: readonly SealPlain[] = [sealOldVariable, sealOldAdminToken, renewOldDigest]
/** A workspace has room for this many pipes; the catalog is held in memory. */
const pipesMax = 10_000

export interface Closing {
  /** What to close, in the order of opening. */
  readonly opened: (() => Promise<void>)[]
  readonly closeTime: CloseTime
}

/** When in the time for closing each is done with waiting; what is left of it is for the end of the engine. */
export const closeShares = { jobs: 0.5, replaces: 0.55, behind: 0.6, ingest: 0.65, serviceRows: 0.7, store: 0.8 }

/** Opens them in order; the lock comes first, and nothing in the directory is touched before it is held. */
export async function openGround(options: Options, logger: Logger, closing: Closing) {
  const { opened } = closing
  const { store, disk, keyFile } = await openDirectory(options, logger, closing)
  const recorder = options.metrics === 'on' ? new Recorder(options.metricsLabelsMax) : undefined
  const tokens = new LogSecrets()
  const secrets = new RowSecrets(tokens)
  const workRecorder = await openWorkRecorder(options, { store, secrets, logger }, closing)
  const limitHits = new LimitHits(logger)
  const records = await openRecords(options, {
    ...{ store, disk, keyFile, recorder, workRecorder, limitHits, logger, opened },
  })
  if (records.adminToken.text !== null) tokens.hide(records.adminToken.text)
  secrets.hideVariables(records.variables)
  const { catalog, settings, jobs } = records
  secrets.showNames((text) => isNameIn(catalog, text))
  const partNote = new PartNote(options.dataDir, { catalog, store, logger })
  await partNote.compareAtStart()
  opened.push(() => partNote.close())
  const changes = new TableChanges({ settings, hasUnfinished: (id) => hasUnfinishedImport(jobs, id) })
  const whileRemoving = changes.notedIn(partNote.whileRemoving.bind(partNote))
  const limits = openLimits(options, { settings, store, limitHits, logger, opened })
  if (recorder !== undefined) limitHits.onLimitHit(({ limit }) => recorder.limits.add(limit))
  limitHits.onLimitHit((hit) => workRecorder.limit(hit))
  const told = { ...limits, recorder, workRecorder, logger }
  return { ...records, ...told, store, disk, partNote, changes, whileRemoving, now: Date.now }
}

type LimitsDeps = Pick<RecordsDeps, 'limitHits' | 'logger' | 'opened' | 'store'> & { readonly settings: Settings }

/** What limits requests, and who is told of it. */
function openLimits(options: Options, deps: LimitsDeps) {
  const processorUse = () => deps.store.readersUse()
  const rates = openRates(options, { ...deps, processorUse, now: steadyNow })
  deps.opened.push(() => rates.close())
  const { limitHits } = deps
  return { limitHits, rates, limitBook: new LimitBook(options, { rates, hits: limitHits, now: steadyNow }) }
}

/** Epoch milliseconds, never set back while the process lives. */
const steadyNow = (): number => performance.timeOrigin + performance.now()

export type Ground = Awaited<ReturnType<typeof openGround>>

/** The data directory, locked and of this release's format, with the engine and the watch over the disk. */
async function openDirectory(
  options: Options,
  logger: Logger,
  { opened, closeTime }: Closing,
): Promise<Pick<RecordsDeps, 'disk' | 'keyFile' | 'store'>> {
  const foundFormat = await readFormat(options.dataDir)
  const lock = await lockDirectory(options.dataDir, logger)
  opened.push(async () => lock.release())
  const keyFile = await readKeyFile(keyPlaceOf(options), logger)
  const store = await openStore(options, logger)
  opened.push(() => store.close(closeTime.leftUntil(closeShares.store)))
  await raiseFormat(options.dataDir, foundFormat, formatSteps(options))
  await closeToOthers(options.dataDir, logger)
  const disk = new DiskWatch(options.dataDir, logger)
  opened.push(() => disk.close())
  return { store, disk, keyFile }
}

/** What modules tell their work to; opened before them, so that what they tell at their close is stored too. */
async function openWorkRecorder(
  options: Options,
  deps: Pick<RecordsDeps, 'logger' | 'store'> & { readonly secrets: RowSecrets },
  { opened, closeTime }: Closing,
): Promise<WorkRecorder> {
  const serviceRows = await openServiceRows(options, deps)
  opened.push(() => serviceRows.close(closeTime.leftUntil(closeShares.serviceRows)))
  return serviceRows.recorder
}

/** Of an id that carries a label, or a name with a version, the rest may be anything. */
function isNameIn(catalog: Pick<Catalog, 'find' | 'findPipe'>, text: string): boolean {
  return [catalog.find(text), catalog.findPipe(text)].some((found) => found?.name === text || found?.id === text)
}

function tellToken({ at, tokenId, tokenName, ...line }: TokenAuditLine, workRecorder: WorkRecorder): void {
  workRecorder.token({ ...line, atMs: at, token: { id: tokenId, name: tokenName } })
}

function hasUnfinishedImport(jobs: Jobs, subjectId: string): boolean {
  return jobs.list({ kinds: ['import'], statuses: ['waiting', 'working', 'cancelling'], subjectId }).length > 0
}

interface RecordsDeps extends Pick<Closing, 'opened'> {
  readonly store: SupervisedStore
  readonly disk: DiskWatch
  readonly keyFile: KeyFile
  readonly recorder: Recorder | undefined
  readonly workRecorder: WorkRecorder
  readonly limitHits: LimitHits
  readonly logger: Logger
}

/** What is kept in the catalog's file: the modules that hold records of it in memory. */
async function openRecords(options: Options, deps: RecordsDeps) {
  const { store, disk, keyFile, recorder, workRecorder, limitHits, logger, opened } = deps
  const now = Date.now
  const catalogPath = join(options.dataDir, catalogName)
  await refuseLostCatalog(catalogPath, { store, laterNames: [adminTokenFileName, logDirectoryName, markName] })
  const secrets = await openSecretStorage(catalogPath, { keyFile, sealPlain, disk, logger })
  const { storage, box } = secrets
  opened.push(() => storage.close())
  const settings = await openSettings(storage)
  const catalog = openCatalog({ ...options, pipesMax, now }, await loadRecords(storage, catalogKinds))
  opened.push(() => catalog.close())
  const lookup = new CatalogLookup(catalog)
  const onAudited = (line: TokenAuditLine): void => tellToken(line, workRecorder)
  const { tokens, adminToken } = await openTokensWithFile(options, { storage, box, lookup, onAudited, logger, now })
  opened.push(() => tokens.close())
  const lostSecretCount = await secrets.reportLost()
  reportDefinitions(catalog, logger, options.columnsMax)
  const variables = openVariables({ now, box }, await loadRecords(storage, variableKinds))
  opened.push(() => variables.close())
  const onLimit: OnJobLimit = (refusal, { owner, subject }, requestId) =>
    limitHits.tell({ ...refusal, ...owner, atMs: now(), requestId, resource: subject?.name ?? null })
  const jobs = await openJobs(options, { storage, recorder, workRecorder, onLimit, logger, now })
  const keptImports = await openKeptImports(options, { storage, store, logger })
  const insertsUnderWay = await openInsertsUnderWay(options, { store })
  return {
    keptImports,
    insertsUnderWay,
    settings,
    lookup,
    tokens,
    adminToken,
    lostSecretCount,
    catalog,
    variables,
    jobs,
    box,
  }
}

/** Statements of our own: DDL, statistics, the catalog's mending. */
const statementsInFlightMax = 2
/** Inserts, queries and statements that may wait for a session; the senders behind them are bounded too. */
const statementsWaitingMax = 1_000
/** Results that lie on disk while their readers are slow. */
const openResultsMax = 256
const heldResultBytesMax = 64 * mebibyte
const mergeThreads = 2

function openStore(options: Options, logger: Logger): Promise<SupervisedStore> {
  return openEmbeddedStore(
    {
      dataDirectory: options.dataDir,
      insertsInFlightMax: options.insertsInFlightMax,
      insertTimeMaxMs: options.insertTimeMaxMs,
      insertMemoryBytesMax: Math.floor(options.engineMemoryBytesMax / 2),
      selectsInFlightMax: options.readSessions,
      statementsInFlightMax,
      waitingMax: statementsWaitingMax,
      memoryBytesMax: options.engineMemoryBytesMax,
      mergeThreads,
      queryTimeMaxMs: options.queryTimeMaxMs,
      longQueryTimeMaxMs: options.queryJobTimeMaxMs,
      // One query must not take what intake and the other queries need.
      queryMemoryBytesMax: Math.floor(options.engineMemoryBytesMax / 2),
      resultBytesMax: options.resultBytesMax,
      resultFilesBytesMax: options.resultFilesBytesMax,
      openResultsMax,
      copyPartitionsMax: options.partitionsMax,
      heldResultBytesMax,
      closeTimeMaxMs: options.closeTimeoutMs,
    },
    logger,
  )
}

/** What turns a data directory of an older format into one of the current one, before anything else in it is written. */
function formatSteps({ dataDir }: Options): readonly FormatStep[] {
  return [{ to: 2, run: () => raiseCheckpoint(diskFileLayer, join(dataDir, logDirectoryName)) }]
}
