import type { Test } from 'tap'
import { adminScope } from '../../../src/access/admin-scope.ts'
import { createQuery, type QueryOptions } from '../../../src/query/query.ts'
import type { PipeRequest, Query } from '../../../src/query/query.types.ts'
import type { ReadScope } from '../../../src/sql/read-scope.types.ts'
import { type OpenedStore, openEmbeddedStore } from '../../../src/store/embedded/embedded-store.ts'
import { createTestDirectory, silentLogger, testStoreOptions } from '../store/test-store.ts'
import { idOf, TestWorkspace } from './test-workspace.ts'

interface FilteredQuery {
  readonly store: OpenedStore
  readonly workspace: TestWorkspace
  readonly query: Query
  /** Of a reader who is shown the rows whose tenant is a. */
  readonly filtering: ReadScope
  /** The answer to a query, of that reader where no other is given. */
  readonly ask: (sql: string, readScope?: ReadScope) => Promise<Buffer>
  /** What a pipe gives to a reader. */
  readonly read: (asked: Partial<PipeRequest> & Pick<PipeRequest, 'pipe' | 'readScope'>) => Promise<Buffer>
}

/** Queries of a reader whose rows are filtered, in all data sources but those that are named as `unfiltered`. */
export async function openFilteredQuery(
  t: Test,
  { unfiltered = [], ...options }: Partial<QueryOptions> & { readonly unfiltered?: readonly string[] } = {},
): Promise<FilteredQuery> {
  const directory = await createTestDirectory()
  const store = await openEmbeddedStore(testStoreOptions(directory.path), silentLogger)
  t.teardown(async () => {
    await store.close()
    await directory.remove()
  })
  const workspace = new TestWorkspace()
  const query = createQuery(
    {
      database: 'ws_0001',
      sqlBytesMax: 10_000,
      queryTimeMaxMs: 20_000,
      resultBytesMax: 50_000_000,
      responseCacheBytesMax: 1_000,
      queryThreads: 1,
      queryThreadsMax: 2,
      now: () => 0,
      ...options,
    },
    { store, workspace, findServiceSource: () => undefined, secretOf: () => undefined, serviceScope: adminScope },
  )
  const unfilteredIds = new Set<string>(unfiltered.map((name) => idOf(name)))
  const filtering: ReadScope = {
    ...adminScope,
    signature: 'a',
    isFiltered: true,
    filterOf: (id) => (unfilteredIds.has(id) ? null : "tenant = 'a'"),
  }
  const ask = async (sql: string, readScope = filtering): Promise<Buffer> => {
    const { signal } = new AbortController()
    const request = { sql, pipeline: null, format: null, parameters: new Map(), settings: {}, readScope, signal }
    const chunks: Uint8Array[] = []
    for await (const chunk of (await query.run(request)).body) chunks.push(chunk)
    return Buffer.concat(chunks)
  }
  const read: FilteredQuery['read'] = async (asked) => {
    const { signal } = new AbortController()
    const request = { sql: null, format: 'CSV', parameters: new Map(), settings: {}, signal, ...asked }
    const chunks: Uint8Array[] = []
    for await (const chunk of (await query.readPipe(request)).body) chunks.push(chunk)
    return Buffer.concat(chunks)
  }
  return { store, workspace, query, filtering, ask, read }
}
