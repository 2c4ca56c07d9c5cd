/**
 * The service: every module opened in order, and closed in reverse.
 *
 * The lock on the data directory comes first, because it is what refuses a second process, and nothing in the directory is
 * touched before it is held. Then the store, whose engine has a lock of its own: against older versions, and against an
 * engine that has outlived its service.
 */
import { join } from 'node:path'
import { adminScope as serviceScope } from './access/admin-scope.ts'
import { CatalogLookup } from './access/catalog-lookup.ts'
import { openAccess } from './access/open-access.ts'
import { renewOldDigest } from './access/tokens/old-digest.ts'
import { type AdminToken, adminTokenFileName, openTokensWithFile, sealOldAdminToken } from './admin-token.ts'
import { createApp } from './app.ts'
import { type Catalog, catalogKinds, openCatalog } from './catalog/catalog.ts'
import { openVariables, sealOldVariable, variableKinds } from './catalog/variables.ts'
import type { Options } from './config.ts'
import { openDataSources } from './datasources/datasources.ts'
import type { DataSources } from './datasources/datasources.types.ts'
import { refuseLostCatalog } from './datasources/recovery/lost-catalog.ts'
import { PartNote } from './datasources/recovery/part-note.ts'
import { reportDefinitions } from './datasources/recovery/report-definitions.ts'
import { forgetRemovals } from './datasources/removal-notes.ts'
import { PendingReplaces } from './datasources/replace/pending-replaces.ts'
import type { Replaces } from './datasources/replace/replace.types.ts'
import { openReplaces } from './datasources/replace/replaces.ts'
import { closeToOthers } from './directory/close-to-others.ts'
import { DiskWatch } from './directory/disk-watch.ts'
import { type FormatStep, raiseFormat, readFormat } from './directory/format.ts'
import { lockDirectory } from './directory/lock.ts'
import { openImports } from './imports/imports.ts'
import { TableChanges } from './imports/url-jobs/table-changes.ts'
import type { IngestViews } from './ingest/events/events-ingest.ts'
import { openIngest } from './ingest/ingest.ts'
import type { Ingest } from './ingest/ingest.types.ts'
import { openJobKinds } from './job-kinds.ts'
import type { Jobs } from './jobs/jobs.types.ts'
import { openJobs } from './jobs/open-jobs.ts'
import { openViewsBehind, type ViewsBehind } from './materialize/behind/views-behind.ts'
import { openMaterialize } from './materialize/materialize.ts'
import type { Materialize } from './materialize/materialize.types.ts'
import { RepairService } from './materialize/verify/repairs.ts'
import { VerifyService } from './materialize/verify/verifies.ts'
import type { Logger } from './observe/logger.ts'
import { openPopulates } from './open-populates.ts'
import { EndpointDescriptions } from './pipes/endpoint-descriptions.ts'
import { createPipeUsers } from './pipes/pipe-users.ts'
import { createPipes } from './pipes/pipes.ts'
import { reportNodes } from './pipes/report-nodes.ts'
import { verifySafeguards } from './query/agreement.ts'
import { createQuery } from './query/query.ts'
import type { Query } from './query/query.types.ts'
import { findServiceSource } from './query/service-sources.ts'
import { openSecretStorage } from './secrets/open-secrets.ts'
import type { SealPlain } from './secrets/sealed-records.ts'
import { type KeyFile, keyPlaceOf, readKeyFile } from './secrets/secret-key-file.ts'
import { mebibyte } from './shared/bytes.ts'
import { CloseTime } from './shared/close-time.ts'
import { linkErrorsTo } from './shared/errors/errors.ts'
import { toStartRefusal } from './start-refusal.ts'
import { loadRecords } from './storage/loaded-records.ts'
import { openSettings, type Settings } from './storage/settings.ts'
import type { AppendGate } from './store/append-gate.ts'
import { openEmbeddedStore } from './store/embedded/embedded-store.ts'
import type { RestartedEngine, SupervisedStore } from './store/store.types.ts'
import { workspaceDatabase } from './store/workspace-database.ts'
import { raiseCheckpoint } from './wal/checkpoint.ts'
import { diskFileLayer } from './wal/file-layer.ts'
import { markName } from './wal/log-mark.ts'
import { toSequence } from './wal/sequence.ts'
import { logDirectoryName } from './wal/wal.ts'

export interface Service {
  /** `http://host:port`, the port being the real one. */
  readonly address: string
  readonly adminToken: AdminToken
  /** Of secrets that cannot be read, because the key that encrypted them is missing. */
  readonly lostSecretCount: number
  /** Resolves when the service can go on no longer: its engine ends again and again. */
  readonly failed: Promise<Error>
  /** Refuses new requests, answers those under way, stores what was taken, and closes every module. */
  close(): Promise<void>
}

export const catalogName = 'catalog.lmdb'
/** How the plain secrets of earlier releases are sealed, each by the module that keeps them. */
export const sealPlain: readonly SealPlain[] = [sealOldVariable, sealOldAdminToken, renewOldDigest]
/** A workspace has room for this many data sources; the catalog is held in memory. */
const dataSourcesMax = 10_000
/** The same for pipes. */
const pipesMax = 10_000
const pipeLimits = { nodesMax: 200, pipeBytesMax: 4 * mebibyte, descriptionLengthMax: 100_000 }
/** When in the time for closing each is done with waiting; what is left of it is for the end of the engine. */
const closeShares = { jobs: 0.5, replaces: 0.55, behind: 0.6, ingest: 0.65, store: 0.8 }

/**
 * Opens the service on the data directory and starts to listen.
 *
 * @throws StartRefusal in words for the operator, for example when another process has the data directory open. Nothing
 *   stays open then.
 */
export async function openService(options: Options, logger: Logger): Promise<Service> {
  linkErrorsTo(options.documentationUrl)
  const opened: (() => Promise<void>)[] = []
  const closeTime = new CloseTime(options.closeTimeoutMs, () => performance.now())
  const closeAll = async (): Promise<void> => {
    closeTime.begin()
    let failure: { readonly error: unknown } | null = null
    // What one of them cannot do is no reason to leave the others open.
    for (const close of opened.splice(0).reverse()) {
      await close().catch((error: unknown) => {
        failure ??= { error }
      })
    }
    rethrow(failure)
  }
  try {
    return await openModules(options, logger, { opened, closeTime, closeAll })
  } catch (error) {
    await closeAll()
    throw toStartRefusal(error, options)
  }
}

function rethrow(failure: { readonly error: unknown } | null): void {
  if (failure !== null) throw failure.error
}

interface Closing {
  /** What to close, in the order of opening. */
  readonly opened: (() => Promise<void>)[]
  readonly closeTime: CloseTime
  readonly closeAll: () => Promise<void>
}

async function openModules(
  options: Options,
  logger: Logger,
  { opened, closeTime, closeAll }: Closing,
): Promise<Service> {
  const now = Date.now
  const { store, disk, keyFile } = await openDirectory(options, logger, { opened, closeTime })
  const records = await openRecords(options, { store, disk, keyFile, logger, opened })
  const { settings, lookup, tokens, adminToken, lostSecretCount, catalog, variables, jobs, box } = records
  const partNote = new PartNote(options.dataDir, { catalog, store, logger })
  await partNote.compareAtStart()
  opened.push(() => partNote.close())
  const changes = new TableChanges({ settings, hasUnfinished: (id) => hasUnfinishedImport(jobs, id) })
  const whileRemoving = changes.notedIn(partNote.whileRemoving.bind(partNote))
  const behindDeps = { catalog, store, gate: store.gate, kept: () => ingest.keptEvents, logger, now }
  const behind = await openViewsBehind(options, behindDeps)
  const ingest = await openIngest(options, {
    ...{ store, catalog, logger, now, disk, whileRemoving },
    views: ingestViewsOf(behind, store.gate),
  })
  opened.push(() => ingest.close(closeTime.leftUntil(closeShares.ingest)))
  opened.push(() => behind.close(closeTime.leftUntil(closeShares.behind)))
  const query = createQuery(
    { ...options, database: workspaceDatabase, now },
    { store, workspace: catalog, findServiceSource, secretOf: (name) => variables.secretOf(name), serviceScope },
  )
  const pipeUsers = createPipeUsers({ ...pipeLimits, now }, { catalog, query })
  const tablesDeps = { catalog, store, ingest, logger, pipeUsers, whileRemoving }
  const dataSources = await openDataSources({ ...options, now }, tablesDeps)
  opened.push(() => dataSources.close())
  const { flattenNode } = query
  const viewsDeps = { catalog, store, settings, ingest, dataSources, jobs, behind, flattenNode, now, logger }
  const { populates, views, ...checks } = await openViews(options, viewsDeps)
  const isFilled = (tables: ReadonlySet<string>): boolean => populates.isBusy(tables)
  const onComputed = (tables: ReadonlySet<string>): Promise<void> => forgetRemovals(catalog, tables)
  const noted = { behind, isFilled, onComputed }
  const replaces = await openReplaces(options, { catalog, settings, store, ingest, ...noted, logger })
  opened.push(() => replaces.close(closeTime.leftUntil(closeShares.replaces)))
  // What works needs all that was opened before.
  opened.push(() => jobs.close(closeTime.leftUntil(closeShares.jobs)))
  // Only now do all tables stand, with the content that they are to have.
  await disk.watchPlaces([logDirectoryName, catalogName])
  ingest.start()
  behind.start()
  partNote.start()
  dataSources.resume()
  await verifySafeguards(store)
  store.onRestart((engine) => mendAfterRestart(engine, { partNote, dataSources, behind, views, replaces }))
  const { publishFirstNode } = options
  const pipes = createPipes({ ...pipeLimits, publishFirstNode, now }, { catalog, query, views })
  await reportNodes({ catalog, query, logger })
  const { parametersOf } = pipes
  const endpointDescriptions = new EndpointDescriptions({ catalog, query, parametersOf, serviceScope })
  const written = { ingest, changes, box, pendingReplaces: new PendingReplaces() }
  const imports = openImports(options, { ...written, dataSources, replaces, logger, disk, now })
  const opening = openAccess({ ...options, now }, { tokens, lookup, checkFilter: query.checkFilter })
  const worked = { imports, jobs, dataSources, populates, ...checks, query, disk, logger, store }
  const jobKinds = await openJobKinds(options, { ...opening, ...written, ...worked })
  opened.push(() => jobKinds.close())
  await jobs.start()
  const app = createApp(
    {
      ...{ ...opening, ...worked, ...jobKinds, ...written },
      tokens,
      pipes,
      behind,
      endpointDescriptions,
      variables,
      now,
      engineFault: () => store.unreadyReason,
    },
    options,
  )
  opened.push(() => app.close())
  const address = await listenOn(app, options)
  logger.info({ address, dataDir: options.dataDir }, 'The service is open.')
  return { address, adminToken, lostSecretCount, failed: store.failed, close: closeAll }
}

/** The data directory, locked and of this release's format, with the engine and the watch over the disk. */
async function openDirectory(
  options: Options,
  logger: Logger,
  { opened, closeTime }: Pick<Closing, 'closeTime' | 'opened'>,
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

function hasUnfinishedImport(jobs: Jobs, subjectId: string): boolean {
  return jobs.list({ kinds: ['import'], statuses: ['waiting', 'working', 'cancelling'], subjectId }).length > 0
}

interface RecordsDeps extends Pick<Closing, 'opened'> {
  readonly store: SupervisedStore
  readonly disk: DiskWatch
  readonly keyFile: KeyFile
  readonly logger: Logger
}

/** What is kept in the catalog's file: the modules that hold records of it in memory. */
async function openRecords(options: Options, { store, disk, keyFile, logger, opened }: RecordsDeps) {
  const now = Date.now
  const catalogPath = join(options.dataDir, catalogName)
  await refuseLostCatalog(catalogPath, { store, laterNames: [adminTokenFileName, logDirectoryName, markName] })
  const secrets = await openSecretStorage(catalogPath, { keyFile, sealPlain, disk, logger })
  const { storage, box } = secrets
  opened.push(() => storage.close())
  const settings = await openSettings(storage)
  const catalog = openCatalog({ dataSourcesMax, pipesMax, now }, await loadRecords(storage, catalogKinds))
  opened.push(() => catalog.close())
  const lookup = new CatalogLookup(catalog)
  const { tokens, adminToken } = await openTokensWithFile(options, { storage, box, lookup, logger, now })
  opened.push(() => tokens.close())
  const lostSecretCount = await secrets.reportLost()
  reportDefinitions(catalog, logger, options.columnsMax)
  const variables = openVariables({ now, box }, await loadRecords(storage, variableKinds))
  opened.push(() => variables.close())
  const jobs = await openJobs(options, { storage, logger, now })
  return { settings, lookup, tokens, adminToken, lostSecretCount, catalog, variables, jobs, box }
}

/** What the way in has to do with views: those that do not take a block are parked. */
function ingestViewsOf(behind: ViewsBehind, gate: AppendGate): IngestViews {
  return {
    gate,
    kept: behind.keptPlaces().map((kept) => ({ ...kept, place: toSequence(kept.place) })),
    setAside: (dataSourceId, failure) => behind.setAside(dataSourceId, failure),
    beforeChange: (dataSourceIds) => behind.beforeChange(dataSourceIds),
    onKeptBeyond: () => behind.onKeptBeyond(),
  }
}

interface ViewsDeps {
  readonly settings: Settings
  readonly catalog: Catalog
  readonly store: SupervisedStore
  readonly ingest: Ingest
  readonly dataSources: DataSources
  readonly jobs: Jobs
  readonly behind: ViewsBehind
  readonly flattenNode: Query['flattenNode']
  readonly now: () => number
  readonly logger: Logger
}

/** The views of nodes, and what fills them with the rows that are there. */
async function openViews(options: Options, { ingest: holds, dataSources, jobs, now, ...deps }: ViewsDeps) {
  const populatesDeps = { ...deps, holds, jobs, now, views: (): Materialize => views }
  const populates = await openPopulates(options, populatesDeps)
  const views = await openMaterialize({ now }, { ...deps, holds, targets: dataSources, populates })
  const verifies = new VerifyService(options, { ...deps, holds, populates })
  const repairs = new RepairService({ ...deps, populates, now })
  return { populates, views, verifies, repairs }
}

interface MendedModules {
  readonly partNote: PartNote
  readonly dataSources: DataSources
  readonly behind: Pick<ViewsBehind, 'noteEngineStart'>
  readonly views: Pick<Materialize, 'reconcile'>
  readonly replaces: Replaces
}

/** What is done with an engine that is started again before anybody else speaks to it. */
async function mendAfterRestart(
  engine: RestartedEngine,
  { partNote, dataSources, behind, views, replaces }: MendedModules,
): Promise<void> {
  await partNote.compareAfterRestart()
  await dataSources.mendAfterRestart(engine)
  behind.noteEngineStart()
  await views.reconcile(engine)
  await replaces.mendAfterRestart()
  await verifySafeguards(engine)
}

/** Gives `http://host:port`, the port being the real one. */
async function listenOn(
  app: ReturnType<typeof createApp>,
  { host, port }: Pick<Options, 'host' | 'port'>,
): Promise<string> {
  const listening: Promise<string> = app.listen({ host, port })
  return await listening
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
