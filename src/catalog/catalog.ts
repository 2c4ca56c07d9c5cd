// What exists: data sources and pipes, in memory for readers and in a storage for the next start.
//
// Invariants: readers see a change only when it is on disk; changes are made one after the other, each checked against
// the state that the one before left; `catalogVersion` grows with every change that was made.

import { assert } from '../shared/assert.ts'
import { errors } from '../shared/errors/errors.ts'
import type { LoadedRecords } from '../storage/loaded-records.ts'
import type { RecordKind } from '../storage/storage.types.ts'
import { CatalogChanges, type PlannedChange } from './catalog-changes.ts'
import { CatalogNames, type Unversioned } from './catalog-names.ts'
import { type CatalogEntry, type DataSourceState, decodeEntry, encodeEntry, type ReplayNote } from './catalog-record.ts'
import type { DataSource, DataSourceId } from './data-source.types.ts'
import { findDataSourceId } from './data-source-id.ts'
import { checkDataSourceName } from './data-source-name.ts'
import type { Pipe, PipeId, PipeReader } from './pipe.types.ts'
import { type ChangeGuard, PipeCatalog } from './pipe-catalog.ts'

export interface CatalogOptions {
  readonly dataSourcesMax: number
  readonly pipesMax: number
  /** Epoch milliseconds. */
  readonly now: () => number
}

/**
 * The catalog of one workspace. Reads are synchronous and see what is on disk.
 *
 * Every change may be refused with CHANGES_TOO_MANY (503), when as many wait as may. Names are unique across data sources
 * and pipes. A guard is called when its change is about to be made, and may refuse it.
 *
 * A data source is `creating` until its tables stand and `dropping` once they may go; in both states it is invisible
 * to `find` and `list`, and `unfinished` shows it to whoever mends at start, or counts on its tables.
 */
export interface Catalog extends PipeReader {
  /** Another number after every change, also across restarts: whatever was derived from the catalog holds for one. */
  readonly catalogVersion: number
  /**
   * By name or id; an id may carry a label (`t_.label.<hex>`), and a name a version (`views__v3`, as `versioned-name.ts` has
   * it). Ready data sources only.
   */
  find(nameOrId: string): DataSource | undefined
  /** The name that a data source which is gone had last; its id where that is too long ago. */
  lastNameOf(id: string): string
  /** What a name that nobody has would stand for but for the version behind it, also what is half made; undefined for none. */
  unversioned(name: string): Unversioned | undefined
  /** Ready data sources in order of creation. */
  list(): readonly DataSource[]
  /** Data sources that are half made or half gone, in order of creation. */
  unfinished(): readonly CatalogEntry[]
  /**
   * Takes the name for a data source that is about to be created.
   *
   * @throws NAME_INVALID (400), DATASOURCE_EXISTS (409), DATASOURCES_TOO_MANY (400)
   */
  begin(dataSource: DataSource, guard?: ChangeGuard): Promise<void>
  /**
   * Refuses a name that a new data source cannot have, as things are now.
   *
   * @throws NAME_INVALID (400), DATASOURCE_EXISTS, PIPE_EXISTS (409)
   */
  checkNewName(name: string): void
  /** Shows a data source whose tables stand. @throws DATASOURCE_NOT_FOUND (404) */
  complete(id: DataSourceId): Promise<void>
  /** Changes what no table knows of, and `along` with it pipes, in one commit. @throws DATASOURCE_NOT_FOUND (404), NAME_INVALID (400), DATASOURCE_EXISTS (409) */
  revise(id: DataSourceId, revision: Revision, guard?: ChangeGuard, along?: readonly Pipe[]): Promise<DataSource>
  /** Notes what a data source is about to become; readers see it as it was. @throws DATASOURCE_NOT_FOUND (404) */
  beginAlter(changed: DataSource): Promise<void>
  /** Shows what was noted, under the name that the data source has now. @throws DATASOURCE_NOT_FOUND (404) */
  completeAlter(id: DataSourceId): Promise<DataSource>
  /** Forgets what was noted: the tables are as they were. @throws DATASOURCE_NOT_FOUND (404) */
  abandonAlter(id: DataSourceId): Promise<void>
  /** Ready data sources with a change that was noted, and neither shown nor forgotten. */
  altering(): readonly { readonly dataSource: DataSource; readonly pending: DataSource }[]
  /** Notes what a data source without rows is about to be made anew as; readers see it as it was. @throws DATASOURCE_NOT_FOUND (404) */
  beginRemake(changed: DataSource): Promise<void>
  /** Forgets what was noted: the tables are as they were. @throws DATASOURCE_NOT_FOUND (404) */
  abandonRemake(id: DataSourceId): Promise<void>
  /** Ready data sources that are noted to be made anew, and neither shown so nor forgotten. */
  remaking(): readonly { readonly dataSource: DataSource; readonly remake: DataSource }[]
  /** Notes how far a replay has come, or, by null, that it is over. @throws DATASOURCE_NOT_FOUND (404) */
  noteReplay(id: DataSourceId, replay: ReplayNote | null): Promise<void>
  /** Null when no replay is under way. */
  replayOf(id: DataSourceId): ReplayNote | null
  /**
   * Hides a data source whose tables are about to go, and frees its name. `along` gives the pipes that change with it, as they are to
   * be, in the turn of the change. @throws DATASOURCE_NOT_FOUND (404)
   */
  retire(id: DataSourceId, guard?: ChangeGuard, along?: () => readonly Pipe[]): Promise<void>
  /** Forgets a data source whose tables are gone, or were never made; one that is unknown is gone already. */
  remove(id: DataSourceId): Promise<void>
  /**
   * Refuses a name that a new pipe cannot have, as things are now.
   *
   * @throws NAME_INVALID (400), DATASOURCE_EXISTS, PIPE_EXISTS (409)
   */
  checkPipeName(name: string): void
  /**
   * Data sources that are being made, or made anew, for views of the pipe are shown in the same commit, here and by `replacePipe`.
   *
   * @throws NAME_INVALID, PIPES_TOO_MANY (400), DATASOURCE_EXISTS, PIPE_EXISTS (409)
   */
  createPipe(pipe: Pipe, guard?: ChangeGuard): Promise<void>
  /** Puts a pipe in the place of the one with its id, and others in theirs in one commit. @throws NAME_INVALID (400), PIPE_NOT_FOUND (404), DATASOURCE_EXISTS, PIPE_EXISTS (409) */
  replacePipe(pipe: Pipe, guard?: ChangeGuard, along?: readonly Pipe[]): Promise<void>
  /** @throws PIPE_NOT_FOUND (404) */
  removePipe(id: PipeId, guard?: ChangeGuard): Promise<void>
  /** Waits for the changes under way. The storage is closed by whoever opened it. */
  close(): Promise<void>
}

/** What is absent stays. */
export interface Revision {
  readonly name?: string | undefined
  readonly description?: string | undefined
  readonly kafkaStoreRawValue?: boolean | undefined
  readonly declaredVersion?: number | undefined
}

/** What the catalog is kept in. */
export const catalogKinds: readonly RecordKind[] = ['meta', 'data_sources', 'pipes']

/**
 * Opens the catalog over what was loaded of `catalogKinds`.
 *
 * @throws CatalogRecordError when a record cannot be read.
 */
export function openCatalog(options: CatalogOptions, records: LoadedRecords): Catalog {
  return new LoadedCatalog(options, records)
}

/** What becomes of an entry: another one, or null when it goes. */
interface EntryChange<Result> {
  readonly id: DataSourceId
  readonly entry: CatalogEntry | null
  readonly result: Result
  /** Pipes that change with it. */
  readonly along?: readonly Pipe[]
}

class LoadedCatalog implements Catalog {
  readonly #options: CatalogOptions
  readonly #changes: CatalogChanges
  readonly #names = new CatalogNames()
  readonly #pipes: PipeCatalog
  /** In order of creation: a Map keeps the place of a key whose value changes. */
  readonly #entries = new Map<string, CatalogEntry>()
  #sequence = 0

  constructor(options: CatalogOptions, records: LoadedRecords) {
    this.#options = options
    this.#changes = new CatalogChanges(records)
    const entries = [...records.take('data_sources')].map(([id, record]) => decodeEntry(id, record))
    for (const entry of entries.sort((a, b) => a.sequence - b.sequence)) this.#show(entry.dataSource.id, entry)
    this.#pipes = new PipeCatalog(
      options.pipesMax,
      { changes: this.#changes, names: this.#names, filledBy: (pipe) => this.#shownWith(pipe) },
      records.take('pipes'),
    )
  }

  get catalogVersion(): number {
    return this.#changes.catalogVersion
  }

  find(nameOrId: string): DataSource | undefined {
    const id = this.#names.idOf(nameOrId) ?? findDataSourceId(nameOrId) ?? this.#names.idOfVersion(nameOrId)
    const entry = id === undefined ? undefined : this.#entries.get(id)
    return entry?.state === 'ready' ? entry.dataSource : undefined
  }

  lastNameOf(id: string): string {
    return this.#names.lastNameOf(id)
  }

  unversioned(name: string): Unversioned | undefined {
    return this.#names.unversioned(name)
  }

  list(): readonly DataSource[] {
    return [...this.#entries.values()].filter(({ state }) => state === 'ready').map(({ dataSource }) => dataSource)
  }

  unfinished(): readonly CatalogEntry[] {
    return [...this.#entries.values()].filter(({ state }) => state !== 'ready')
  }

  async begin(dataSource: DataSource, guard: ChangeGuard = allow): Promise<void> {
    await this.#change(() => {
      guard()
      this.checkNewName(dataSource.name)
      if (this.#entries.size >= this.#options.dataSourcesMax) {
        throw errors.DATASOURCES_TOO_MANY({ dataSourcesMax: this.#options.dataSourcesMax })
      }
      const entry: CatalogEntry = {
        dataSource,
        state: 'creating',
        sequence: this.#sequence + 1,
        pending: null,
        remake: null,
        replay: null,
      }
      return { id: dataSource.id, entry, result: undefined }
    })
  }

  async complete(id: DataSourceId): Promise<void> {
    await this.#change(() => {
      const entry = this.#expect(id, 'creating')
      return { id, entry: { ...entry, state: 'ready' }, result: undefined }
    })
  }

  revise(
    id: DataSourceId,
    revision: Revision,
    guard: ChangeGuard = allow,
    along: readonly Pipe[] = [],
  ): Promise<DataSource> {
    return this.#change(() => {
      const entry = this.#expect(id, 'ready')
      guard()
      const { name, description, kafkaStoreRawValue } = entry.dataSource
      const declaredVersion = revision.declaredVersion ?? entry.dataSource.declaredVersion
      if (revision.name !== undefined && revision.name !== name) this.checkNewName(revision.name)
      const revised: DataSource = {
        ...entry.dataSource,
        name: revision.name ?? name,
        description: revision.description ?? description,
        kafkaStoreRawValue: revision.kafkaStoreRawValue ?? kafkaStoreRawValue,
        ...(declaredVersion === undefined ? {} : { declaredVersion }),
        updatedAt: this.#options.now(),
      }
      return { id, entry: { ...entry, dataSource: revised }, result: revised, along }
    })
  }

  async beginAlter(changed: DataSource): Promise<void> {
    await this.#change(() => {
      const { id } = changed
      return { id, entry: { ...this.#expect(id, 'ready'), pending: changed }, result: undefined }
    })
  }

  completeAlter(id: DataSourceId): Promise<DataSource> {
    return this.#change(() => {
      const entry = this.#expect(id, 'ready')
      assert(entry.pending !== null, 'a change was noted')
      const { name, createdAt, declaredVersion } = entry.dataSource
      const kept = { name, createdAt, ...(declaredVersion === undefined ? {} : { declaredVersion }) }
      const altered: DataSource = { ...entry.pending, ...kept, updatedAt: this.#options.now() }
      return { id, entry: { ...entry, dataSource: altered, pending: null }, result: altered }
    })
  }

  async abandonAlter(id: DataSourceId): Promise<void> {
    await this.#change(() => {
      return { id, entry: { ...this.#expect(id, 'ready'), pending: null }, result: undefined }
    })
  }

  altering(): readonly { readonly dataSource: DataSource; readonly pending: DataSource }[] {
    return [...this.#entries.values()].flatMap(({ dataSource, state, pending }) =>
      state === 'ready' && pending !== null ? [{ dataSource, pending }] : [],
    )
  }

  async beginRemake(changed: DataSource): Promise<void> {
    await this.#change(() => {
      const { id } = changed
      return { id, entry: { ...this.#expect(id, 'ready'), remake: changed }, result: undefined }
    })
  }

  async abandonRemake(id: DataSourceId): Promise<void> {
    await this.#change(() => {
      return { id, entry: { ...this.#expect(id, 'ready'), remake: null }, result: undefined }
    })
  }

  remaking(): readonly { readonly dataSource: DataSource; readonly remake: DataSource }[] {
    return [...this.#entries.values()].flatMap(({ dataSource, state, remake }) =>
      state === 'ready' && remake !== null ? [{ dataSource, remake }] : [],
    )
  }

  async noteReplay(id: DataSourceId, replay: ReplayNote | null): Promise<void> {
    await this.#change(() => {
      return { id, entry: { ...this.#expect(id, 'ready'), replay }, result: undefined }
    })
  }

  replayOf(id: DataSourceId): ReplayNote | null {
    return this.#entries.get(id)?.replay ?? null
  }

  async retire(id: DataSourceId, guard: ChangeGuard = allow, along: () => readonly Pipe[] = nobody): Promise<void> {
    await this.#change(() => {
      const entry = this.#expect(id, 'ready')
      guard()
      return { id, entry: { ...entry, state: 'dropping' }, result: undefined, along: along() }
    })
  }

  async remove(id: DataSourceId): Promise<void> {
    await this.#change(() => ({ id, entry: null, result: undefined }))
  }

  findPipe(nameOrId: string): Pipe | undefined {
    return this.#pipes.findPipe(nameOrId)
  }

  listPipes(): readonly Pipe[] {
    return this.#pipes.listPipes()
  }

  checkNewName(name: string): void {
    checkDataSourceName(name)
    this.#names.checkFree(name)
  }

  checkPipeName(name: string): void {
    this.#pipes.checkFree(name)
  }

  createPipe(pipe: Pipe, guard: ChangeGuard = allow): Promise<void> {
    return this.#pipes.create(pipe, guard)
  }

  replacePipe(pipe: Pipe, guard: ChangeGuard = allow, along: readonly Pipe[] = []): Promise<void> {
    return this.#pipes.replace(pipe, guard, along)
  }

  removePipe(id: PipeId, guard: ChangeGuard = allow): Promise<void> {
    return this.#pipes.remove(id, guard)
  }

  close(): Promise<void> {
    return this.#changes.close()
  }

  #change<Result>(plan: () => EntryChange<Result>): Promise<Result> {
    return this.#changes.make((): PlannedChange<Result> => {
      const { id, entry, result, along = [] } = plan()
      const isGone = entry === null && !this.#entries.has(id)
      const record = entry === null ? null : encodeEntry(entry)
      const pipes = this.#pipes.along(along)
      const show = (): void => {
        this.#show(id, entry)
        pipes.show()
      }
      const own = isGone ? [] : [{ kind: 'data_sources', key: id, value: record } as const]
      return { writes: [...own, ...pipes.writes], show, result }
    })
  }

  /** What is being made for views of a pipe is there when the pipe is. */
  #shownWith(pipe: Pipe): Pick<PlannedChange<void>, 'show' | 'writes'> {
    const ids = new Set(pipe.nodes.flatMap(({ view }) => (view === undefined ? [] : [view.targetId])))
    const shown = [...ids].flatMap((id) => {
      const entry = this.#entries.get(id)
      const changed = entry === undefined ? null : shownEntry(entry, this.#options.now())
      return changed === null ? [] : [{ id, entry: changed }]
    })
    const writes = shown.map(({ id, entry }) => ({ kind: 'data_sources', key: id, value: encodeEntry(entry) }) as const)
    const show = (): void => {
      for (const { id, entry } of shown) this.#show(id, entry)
    }
    return { writes, show }
  }

  /** Makes readers see the entry as it is from now on. */
  #show(id: DataSourceId, entry: CatalogEntry | null): void {
    const before = this.#entries.get(id)
    if (before !== undefined) this.#names.free(before.dataSource.name, id)
    if (entry === null) {
      this.#entries.delete(id)
      return
    }
    this.#entries.set(id, entry)
    this.#sequence = Math.max(this.#sequence, entry.sequence)
    if (entry.state === 'dropping') return
    const { name, declaredVersion } = entry.dataSource
    this.#names.take(name, { kind: 'data source', id, ...(declaredVersion === undefined ? {} : { declaredVersion }) })
  }

  #expect(id: DataSourceId, state: DataSourceState): CatalogEntry {
    const entry = this.#entries.get(id)
    if (entry?.state === state) return entry
    throw errors.DATASOURCE_NOT_FOUND({ name: this.lastNameOf(id) })
  }
}

/** As it is when its making has ended; null for one that is not being made. */
function shownEntry(entry: CatalogEntry, now: number): CatalogEntry | null {
  const { dataSource, state, remake } = entry
  if (state === 'creating') return { ...entry, state: 'ready' }
  if (state !== 'ready' || remake === null) return null
  const { name, description, createdAt, declaredVersion } = dataSource
  const kept = { name, description, createdAt, ...(declaredVersion === undefined ? {} : { declaredVersion }) }
  return { ...entry, dataSource: { ...remake, ...kept, updatedAt: now }, remake: null }
}

function allow(): void {}

function nobody(): readonly Pipe[] {
  return []
}
