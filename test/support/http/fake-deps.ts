import type { FastifyInstance, InjectOptions, LightMyRequestResponse } from 'fastify'
import { Access } from '../../../src/access/access.ts'
import { openCatalog } from '../../../src/catalog/catalog.ts'
import type { DataSource, DataSourceId } from '../../../src/catalog/data-source.types.ts'
import { openVariables } from '../../../src/catalog/variables.ts'
import type { AlterRequest, CreateRequest, DataSources } from '../../../src/datasources/datasources.types.ts'
import { PendingReplaces } from '../../../src/datasources/replace/pending-replaces.ts'
import type { Replaces } from '../../../src/datasources/replace/replace.types.ts'
import type { HttpDeps, HttpOptions } from '../../../src/http/http.types.ts'
import { openImports } from '../../../src/imports/imports.ts'
import type { ImportsOptions } from '../../../src/imports/open-import.ts'
import { openBody } from '../../../src/ingest/bodies/opened-body.ts'
import type { EventsRequest, ImportOutcome, ImportRequest, Ingest } from '../../../src/ingest/ingest.types.ts'
import { MemoryBudget } from '../../../src/ingest/memory-budget.ts'
import { LimitBook } from '../../../src/limits/limit-book.ts'
import type { LimitHit } from '../../../src/limits/limit-hits.ts'
import type { LogFields } from '../../../src/observe/logger.ts'
import { noRecorder } from '../../../src/observe/work-recorder.types.ts'
import { createPipes } from '../../../src/pipes/pipes.ts'
import type { Pipes } from '../../../src/pipes/pipes.types.ts'
import { RepeatedChanges } from '../../../src/pipes/repeated-changes.ts'
import type { QueryRequest } from '../../../src/query/query.types.ts'
import type { CheckedExpression } from '../../../src/schema/expressions/checked-text.types.ts'
import { mebibyte } from '../../../src/shared/bytes.ts'
import { errors } from '../../../src/shared/errors/errors.ts'
import { adminDeps } from '../access/admin-access.ts'
import { checked } from '../checked-text.ts'
import { idleClusterControl } from '../cluster/fake-machine.ts'
import { optionsOf } from '../limits/test-rates.ts'
import { anyState } from '../metrics/any-state.ts'
import { testBox } from '../secrets.ts'
import { emptyRecords } from '../storage/memory-storage.ts'

export const token = 'p.test.token'

export const limits: HttpOptions = {
  eventsBodyBytesMax: 1000,
  bodiesBytesMax: 4 * mebibyte,
  formBytesMax: 2000,
  bodyUploadBytesMax: 0,
  multipartBytesMax: 0,
  multipartParquetBytesMax: 0,
  connectionIdleMsMax: 0,
  requestTimeoutMs: 0,
  metricsAddresses: '',
  traceSamplePercent: 100,
  tracesPerSecondMax: 1_000,
  closeTimeoutMs: 300_000,
  headersTimeoutMs: 0,
  keepAliveMs: 72_000,
  headersMax: 256,
  bodyRateMin: 0,
  bodyRateWindowMs: 60_000,
  tlsCertFile: '',
  tlsKeyFile: '',
  hstsSeconds: 86_400,
  http2: false,
  http2StreamsMax: 100,
  trustedProxies: '127.0.0.1,::1',
  publicHosts: '',
  corsOrigins: '*',
  connectionsMax: 1_000,
  connectionsPerAddressMax: 0,
}

/** One request without a network. */
export function ask(app: FastifyInstance, request: InjectOptions | string): Promise<LightMyRequestResponse> {
  return app.inject(request)
}

export interface Import {
  readonly request: ImportRequest
  readonly text: string
}

/** Deps in memory that keep what the routes asked of them. */
export interface FakeDeps extends HttpDeps {
  readonly created: CreateRequest[]
  readonly alters: AlterRequest[]
  readonly loads: Import[]
  readonly events: (EventsRequest & { readonly text: string })[]
  readonly queries: QueryRequest[]
  readonly hits: LimitHit[]
  readonly entries: { readonly level: string; readonly fields: LogFields; readonly message: string }[]
  /** Whether events are stored by the time that they are answered, when they wait for it. */
  isStored: boolean
  /** What every import answers with beside its rows. */
  outcome: Partial<ImportOutcome>
  /** What the next query answers with. */
  answer: () => AsyncIterable<Uint8Array>
  isOpen: boolean
}

const unavailable = (): never => {
  throw new Error('there are no jobs, and no tokens but the one of the admin')
}

/** As the default plan has them. */
const noRates: FakeDeps['rates'] = {
  createsFromSchema: null,
  imports: null,
  events: null,
  secretRequests: null,
  queries: null,
}

const noLimitBook = new LimitBook(optionsOf(), {
  rates: { ...noRates, start: () => undefined, close: async () => undefined },
  hits: { countOf: () => 0 },
  now: () => 0,
})

/** A service without jobs. */
const noJobs: FakeDeps['jobs'] = {
  add: unavailable,
  find: () => undefined,
  list: () => [],
  cancel: unavailable,
  watch: unavailable,
}

/** A workspace whose only token is the admin's. */
const noTokens: Pick<FakeDeps, 'tokens' | 'scopeBinder' | 'jwtIssuer'> = {
  tokens: {
    workspaceId: 'workspace',
    signingKey: null,
    onSigningKey: () => undefined,
    find: () => undefined,
    version: 0,
    warrantOf: unavailable,
    findWarranted: () => undefined,
    list: () => [],
    findToken: () => undefined,
    lastUsedAt: () => null,
    auditLines: () => [],
    valuesOf: async () => [],
    create: unavailable,
    update: unavailable,
    refresh: unavailable,
    remove: unavailable,
  },
  scopeBinder: { bind: unavailable },
  jwtIssuer: { issue: unavailable },
}

export function createFakeDeps(options: Partial<ImportsOptions> = {}): FakeDeps {
  const sources = new Map<string, DataSource>()
  const dataSources = fakeDataSources(sources, () => deps)
  const ingest = fakeIngest(() => deps)
  const logger = fakeLogger(() => deps.entries)
  const disk = { reason: null, lostReason: null, report: () => undefined, alsoAsk: () => undefined }
  const pendingReplaces = new PendingReplaces()
  const replaces: Replaces = {
    replace: ({ fill }) => fill({ landing: 'staging', quarantine: 'staging_quarantine' }),
    mendAfterRestart: async () => undefined,
    async close() {},
  }
  const now = () => Date.UTC(2026, 0, 2, 3, 4, 5)
  const deps: FakeDeps = {
    access: new Access(adminDeps(token)),
    ...noTokens,
    dataSources,
    ingest,
    imports: openImports(
      { columnsMax: 50, missingDataSource: 'create', ...options },
      { dataSources, ingest, replaces, pendingReplaces, logger, workRecorder: noRecorder, disk, now },
    ),
    jobs: noJobs,
    clusterControl: idleClusterControl(),
    urlImports: { add: unavailable, analyze: unavailable, progressOf: () => undefined },
    jobFiles: { has: () => false, open: async () => null, remove: async () => undefined },
    queryJobs: { orderOf: () => null },
    pendingReplaces,
    workRecorder: noRecorder,
    receipts: {
      read: () => [],
      textOf: (id, place) => `${id} ${place}`,
      textOfImport: (id) => `${id} all`,
      textOfJob: ({ id }) => `job ${id}`,
      untilQueryable: async () => undefined,
    },
    pipes: fakePipes(),
    behind: { catchUp: async () => null, into: () => [], of: () => [] },
    populates: { add: unavailable, plan: unavailable },
    verifies: { verify: unavailable },
    repairs: { plan: unavailable, add: unavailable },
    endpointDescriptions: {
      describe: async () => null,
      describeAll: async () => ({ endpoints: [], pendingCount: 0 }),
    },
    query: {
      checkNode: async () => ({ dependencies: [], columns: null, parameters: [] }),
      checkAuthor: () => undefined,
      namesRead: () => [],
      checkFilter: async () => undefined,
      nodeFault: () => null,
      show: async ({ sql }) => sql,
      prepare: async () => ({ format: 'JSON', contentType: 'application/json; charset=UTF-8' }),
      compareNode: async () => 'same',
      flattenNode: unavailable,
      async run(request) {
        deps.queries.push(request)
        if (request.sql === 'SELECT wrong') throw errors.SQL_INVALID({ reason: 'Unknown identifier wrong' })
        const times = { resolveMs: 0.1234, engineMs: 2 }
        return { format: 'JSON', contentType: 'application/json; charset=UTF-8', body: deps.answer(), times }
      },
      async readPipe({ pipe }) {
        throw errors.PIPE_UNKNOWN({ name: pipe })
      },
      async explain({ pipe }) {
        throw errors.PIPE_UNKNOWN({ name: pipe })
      },
    },
    logger,
    rates: noRates,
    storageLimit: null,
    limitBook: noLimitBook,
    limitHits: { tell: (hit) => void deps.hits.push(hit) },
    recorder: undefined,
    spans: null,
    state: () => anyState,
    metrics: { contentType: 'text/plain', text: async () => '' },
    variables: openVariables({ now: () => deps.now(), box: testBox() }, emptyRecords()),
    disk,
    engineFault: () => (deps.isOpen ? null : 'it has ended, and is started again'),
    now,
    created: [],
    alters: [],
    loads: [],
    events: [],
    hits: [],
    queries: [],
    entries: [],
    isStored: true,
    outcome: {},
    answer: async function* () {
      yield Buffer.from('{"data":')
      yield Buffer.from('[]}\n')
    },
    isOpen: true,
  }
  return deps
}

/** Pipes in memory; every query is right, and reads nothing. */
function fakePipes(): Pipes {
  const catalog = openCatalog({ dataSourcesMax: 10, pipesMax: 10, now: () => 0 }, emptyRecords())
  const checkNode = async () => ({ dependencies: [], columns: null, parameters: [] })
  return createPipes(
    { nodesMax: 3, pipeBytesMax: 100, descriptionLengthMax: 100, publishFirstNode: false, now: () => 0 },
    {
      catalog,
      changes: new RepeatedChanges(),
      query: { checkNode, checkAuthor: () => undefined, namesRead: () => [], compareNode: async () => 'same' },
    },
  )
}

function fakeDataSources(sources: Map<string, DataSource>, deps: () => FakeDeps): DataSources {
  const alters = () => deps().alters
  const find = (nameOrId: string): DataSource | undefined =>
    sources.get(nameOrId) ?? [...sources.values()].find(({ id }) => id === nameOrId)
  const get = (nameOrId: string): DataSource => {
    const source = find(nameOrId)
    if (source === undefined) throw errors.DATASOURCE_NOT_FOUND({ name: nameOrId })
    return source
  }
  return {
    find,
    get,
    getForDrop: get,
    findForRows: async (name) => find(name),
    mendAfterRestart: async () => undefined,
    createdByEvents: () => 0,
    findForEvents: (name) => (name === 'missing' ? get(name) : find(name)),
    async createFromEvents({ name }) {
      return await this.create({ name, description: '', schema: 'id UInt32', engine: null, type: 'ndjson' })
    },
    list: () => [...sources.values()],
    checkNew() {},
    checkSchema() {},
    async create(request) {
      const name = request.name ?? 'made_by_service'
      if (sources.has(name)) throw errors.DATASOURCE_EXISTS({ name })
      deps().created.push(request)
      const source = createSource(name, request)
      sources.set(name, source)
      return source
    },
    async revise(nameOrId, { name, description }) {
      const { name: before, ...rest } = get(nameOrId)
      const revised = { ...rest, name: name ?? before, description: description ?? rest.description }
      sources.delete(before)
      sources.set(revised.name, revised)
      return revised
    },
    async alter(nameOrId, request) {
      get(nameOrId)
      alters().push(request)
      return { operations: ['ADD COLUMN `x` Int32'] }
    },
    async truncate(nameOrId) {
      get(nameOrId.replace(/_quarantine$/, ''))
    },
    define: () => {
      throw new Error('nothing is made for views here')
    },
    async whileMaking(_request, change) {
      return await change()
    },
    async whileRemaking(_request, change) {
      return await change()
    },
    async drop(nameOrId, options) {
      const { name } = get(nameOrId)
      if (name === 'used' && options?.isForced !== true) {
        throw errors.DATASOURCE_USED({ name, users: ['daily'], advice: 'drop those first' })
      }
      sources.delete(name)
    },
    async summarizeQuarantine() {
      return { rowCount: 0, groups: [], hasMoreGroups: false, schema: null }
    },
    async endReplay() {},
    async replayQuarantine() {
      return { selectedRows: 0, replayedRows: 0, failedRows: 0, leftRows: 0, failures: [], viewFailure: null }
    },
    async planRowDelete(nameOrId, { condition = '', isCounted }) {
      const dataSource = get(nameOrId)
      const { id: dataSourceId, name: dataSourceName } = dataSource
      const order = { dataSourceId, dataSourceName, condition, seconds: 0 }
      return { dataSource, order, views: [], rowCount: isCounted ? 2 : null }
    },
    async deleteRows() {
      return { rowsDeleted: 2 }
    },
    resume() {},
    joinBehind: () => null,
    async close() {},
    async dependents(nameOrId) {
      return get(nameOrId).name === 'used' ? ['daily'] : []
    },
    usedBy: (id) => (find(id)?.name === 'used' ? [{ id: 't_1', name: 'top' }] : []),
    possiblyUsedBy: () => [],
    async statisticsOf() {
      return { landing: { rowCount: 2, byteCount: 100 }, quarantine: { rowCount: 1, byteCount: 50 } }
    },
    async statistics() {
      const landing = { rowCount: 2, byteCount: 100 }
      const quarantine = { rowCount: 1, byteCount: 50 }
      return new Map([...sources.values()].map(({ id }) => [id, { landing, quarantine }]))
    },
  }
}

function createSource(name: string, { description, engine, type }: CreateRequest): DataSource {
  return {
    // Only the catalog makes ids; this one has their form.
    id: `t_${Buffer.from(name).toString('hex').padEnd(32, '0').slice(0, 32)}` as DataSourceId,
    name,
    description,
    columns: [
      {
        name: 'id',
        typeText: 'UInt32',
        type: { kind: 'integer', name: 'UInt32', bits: 32, isSigned: false },
        jsonPath: { keys: ['id'], element: null },
        jsonPathText: '$.id',
        defaultExpression: null,
        codec: null,
      },
      {
        name: 'tag',
        typeText: 'Nullable(String)',
        type: { kind: 'nullable', inner: { kind: 'string' } },
        jsonPath: null,
        jsonPathText: null,
        defaultExpression: checked<CheckedExpression>("'x'"),
        codec: 'ZSTD(1)',
      },
    ],
    engine: engine ?? { name: 'MergeTree', options: { sorting_key: 'id' } },
    indexes: [],
    kafkaStoreRawValue: false,
    type,
    createdAt: Date.UTC(2026, 0, 1),
    updatedAt: Date.UTC(2026, 0, 1, 10, 20, 30, 123),
    version: 1,
  }
}

function fakeIngest(deps: () => FakeDeps): Ingest {
  return {
    settleImport: async () => undefined,
    tableMark: async () => ({ blocks: 0, tables: '' }),
    keptEvents: {
      keep: async () => 1,
      keepFrom() {},
      placeNow: () => 1,
      untilPassed: async () => undefined,
      nextPlace: () => null,
      moveTo() {},
      letGo() {},
      countsOf: () => ({ blockCount: 0, byteCount: 0 }),
      hasGaps: () => false,
      size: { bytes: 0, bytesMax: 1 },
      repeatFrom: async () => null,
    },
    async sync() {},
    openBody: (source) =>
      openBody(source, { sampleBytesMax: 1024, decompressedBytesMax: 1_000_000 }, new MemoryBudget(1_000_000)),
    async importBody(request) {
      const chunks: Buffer[] = []
      let failure: Error | null = null
      try {
        for await (const chunk of 'chunks' in request.body ? request.body.chunks : request.body)
          chunks.push(Buffer.from(chunk))
      } catch (error) {
        failure = error instanceof Error ? error : new Error(String(error))
      }
      const text = Buffer.concat(chunks).toString()
      deps().loads.push({ request, text })
      const storedRows = text.split('\n').filter((line) => line !== '').length
      return { storedRows, quarantinedRows: 0, invalidLines: 0, shortLines: 0, failure, ...deps().outcome }
    },
    async openParquet() {
      throw errors.BODY_CORRUPT({ format: 'Parquet file', reason: 'there is no engine here' })
    },
    async importParquet() {
      throw new Error('no Parquet file was opened')
    },
    async appendEvents(request) {
      const text = Buffer.from(request.body).toString()
      deps().events.push({ ...request, text })
      const isStored = request.isWaiting && deps().isStored
      return { successfulRows: text.trim().split('\n').length, quarantinedRows: 0, isStored, place: 1 }
    },
    eventsStatus: () => null,
    waitingEvents: () => [],
    logState: () => anyState.log,
    eventsFreshness: () => null,
    logPlace: 0,
    isLost: () => false,
    isQueryable: () => true,
    untilQueryable: async () => true,
    withHold: async (_dataSources, change) => await change(),
    withStill: async (_dataSources, look) => await look(),
    isHeld: () => false,
    refuseHeld: () => undefined,
    withBarrier: (_barrier, change) => change(),
    async replayRows() {
      return { viewFailure: null }
    },
    start() {},
    async close() {},
  }
}

function fakeLogger(entries: () => FakeDeps['entries']): HttpDeps['logger'] {
  const at = (level: string) => (fields: LogFields, message: string) => {
    entries().push({ level, fields, message })
  }
  return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') }
}
