/**
 * The service: every room opened in order, and closed in reverse.
 *
 * The store comes first, because the engine's lock on the data directory is what refuses a second process, and nothing
 * in the directory is touched before it is held.
 */
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { createAccess } from './access/access.ts'
import { createApp } from './app.ts'
import { openCatalog } from './catalog/catalog.ts'
import { openCatalogStorage } from './catalog/catalog-storage.ts'
import type { CatalogStorage } from './catalog/catalog-storage.types.ts'
import type { DataSourceId } from './catalog/data-source.types.ts'
import { PipeReaders } from './catalog/pipe-readers.ts'
import { openVariables } from './catalog/variables.ts'
import type { Options } from './config.ts'
import { openDataSources } from './datasources/datasources.ts'
import { openReplaces } from './datasources/replaces.ts'
import { openIngest } from './ingest/ingest.ts'
import type { Logger } from './observe/logger.ts'
import { EndpointDescriptions } from './pipes/endpoint-descriptions.ts'
import { createPipes } from './pipes/pipes.ts'
import { checkEngineReading } from './query/agreement.ts'
import { createQuery } from './query/query.ts'
import { findServiceSource } from './query/service-sources.ts'
import { mebibyte } from './shared/bytes.ts'
import { openEmbeddedStore } from './store/embedded-store.ts'
import type { Store } from './store/store.types.ts'
import { workspaceDatabase } from './store/workspace-database.ts'

export interface Service {
  /** `http://host:port`, the port being the real one. */
  readonly address: string
  readonly adminToken: string
  /** Refuses new requests, answers those under way, stores what was taken, and closes every room. */
  close(): Promise<void>
}

/** A workspace has room for this many data sources; the catalog is held in memory. */
const dataSourcesMax = 10_000
/** The same for pipes. */
const pipesMax = 10_000
const nodesMax = 200
const pipeBytesMax = 4 * mebibyte
const descriptionLengthMax = 100_000

/**
 * Opens the service on the data directory and starts to listen.
 *
 * @throws Error in words for the operator, for example when another process has the data directory open. Nothing stays
 *   open then.
 */
export async function openService(options: Options, logger: Logger): Promise<Service> {
  const opened: (() => Promise<void>)[] = []
  const closeAll = async (): Promise<void> => {
    for (const close of opened.splice(0).reverse()) await close()
  }
  try {
    return await openRooms(options, logger, { opened, closeAll })
  } catch (error) {
    await closeAll()
    throw error
  }
}

interface Closing {
  /** What to close, in the order of opening. */
  readonly opened: (() => Promise<void>)[]
  readonly closeAll: () => Promise<void>
}

async function openRooms(options: Options, logger: Logger, { opened, closeAll }: Closing): Promise<Service> {
  const now = Date.now
  const store = await openStore(options, logger)
  opened.push(() => store.close())
  const storage = openCatalogStorage(join(options.dataDir, 'catalog.lmdb'))
  opened.push(() => storage.close())
  const adminToken = await adminTokenOf(options, storage)
  const catalog = openCatalog({ dataSourcesMax, pipesMax, now }, storage)
  opened.push(() => catalog.close())
  const variables = openVariables({ now }, storage.variables)
  opened.push(() => variables.close())
  const ingest = await openIngest(options, { store, catalog, logger, now })
  opened.push(() => ingest.close())
  const readers = new PipeReaders(catalog)
  const pipesUsing = (id: DataSourceId) => readers.of(catalog.find(id)?.name ?? '')
  const dataSources = await openDataSources({ ...options, now }, { catalog, store, ingest, logger, pipesUsing })
  opened.push(() => dataSources.close())
  const replaces = await openReplaces(options, { catalog, settings: storage, store, ingest, logger })
  opened.push(() => replaces.close())
  // Only now do all tables stand, with the content that they are to have.
  ingest.start()
  dataSources.resume()
  await checkEngineReading(store)
  const query = createQuery(
    { ...options, database: workspaceDatabase, now },
    { store, workspace: catalog, findServiceSource, secretOf: (name) => variables.secretOf(name) },
  )
  const pipes = createPipes({ nodesMax, pipeBytesMax, descriptionLengthMax, now }, { catalog, query })
  const endpointDescriptions = new EndpointDescriptions({ catalog, query, parametersOf: pipes.parametersOf })
  const access = createAccess({ adminToken })
  let isReady = false
  const app = createApp(
    {
      access,
      dataSources,
      pipes,
      endpointDescriptions,
      replaces,
      ingest,
      query,
      variables,
      logger,
      now,
      isReady: () => isReady,
    },
    options,
  )
  opened.push(() => app.close())
  const listening: Promise<string> = app.listen({ host: options.host, port: options.port })
  const address = await listening
  isReady = true
  logger.info({ address, dataDir: options.dataDir }, 'The service is open.')
  return { address, adminToken, close: closeAll }
}

/** Statements of our own: DDL, statistics, the catalog's mending. */
const statementsInFlightMax = 2
/** Inserts, queries and statements that may wait for a session; the senders behind them are bounded too. */
const statementsWaitingMax = 1_000
/** Results that lie on disk while their readers are slow. */
const openResultsMax = 256
const mergeThreads = 2

function openStore(options: Options, logger: Logger): Promise<Store> {
  return openEmbeddedStore(
    {
      dataDirectory: options.dataDir,
      insertsInFlightMax: options.insertsInFlightMax,
      selectsInFlightMax: options.readSessions,
      statementsInFlightMax,
      waitingMax: statementsWaitingMax,
      memoryBytesMax: options.engineMemoryBytesMax,
      mergeThreads,
      queryTimeMaxMs: options.queryTimeMaxMs,
      // One query must not take what intake and the other queries need.
      queryMemoryBytesMax: Math.floor(options.engineMemoryBytesMax / 2),
      resultBytesMax: options.resultBytesMax,
      openResultsMax,
      closeTimeMaxMs: options.closeTimeoutMs,
    },
    logger,
  )
}

const adminTokenSetting = 'admin_token'

/** The token of the options, or the one that was made at the first start and is kept since. */
async function adminTokenOf({ adminToken }: Options, storage: CatalogStorage): Promise<string> {
  if (adminToken !== undefined) return adminToken
  const kept = storage.readSetting(adminTokenSetting)
  if (kept !== undefined) return kept
  const made = createAdminToken()
  await storage.writeSetting(adminTokenSetting, made)
  return made
}

/** Clients tell a token by its three parts, the second of them JSON in base64: `p.<payload>.<secret>`. */
function createAdminToken(): string {
  const payload = Buffer.from(JSON.stringify({ u: 'admin', id: 'admin', host: 'local' })).toString('base64url')
  return `p.${payload}.${randomBytes(32).toString('base64url')}`
}
