/**
 * The service: every module opened in order, and closed in reverse.
 *
 * The lock on the data directory comes first, because it is what refuses a second process, and nothing in the directory is
 * touched before it is held. Then the store, whose engine has a lock of its own: against older versions, and against an
 * engine that has outlived its service.
 */
import { adminScope as serviceScope } from './access/admin-scope.ts'
import { openAccess } from './access/open-access.ts'
import type { AdminToken } from './admin-token.ts'
import { createApp } from './app.ts'
import type { Catalog } from './catalog/catalog.ts'
import { openClusterControl } from './cluster/open-cluster-control.ts'
import type { Options } from './config.ts'
import { openDataSources } from './datasources/datasources.ts'
import type { DataSources } from './datasources/datasources.types.ts'
import type { PartNote } from './datasources/recovery/part-note.ts'
import { forgetRemovals } from './datasources/removal-notes.ts'
import { PendingReplaces } from './datasources/replace/pending-replaces.ts'
import type { Replaces } from './datasources/replace/replace.types.ts'
import { openReplaces } from './datasources/replace/replaces.ts'
import { storageBytes } from './datasources/storage-bytes.ts'
import { StorageRecords } from './datasources/storage-records.ts'
import { openImports } from './imports/imports.ts'
import type { IngestViews } from './ingest/events/events-ingest.ts'
import { openIngest } from './ingest/ingest.ts'
import type { Ingest } from './ingest/ingest.types.ts'
import { openJobKinds } from './job-kinds.ts'
import type { Jobs } from './jobs/jobs.types.ts'
import { StorageLimit } from './limits/storage-limit.ts'
import { openViewsBehind } from './materialize/behind/open-views-behind.ts'
import type { ViewsBehind } from './materialize/behind/views-behind.ts'
import { openMaterialize } from './materialize/materialize.ts'
import type { Holds, Materialize } from './materialize/materialize.types.ts'
import { RepairService } from './materialize/verify/repairs.ts'
import { VerifyService } from './materialize/verify/verifies.ts'
import type { Logger } from './observe/logger.ts'
import { type Closing, catalogName, closeShares, type Ground, openGround } from './open-ground.ts'
import { openNotifications } from './open-notifications.ts'
import { openObserved } from './open-observed.ts'
import { openPopulates } from './open-populates.ts'
import { openReceiptsOf } from './open-receipts.ts'
import { EndpointDescriptions } from './pipes/endpoint-descriptions.ts'
import { createPipeUsers } from './pipes/pipe-users.ts'
import { createPipes } from './pipes/pipes.ts'
import { RepeatedChanges } from './pipes/repeated-changes.ts'
import { reportNodes } from './pipes/report-nodes.ts'
import { verifySafeguards } from './query/agreement.ts'
import { createQuery } from './query/query.ts'
import type { Query } from './query/query.types.ts'
import { createServiceSources } from './query/service-sources.ts'
import { mebibyte } from './shared/bytes.ts'
import { CloseTime } from './shared/close-time.ts'
import { linkErrorsTo } from './shared/errors/errors.ts'
import { toStartRefusal } from './start-refusal.ts'
import type { Settings } from './storage/settings.ts'
import type { AppendGate } from './store/append-gate.ts'
import type { RestartedEngine, SupervisedStore } from './store/store.types.ts'
import { workspaceDatabase } from './store/workspace-database.ts'
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

const pipeLimits = { nodesMax: 200, pipeBytesMax: 4 * mebibyte, descriptionLengthMax: 100_000 }

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

async function openModules(
  options: Options,
  logger: Logger,
  { closeAll, ...closing }: Closing & { readonly closeAll: () => Promise<void> },
): Promise<Service> {
  const ground = await openGround(options, logger, closing)
  const rows = await openRows(options, ground, closing)
  await beginWork(ground, rows)
  const { app, ...work } = await openWork(options, { ...ground, ...rows }, closing)
  ground.rates.start()
  await ground.jobs.start()
  const address = await listenOn(app, options)
  logger.info({ address, dataDir: options.dataDir }, 'The service is open.')
  return { address, failed: ground.store.failed, close: closeAll, ...work }
}

/** Where rows are and how they come there: the way in, the way out, data sources, and the views between them. */
async function openRows(options: Options, ground: Ground, { opened, closeTime }: Closing) {
  const { store, catalog, settings, variables, jobs, disk, whileRemoving, recorder, workRecorder, logger, now } = ground
  const kept = { kept: () => ingest.keptEvents, imports: ground.keptImports, underWay: ground.insertsUnderWay }
  const behindDeps = { catalog, store, gate: store.gate, ...kept, logger, now }
  const behind = await openViewsBehind(options, behindDeps)
  const ingest = await openIngest(options, {
    ...{ store, catalog, logger, now, disk, whileRemoving, recorder, workRecorder },
    views: ingestViewsOf(behind, store.gate),
  })
  opened.push(() => ingest.close(closeTime.leftUntil(closeShares.ingest)))
  opened.push(() => behind.close(closeTime.leftUntil(closeShares.behind)))
  const findServiceSource = createServiceSources(options.serviceSources === 'on')
  const query = createQuery(
    { ...options, database: workspaceDatabase, now },
    { store, workspace: catalog, findServiceSource, secretOf: (name) => variables.secretOf(name), serviceScope },
  )
  const pipeChanges = new RepeatedChanges()
  const pipeUsers = createPipeUsers({ ...pipeLimits, now }, { catalog, query, changes: pipeChanges })
  const tablesDeps = { catalog, store, ingest, logger, workRecorder, pipeUsers, whileRemoving }
  const dataSources = await openDataSources({ ...options, now }, tablesDeps)
  opened.push(() => dataSources.close())
  const storageRecords = new StorageRecords({ dataSources, workRecorder, logger, now })
  opened.push(async () => storageRecords.close())
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
  return { behind, ingest, query, pipeChanges, dataSources, storageRecords, populates, views, checks, replaces }
}

type Rows = Awaited<ReturnType<typeof openRows>>

/** Only now do all tables stand, with the content that they are to have. */
async function beginWork({ disk, partNote, store }: Ground, rows: Rows): Promise<void> {
  await disk.watchPlaces([logDirectoryName, catalogName])
  await rows.behind.settle()
  rows.ingest.start()
  rows.behind.start()
  partNote.start()
  rows.dataSources.resume()
  rows.storageRecords.start()
  await verifySafeguards(store)
  store.onRestart((engine) => mendAfterRestart(engine, { partNote, ...rows }))
}

/** What is asked for over HTTP, and what runs as jobs. */
async function openWork(options: Options, modules: Ground & Rows, { opened }: Pick<Closing, 'opened'>) {
  const { catalog, query, views, ingest, changes, box, dataSources, replaces, jobs, disk, store, logger, now } = modules
  const { tokens, lookup, variables, behind, pipeChanges, populates, checks, adminToken, lostSecretCount } = modules
  const { recorder, workRecorder, limitHits, limitBook, rates } = modules
  const storageLimit = await openStorageLimit(options, { dataSources, logger })
  const { publishFirstNode } = options
  const pipes = createPipes({ ...pipeLimits, publishFirstNode, now }, { catalog, query, views, changes: pipeChanges })
  await reportNodes({ catalog, query, logger })
  const { parametersOf } = pipes
  const endpointDescriptions = new EndpointDescriptions({ catalog, query, parametersOf, serviceScope })
  const written = { ingest, changes, box, pendingReplaces: new PendingReplaces() }
  const imports = openImports(options, { ...written, dataSources, replaces, logger, workRecorder, disk, now })
  const opening = openAccess({ ...options, now }, { tokens, lookup, checkFilter: query.checkFilter })
  const worked = { imports, jobs, dataSources, populates, ...checks, query, disk, logger, store }
  const jobKinds = await openJobKinds(options, { ...opening, ...written, ...worked })
  opened.push(() => jobKinds.close())
  const clusterControl = openClusterControl(options, { logger })
  opened.push(() => clusterControl.close())
  const notifications = await openNotifications(options, { ...modules, pipes }, opened)
  const { state, metrics, spans } = await openObserved(options, { ...modules, clusterControl, notifications })
  opened.push(async () => spans?.close())
  const receipts = await openReceiptsOf(options, modules)
  const observed = {
    clusterControl,
    state,
    metrics,
    spans,
    recorder,
    workRecorder,
    limitHits,
    limitBook,
    rates,
    storageLimit,
  }
  const shown = { ...observed, tokens, pipes, behind, endpointDescriptions, variables, receipts, now }
  const engineFault = (): string | null => store.unreadyReason
  const app = createApp({ ...opening, ...worked, ...jobKinds, ...written, ...shown, engineFault }, options)
  opened.push(() => app.close())
  return { app, adminToken, lostSecretCount }
}

/** Null where rows are never refused for what is stored. */
async function openStorageLimit(
  options: Options,
  { dataSources, logger }: { readonly dataSources: DataSources; readonly logger: Logger },
): Promise<StorageLimit | null> {
  if (options.storageBytesMax === 0 || options.storageOverage !== 'refuse') return null
  const usedBytes = () => storageBytes(dataSources)
  const storageLimit = new StorageLimit(options, { usedBytes, logger, now: () => performance.now() })
  await storageLimit.look()
  return storageLimit
}

/** What the way in has to do with views: those that do not take a block are parked. */
function ingestViewsOf(behind: ViewsBehind, gate: AppendGate): IngestViews {
  return {
    gate,
    kept: behind.keptPlaces().map((kept) => ({ ...kept, place: toSequence(kept.place) })),
    setAside: (dataSourceId, failure) => behind.setAside(dataSourceId, failure),
    beforeBlock: (dataSourceId) => behind.importKeeper.beforeBlock(dataSourceId),
    beforeChange: (dataSourceIds) => behind.beforeChange(dataSourceIds),
    onKeptBeyond: () => behind.onKeptBeyond(),
    withParked: (graph) => behind.withParked(graph),
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
async function openViews(options: Options, { ingest, dataSources, jobs, now, ...deps }: ViewsDeps) {
  const holds = viewHolds(ingest)
  const populatesDeps = { ...deps, holds, jobs, now, views: (): Materialize => views }
  const populates = await openPopulates(options, populatesDeps)
  const views = await openMaterialize({ now }, { ...deps, holds, targets: dataSources, populates })
  const verifies = new VerifyService(options, { ...deps, holds, populates })
  const repairs = new RepairService({ ...deps, populates, now })
  return { populates, views, verifies, repairs }
}

/** Who changes views tells by itself of what makes the engine forget blocks. */
function viewHolds(ingest: Ingest): Holds {
  return {
    refuseHeld: (dataSource) => ingest.refuseHeld(dataSource),
    withHold: (held, change, keepsRows = false) => {
      return ingest.withHold(held, change, { reason: 'held for a Materialized View', keepsBlocks: true, keepsRows })
    },
    withStill: (held, look) => ingest.withStill(held, look),
  }
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

/**
 * Connections that may wait to be accepted, where the system allows so many. Those of one client may come faster than they are accepted;
 * whoever finds no place among them tries again a second later, and then three.
 */
const backlog = 4_096

/** Gives `http://host:port`, or `https://`, the port being the real one. */
async function listenOn(
  app: ReturnType<typeof createApp>,
  { host, port, tlsCertFile }: Pick<Options, 'host' | 'port' | 'tlsCertFile'>,
): Promise<string> {
  const listening: Promise<string> = app.listen({ host, port, backlog })
  // The framework does not know what its server speaks.
  return (await listening).replace(/^http:/, tlsCertFile === '' ? 'http:' : 'https:')
}
