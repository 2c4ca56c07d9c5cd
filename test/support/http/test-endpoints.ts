import type { FastifyInstance, InjectOptions, LightMyRequestResponse } from 'fastify'
import type { Test } from 'tap'
import { adminScope } from '../../../src/access/admin-scope.ts'
import { createApp } from '../../../src/app.ts'
import { createQuery, type QueryOptions } from '../../../src/query/query.ts'
import type { Query } from '../../../src/query/query.types.ts'
import { type OpenedStore, openEmbeddedStore } from '../../../src/store/embedded/embedded-store.ts'
import { TestWorkspace } from '../query/test-workspace.ts'
import { createTestDirectory, silentLogger, testStoreOptions } from '../store/test-store.ts'
import { createFakeDeps, type FakeDeps, limits, token } from './fake-deps.ts'

const options: QueryOptions = {
  database: 'ws_0001',
  sqlBytesMax: 1500,
  queryTimeMaxMs: 20_000,
  resultBytesMax: 100_000_000,
  responseCacheBytesMax: 1_000_000,
  queryThreads: 1,
  queryThreadsMax: 2,
  now: () => 0,
}

/** The routes over the query module and a real engine; the workspace is in memory. */
export interface Endpoints {
  readonly app: FastifyInstance
  readonly store: OpenedStore
  readonly deps: FakeDeps
  readonly workspace: TestWorkspace
  readonly secrets: Map<string, string>
  /** Epoch milliseconds of the query room. */
  now: number
  get(url: string): Promise<LightMyRequestResponse>
  post(url: string, payload: string, headers?: Readonly<Record<string, string>>): Promise<LightMyRequestResponse>
}

/** What takes the place of what is there else. */
interface Replaced extends Partial<Pick<FakeDeps, 'clusterControl'>> {
  /** Stands between the routes and the query module. */
  readonly between?: (query: Query) => Query
  /** Of the app, where they differ. */
  readonly appLimits?: Partial<typeof limits>
}

/** Opens them with a data source `events (id, org, v)` of six rows. */
export async function openEndpoints(
  t: Test,
  given: Partial<QueryOptions> = {},
  { between = (query) => query, appLimits = {}, ...more }: Replaced = {},
): Promise<Endpoints> {
  const directory = await createTestDirectory()
  const store = await openEmbeddedStore({ ...testStoreOptions(directory.path), ...given }, silentLogger)
  const workspace = new TestWorkspace()
  const secrets = new Map<string, string>()
  const { id } = workspace.addDataSource('events', 'id UInt64, org String, v Float64')
  await store.command(`CREATE TABLE ws_0001.${id} (id UInt64, org String, v Float64) ENGINE = MergeTree ORDER BY id`)
  await store.command(
    `INSERT INTO ws_0001.${id} SELECT number + 1, if(number % 2 = 0, 'a', 'b'), number / 2 FROM numbers(6)`,
  )
  const deps = { ...createFakeDeps(), ...more }
  const query = createQuery(
    { ...options, ...given, now: () => opened.now },
    {
      store,
      workspace,
      findServiceSource: () => undefined,
      secretOf: (name) => secrets.get(name),
      serviceScope: adminScope,
    },
  )
  const app = createApp({ ...deps, query: between(query) }, { ...limits, ...appLimits })
  t.teardown(async () => {
    await app.close()
    await store.close()
    await directory.remove()
  })
  const ask = (request: InjectOptions) =>
    app.inject({ ...request, headers: { authorization: `Bearer ${token}`, ...request.headers } })
  const opened: Endpoints = {
    app,
    store,
    deps,
    workspace,
    secrets,
    now: 0,
    get: (url) => ask({ method: 'GET', url }),
    post: (url, payload, headers = {}) => ask({ method: 'POST', url, payload, headers }),
  }
  return opened
}
