/** Tables, views and populates over a real engine, without the service around them: what its lives end with, the test says. */
import type { DataSource } from '../../../src/catalog/data-source.types.ts'
import { createTables } from '../../../src/datasources/tables.ts'
import type { Jobs } from '../../../src/jobs/jobs.types.ts'
import { openJobs } from '../../../src/jobs/open-jobs.ts'
import type { PopulatedView } from '../../../src/materialize/populate/populate.types.ts'
import type { PopulateRequest } from '../../../src/materialize/populate/populate-request.types.ts'
import { PopulateService } from '../../../src/materialize/populate/populates.ts'
import type { CheckedExpression, CheckedQuery } from '../../../src/schema/expressions/checked-text.types.ts'
import { type OpenedStore, openEmbeddedStore } from '../../../src/store/embedded/embedded-store.ts'
import type { Store } from '../../../src/store/store.types.ts'
import { testDataSource } from '../ingest/fake-store.ts'
import { MemoryStorage } from '../storage/memory-storage.ts'
import { createTestDirectory, silentLogger, testStoreOptions } from '../store/test-store.ts'

export type Engine = DataSource['engine']

export interface Life {
  readonly jobs: Jobs
  readonly populates: PopulateService
  /** Nothing that it has begun goes on. */
  kill(): void
}

export const wholePopulate: PopulateRequest = { subset: null, condition: null, unlinksOnError: false, truncates: false }

export class PopulateWorld {
  readonly store: OpenedStore
  readonly storage = new MemoryStorage()
  readonly succeeded = new Set<string>()
  readonly unlinked = new Set<string>()
  readonly #dataSources = new Map<string, DataSource>()
  readonly #removeDirectory: () => Promise<void>
  #views = 0

  private constructor(store: OpenedStore, removeDirectory: () => Promise<void>) {
    this.store = store
    this.#removeDirectory = removeDirectory
  }

  static async open(): Promise<PopulateWorld> {
    const directory = await createTestDirectory()
    const store = await openEmbeddedStore(testStoreOptions(directory.path), silentLogger)
    return new PopulateWorld(store, () => directory.remove())
  }

  async close(): Promise<void> {
    await this.store.close()
    await this.#removeDirectory()
  }

  /** A data source with its table. */
  async source(name: string, schema: string, engine: Engine): Promise<DataSource> {
    const dataSource = { ...testDataSource(schema), name, engine }
    await createTables(this.store.tables, dataSource)
    this.#dataSources.set(dataSource.id, dataSource)
    return dataSource
  }

  forget({ id }: DataSource): void {
    this.#dataSources.delete(id)
  }

  /** A view that does not stand yet. `{from}` in its SELECT is the source. */
  view(from: DataSource, to: DataSource, select: string, columns: readonly string[]): PopulatedView {
    this.#views += 1
    return {
      id: `v_${String(this.#views).padStart(32, '0')}`,
      sourceId: from.id,
      targetId: to.id,
      // The test vouches for it.
      select: select.replaceAll('{from}', `ws_0001.${from.id}`) as CheckedQuery,
      columns,
      pipe: { id: 't_pipe', name: 'pipe' },
      nodeName: `node_${this.#views}`,
    }
  }

  async link({ id, targetId, select }: PopulatedView): Promise<void> {
    await this.store.views.create({ name: id, target: targetId, query: select })
  }

  /** Rows as an INSERT of the service makes them: one block under its name. */
  async insert({ id }: Pick<DataSource, 'id'>, select: string): Promise<void> {
    await this.store.command(`INSERT INTO ws_0001.${id} ${select}`)
  }

  async row<Row>(sql: string): Promise<Row> {
    const [row] = await this.store.rows<Row>(sql)
    if (row === undefined) throw new Error('the query gives no row')
    return row
  }

  async pins(): Promise<readonly string[]> {
    return [...(await this.store.tables.list()).keys()].filter((name) => name.startsWith('p_'))
  }

  /** A life of the module, over what the ones before it have left; `chunkRows` is what one INSERT reads. */
  async live(chunkRows = 1_000, over: (store: Store) => Store = (store) => store): Promise<Life> {
    let isDead = false
    const never = new Promise<never>(() => undefined)
    /** Whatever a dead process calls does not begin, and what it waits for does not end. */
    const mortal = <Thing extends object>(thing: Thing): Thing =>
      new Proxy(thing, {
        get: (real, name) => {
          const member: unknown = Reflect.get(real, name)
          if (typeof member === 'object' && member !== null) return mortal(member)
          if (typeof member !== 'function') return member
          return (...args: readonly unknown[]) => {
            if (isDead) return never
            const result: unknown = Reflect.apply(member, real, args)
            if (!(result instanceof Promise)) return result
            return Promise.race([
              result.then(
                (value) => (isDead ? never : value),
                (error) => (isDead ? never : Promise.reject(error)),
              ),
            ])
          }
        },
      })
    const jobs = await openJobs(
      {
        jobsWaitingMax: 100,
        jobsWaitingPerTokenMax: 100,
        jobsKeptMax: 100,
        tellIntervalMs: 0,
        retryMs: 1,
        readAheadDelayMs: 0,
      },
      { storage: mortal(this.storage), logger: silentLogger, now: Date.now },
    )
    const populates = new PopulateService(
      { populateJobsWorkingMax: 1, populateChunkRowsMax: chunkRows },
      {
        catalog: { find: (id) => this.#dataSources.get(id), lastNameOf: (id) => id },
        store: mortal(over(this.store)),
        // What holds rows back is the business of others: here nobody inserts meanwhile unless the test does.
        holds: {
          refuseHeld: () => undefined,
          withHold: (_held, change) => change(),
          withStill: (_held, look) => look(),
        },
        jobs,
        links: {
          isLinked: (id) => !this.unlinked.has(id),
          hasSucceeded: (id) => this.succeeded.has(id),
          refuseParked: () => undefined,
          refuseRepeated: () => undefined,
          withParked: (graph) => graph,
          beforeExchange: async () => undefined,
          lackOf: () => ({}),
          noteWhole: async () => undefined,
          noteStaleReaders: async () => undefined,
          noteSuccess: async (id) => {
            this.succeeded.add(id)
          },
          removalsOf: () => undefined,
          clearRemovals: async () => undefined,
          unlink: async (id) => {
            this.unlinked.add(id)
            await this.store.views.drop(id)
          },
        },
        // Tests write them as the engine takes them.
        checkCondition: async (_dataSource, text) => `(${text})` as CheckedExpression,
        now: Date.now,
        logger: silentLogger,
      },
    )
    for (const kind of populates.jobKinds) jobs.register(kind)
    await populates.mend()
    await jobs.start()
    return {
      jobs,
      populates,
      kill: () => {
        isDead = true
      },
    }
  }
}

export const maker = { owner: { tokenId: 'maker', tokenName: 'maker' }, logFields: {} } as const
