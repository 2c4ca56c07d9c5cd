// Data sources as catalog entries and tables together.
//
// Invariants: an entry is shown only while its tables stand, and no table comes before its entry or stays behind it.
// A creation takes the name in the catalog, makes the tables, then shows the entry; a removal hides the entry, drops the
// tables, then forgets the entry. An alter notes in the catalog what is to be, changes the tables, then shows it. Whatever
// step a process dies at, the catalog still knows what is unfinished, and the next start takes it back. Changes of one
// data source are made one after the other.

import type { Catalog } from '../catalog/catalog.ts'
import type { DataSource, DataSourceId } from '../catalog/data-source.types.ts'
import { findDataSourceId } from '../catalog/data-source-id.ts'
import { otherBranches, viewLabel, viewsOn, withoutViews } from '../catalog/node-views.ts'
import type { MaterializedNode } from '../catalog/pipe.types.ts'
import { quarantineSuffix } from '../catalog/quarantine-name.ts'
import { userNames } from '../catalog/user-names.ts'
import { dropAdvice, splitVersion } from '../catalog/versioned-name.ts'
import type { Ingest } from '../ingest/ingest.types.ts'
import { refuseBrokenViews } from '../materialize/altered-source.ts'
import type { Logger } from '../observe/logger.ts'
import { noRecorder, type WorkRecorder } from '../observe/work-recorder.types.ts'
import { ChangeQueue } from '../shared/change-queue.ts'
import { errors } from '../shared/errors/errors.ts'
import { type QueryLimits, toChangeError } from '../store/caller-errors.ts'
import { quarantineTable } from '../store/sql/quarantine-table.ts'
import type { RestartedEngine, Store } from '../store/store.types.ts'
import type { AlteredTables } from './alter/alter-tables.ts'
import { planAlteration } from './alter/alteration.ts'
import { Alterations } from './alter/alterations.ts'
import { tryDefinition } from './alter/definition-trial.ts'
import { changeBehindBarrier } from './barrier.ts'
import { Creations } from './creations.ts'
import type {
  AlterOutcome,
  AlterRequest,
  CreateRequest,
  DataSourceStatistics,
  DataSources,
  EventsSample,
  NewDefinition,
  PipeReference,
  PipeUsers,
  RemakeRequest,
  Revision,
} from './datasources.types.ts'
import { readSchema } from './definition.ts'
import { checkDefinedNames } from './definition-fault.ts'
import { dependentNames } from './dependent-names.ts'
import { EventsCreation, type EventsCreationOptions } from './events-creation.ts'
import { JoinTargets } from './join-targets.ts'
import type { QuarantineSummary, ReplayReport, ReplayRequest } from './quarantine/quarantine.types.ts'
import { QuarantineReplay } from './quarantine/quarantine-replay.ts'
import { summarizeQuarantine } from './quarantine/quarantine-summary.ts'
import { defaultRetryTimes, ReplayRetries, type RetryTimes } from './quarantine/replay-retries.ts'
import { toReadError } from './reader-rows.ts'
import { mendTables } from './recovery/mend-tables.ts'
import { Remakes } from './remakes.ts'
import { forgetRemovals, noteRemoval } from './removal-notes.ts'
import { Removals } from './removals.ts'
import type {
  PlannedRowDelete,
  RowDeleteReport,
  RowDeleteRequest,
  RowDeleteRun,
} from './row-delete/row-delete.types.ts'
import { RowDeletes, type RowDeletesDeps } from './row-delete/row-deletes.ts'
import { TableSizes } from './table-sizes.ts'
import { type ToldOperations, toldOperations } from './told-operations.ts'

export interface DataSourcesOptions extends EventsCreationOptions, QueryLimits {
  /** Most columns of a schema. */
  readonly columnsMax: number
  /** When an interrupted replay is tried again; seconds at first. */
  readonly replayRetryTimes?: RetryTimes
}

interface DataSourcesDeps {
  readonly catalog: Catalog
  readonly store: AlteredTables &
    Pick<
      Store,
      'definitionVersion' | 'partitions' | 'quarantines' | 'replays' | 'rowDeletes' | 'select' | 'trials' | 'views'
    >
  /** Holds events back while a data source changes, and takes rows once more. */
  readonly ingest: Pick<Ingest, 'isHeld' | 'refuseHeld' | 'replayRows' | 'withBarrier' | 'withHold'>
  readonly logger: Logger
  /** Told of what is done to data sources; absent tells nobody. */
  readonly workRecorder?: WorkRecorder
  /** Absent while there are no pipes. */
  readonly pipeUsers?: PipeUsers
  /** Told before rows go on purpose, beside what `ingest` tells; absent tells nobody. */
  readonly whileRemoving?: <Result>(ids: readonly string[], change: () => Promise<Result>) => Promise<Result>
}

/** Opens the data sources: what an earlier process left half done is taken back before this resolves. */
export async function openDataSources(options: DataSourcesOptions, deps: DataSourcesDeps): Promise<DataSources> {
  const dataSources = new OpenDataSources(options, deps)
  await dataSources.mend()
  return dataSources
}

class OpenDataSources implements DataSources {
  readonly #options: DataSourcesOptions
  readonly #catalog: Catalog
  readonly #store: DataSourcesDeps['store']
  readonly #ingest: DataSourcesDeps['ingest']
  readonly #alterations: Alterations
  readonly #replay: QuarantineReplay
  readonly #retries: ReplayRetries
  readonly #joinTargets: JoinTargets
  readonly #logger: Logger
  readonly #eventsCreation: EventsCreation
  readonly #pipeUsers: PipeUsers | undefined
  readonly #changes = new ChangeQueue()
  readonly #remakes: Remakes
  readonly #removals: Removals
  readonly #creations: Creations
  readonly #rowDeletes: RowDeletes
  readonly #sizes: TableSizes
  readonly #told: ToldOperations

  constructor(options: DataSourcesOptions, deps: DataSourcesDeps) {
    const { catalog, store, ingest, logger, pipeUsers, whileRemoving = (_ids, change) => change() } = deps
    this.#told = toldOperations(deps.workRecorder ?? noRecorder, options.now)
    this.#options = options
    this.#catalog = catalog
    this.#store = store
    this.#ingest = ingest
    this.#logger = logger
    this.#pipeUsers = pipeUsers
    this.#alterations = new Alterations({ catalog, store, ingest, logger })
    this.#retries = new ReplayRetries((id) => this.endReplay(id), options.replayRetryTimes ?? defaultRetryTimes)
    const onInterrupted = (id: DataSourceId): void => this.#retries.later(id)
    this.#replay = new QuarantineReplay({ catalog, store, ingest, logger, onInterrupted }, options)
    this.#joinTargets = new JoinTargets({ catalog, store })
    this.#remakes = new Remakes({ catalog, store, logger })
    this.#removals = new Removals({ catalog, store, logger })
    const refuseVersioned = (name: string): void => this.#refuseVersioned(name)
    this.#creations = new Creations({ catalog, store, removals: this.#removals, pipeUsers, refuseVersioned }, options)
    this.#sizes = new TableSizes(store.tables, options)
    this.#eventsCreation = new EventsCreation(options, this)
    const alone: RowDeletesDeps['alone'] = ({ id, name }, change) => this.#alone({ id, name }, change)
    const noteDelete = (id: DataSourceId): Promise<void> => noteRemoval(this.#removalDeps, id, 'delete')
    this.#rowDeletes = new RowDeletes({ catalog, store, ingest, logger, alone, noteDelete, whileRemoving }, options)
  }

  get #removalDeps(): Parameters<typeof noteRemoval>[0] {
    return { catalog: this.#catalog, store: this.#store, now: this.#options.now }
  }

  find(nameOrId: string): DataSource | undefined {
    return this.#catalog.find(nameOrId)
  }

  get(nameOrId: string): DataSource {
    const dataSource = this.#catalog.find(nameOrId)
    if (dataSource === undefined) throw errors.DATASOURCE_NOT_FOUND({ name: nameOrId })
    return dataSource
  }

  getForDrop(nameOrId: string): DataSource {
    const dataSource = this.get(nameOrId)
    const { name, declaredVersion } = dataSource
    const isSure = name === nameOrId || declaredVersion !== undefined || findDataSourceId(nameOrId) !== undefined
    if (isSure) return dataSource
    throw errors.DATASOURCE_NOT_FOUND({ name: nameOrId, hint: dropAdvice(nameOrId, name) })
  }

  list(): readonly DataSource[] {
    return this.#catalog.list()
  }

  checkSchema(schema: string): void {
    readSchema(schema, this.#options.columnsMax)
  }

  checkNew(definition: NewDefinition): void {
    this.#creations.check(definition)
  }

  async create(request: CreateRequest): Promise<DataSource> {
    const { name = '', id = '' } = request
    return await this.#told(
      'create',
      { id, name },
      () => this.#creations.create(request),
      (created) => created,
    )
  }

  findForEvents(nameOrId: string): DataSource | undefined {
    // An id is given by us: nothing can be created under it, and its data source may have been dropped a moment ago.
    const mayCreate = this.#eventsCreation.isAllowed && findDataSourceId(nameOrId) === undefined
    return mayCreate ? this.find(nameOrId) : this.get(nameOrId)
  }

  async findForRows(name: string): Promise<DataSource | undefined> {
    // What the name is a version of may be under way.
    await this.#creations.untilEnded(splitVersion(name)?.base)
    const known = this.find(name)
    if (known === undefined) this.#refuseVersioned(name)
    return known
  }

  createdByEvents(): number {
    return this.#eventsCreation.countOfMinute()
  }

  async createFromEvents(sample: EventsSample): Promise<DataSource> {
    return (await this.findForRows(sample.name)) ?? (await this.#eventsCreation.create(sample))
  }

  /** Rows that come for a version of something make nothing. @throws DATASOURCE_NOT_FOUND (404), DATASOURCE_EXISTS, PIPE_EXISTS (409) */
  #refuseVersioned(name: string): void {
    const owner = this.#catalog.unversioned(name)
    if (owner === undefined) return
    if (owner.kind === 'pipe') throw errors.PIPE_EXISTS({ name: owner.name })
    throw this.find(name) === undefined ? errors.DATASOURCE_NOT_FOUND({ name }) : errors.DATASOURCE_EXISTS({ name })
  }

  async revise(nameOrId: string, { name, description, version, ...how }: Revision): Promise<DataSource> {
    const { id, name: oldName } = this.get(nameOrId)
    const event = name === undefined || name === oldName ? 'alter' : 'rename'
    const revise = () =>
      this.#changes.run(id, async () => {
        const current = this.#getStill(id, oldName)
        const isRenamed = name !== undefined && name !== current.name
        const isDescribed = description !== undefined && description !== current.description
        // Whoever sends the name that it has wants it to have that name.
        const users = this.#pipeUsers
        const declaredVersion = version === current.declaredVersion ? undefined : version
        const isChanged = isRenamed || isDescribed || declaredVersion !== undefined
        if ((name !== undefined || version !== undefined) && !isChanged) return current
        if (!isChanged) throw errors.CHANGE_EMPTY({ expected: '"name", "description" or "version"' })
        const revision = { name, description, declaredVersion }
        const { isForced = false, mayPassOn = true } = how
        const checkVersion = (): void => {
          if (declaredVersion !== undefined) users?.checkVersion(current, declaredVersion, mayPassOn)
        }
        if (!isRenamed || users === undefined) return await this.#catalog.revise(id, revision, checkVersion)
        const rename = { id, oldName: current.name, newName: name, isForced, mayPassOn: () => mayPassOn }
        return await users.rename(rename, (pipes, guard) => {
          const check = (): void => {
            guard()
            checkVersion()
            users.checkTaken(name, id)
          }
          return this.#catalog.revise(id, revision, check, pipes)
        })
      })
    const change = () => this.#pipeUsers?.repeated(revise) ?? revise()
    return await this.#told(event, { id, name: oldName }, change, (revised) => revised)
  }

  async alter(nameOrId: string, request: AlterRequest): Promise<AlterOutcome> {
    const { id, name: oldName } = this.get(nameOrId)
    const alter = () =>
      this.#changes.run(id, async () => {
        const current = this.#getStill(id, oldName)
        const alteration = planAlteration(current, request, this.#options.columnsMax)
        const { operations, hasTableChanges, changed } = alteration
        if (operations.length === 0) {
          throw errors.CHANGE_EMPTY({
            expected: '"schema", "description", "ttl", "indexes" or "kafka_store_raw_value"',
          })
        }
        if (hasTableChanges) await tryDefinition(this.#store, changed, request.schema)
        await this.#refuseBrokenViews(current, changed)
        if (request.isDry) return { operations }
        // What was chosen for a replay fits the schema that it was chosen under.
        await this.#replay.finish(current)
        await this.#alterations.make(current, alteration)
        return { operations }
      })
    return request.isDry ? await alter() : await this.#told('alter', { id, name: oldName }, alter)
  }

  async truncate(nameOrId: string): Promise<void> {
    const { id, name, isQuarantine } = this.#findTable(nameOrId)
    const truncate = () =>
      this.#alone({ id, name }, async (dataSource) => {
        const table = isQuarantine ? quarantineTable(id) : id
        await changeBehindBarrier(this.#ingest, dataSource, async () => {
          if (!isQuarantine) await noteRemoval(this.#removalDeps, id, 'truncate')
          await this.#store.tables.truncate(table)
          if (!isQuarantine) await forgetRemovals(this.#catalog, new Set([id]))
        })
      })
    await this.#told('truncate', { id, name: isQuarantine ? nameOrId : name }, truncate)
  }

  async planRowDelete(nameOrId: string, request: RowDeleteRequest, signal: AbortSignal): Promise<PlannedRowDelete> {
    const { id, name, isQuarantine } = this.#findTable(nameOrId)
    if (isQuarantine) {
      throw errors.DELETE_UNSUPPORTED({ name: nameOrId, reason: 'it is a quarantine; truncate it, or replay its rows' })
    }
    return await this.#rowDeletes.plan(this.#getStill(id, name), request, signal)
  }

  async deleteRows(run: RowDeleteRun): Promise<RowDeleteReport> {
    return await this.#rowDeletes.run(run)
  }

  async drop(nameOrId: string, { isForced }: { readonly isForced: boolean } = { isForced: false }): Promise<void> {
    const { id, name } = this.getForDrop(nameOrId)
    const drop = () =>
      this.#changes.run(id, async () => {
        const dataSource = this.#getStill(id, name)
        this.#ingest.refuseHeld(dataSource)
        const views = isForced ? [] : await this.dependents(id)
        await this.#pipeUsers?.readNames()
        // Nobody finds it any more, then nothing is inserted any more, then the tables go: a start after a kill at any step
        // finds the entry half gone, and ends what was begun.
        const others = otherBranches(viewsOn(this.#catalog.listPipes(), id))
        await this.#retire(dataSource, isForced ? null : views)
        await this.#ingest.withBarrier({ dataSource, isFinal: true }, () => this.#removals.takeBack(id, others))
      })
    await this.#told('delete', { id, name }, drop)
  }

  define(request: CreateRequest): DataSource {
    const dataSource = this.#creations.define(request)
    checkDefinedNames(dataSource, request.schema)
    return dataSource
  }

  async whileMaking<Result>(request: CreateRequest, change: () => Promise<Result>): Promise<Result> {
    const made = this.#creations.define(request)
    return await this.#told('create', made, () => this.#creations.whileMaking(made, request, change))
  }

  async whileRemaking<Result>(request: RemakeRequest, change: () => Promise<Result>): Promise<Result> {
    const { id, schema, refusal } = request
    const remake = () =>
      this.#changes.run(id, async () => {
        const dataSource = this.#getStill(id, request.name)
        const { name, description, version } = dataSource
        const changed = { ...this.#creations.define({ ...request, name, description }), version: version + 1 }
        await this.#creations.try(changed, schema)
        this.#ingest.refuseHeld(dataSource)
        const condition = async (): Promise<void> => {
          const { landing, quarantine } = await this.statisticsOf(id)
          const rowCount = landing.rowCount + quarantine.rowCount
          if (rowCount > 0 || this.#catalog.replayOf(id) !== null) throw refusal(rowCount)
        }
        const barrier = { dataSource, isFinal: false, isClosed: true, condition }
        return await this.#ingest.withBarrier(barrier, () => this.#remakes.make(changed, change))
      })
    return await this.#told('create', request, remake)
  }

  /** Nobody finds it any more. @param views those that keep it, beside nodes; null where nothing does. */
  async #retire(dataSource: DataSource, views: readonly string[] | null): Promise<void> {
    const { id } = dataSource
    const nodesOf = (): readonly MaterializedNode[] => viewsOn(this.#catalog.listPipes(), id)
    const advice = 'drop those first, or use force=true: views go too, pipes stay and fail'
    const guard = (): void => {
      if (views !== null) this.#refuseUsed(dataSource, [...new Set([...views, ...nodesOf().map(viewLabel)])], advice)
      this.#pipeUsers?.checkFreed(dataSource)
    }
    // Nodes whose views go with it fill nothing from then on.
    await this.#catalog.retire(id, guard, () => {
      const gone = new Set(nodesOf().map(({ node }) => node.id))
      return [...new Set(nodesOf().map(({ pipe }) => pipe))].map((pipe) =>
        withoutViews(pipe, (node) => gone.has(node.id)),
      )
    })
  }

  async summarizeQuarantine(nameOrId: string, signal: AbortSignal): Promise<QuarantineSummary> {
    try {
      return await summarizeQuarantine(this.#store.quarantines, this.get(nameOrId), signal)
    } catch (error) {
      throw toReadError(error, this.#options)
    }
  }

  async replayQuarantine(nameOrId: string, request: ReplayRequest, signal: AbortSignal): Promise<ReplayReport> {
    const { id, name } = this.get(nameOrId)
    return await this.#changes.run(id, async () => {
      const dataSource = this.#getStill(id, name)
      const join = await this.joinBehind(id)
      if (join !== null) throw errors.APPEND_UNSUPPORTED({ name: dataSource.name, join })
      return await this.#replay.run(dataSource, request, signal)
    })
  }

  async endReplay(nameOrId: string): Promise<void> {
    const { id, name } = this.get(nameOrId)
    if (this.#catalog.replayOf(id) === null) return
    await this.#changes.run(id, () => this.#replay.finish(this.#getStill(id, name)))
  }

  resume(): void {
    for (const { id, name } of this.#catalog.list()) {
      this.endReplay(id).catch((err: unknown) => {
        // The error itself, with its causes, is in the line of the replay.
        const reason = err instanceof Error ? err.message : String(err)
        this.#logger.warn({ dataSource: name, reason }, 'A replay waits for its next try.')
      })
    }
  }

  close(): Promise<void> {
    this.#replay.close()
    return this.#retries.close()
  }

  joinBehind(id: DataSourceId): string | null | Promise<string | null> {
    const behind = this.#joinTargets.behind(id)
    return behind instanceof Promise ? behind.catch((error: unknown) => Promise.reject(toChangeError(error))) : behind
  }

  async dependents(nameOrId: string): Promise<readonly string[]> {
    const { id } = this.get(nameOrId)
    try {
      // An id is 128 random bits, so wherever it stands in a view's text, the data source is meant.
      const names = await this.#store.views.naming(id)
      return dependentNames(names, viewsOn(this.#catalog.listPipes(), id))
    } catch (error) {
      throw toChangeError(error)
    }
  }

  usedBy(id: DataSourceId): readonly PipeReference[] {
    return this.#pipeUsers?.using(id) ?? []
  }

  possiblyUsedBy(id: DataSourceId): readonly PipeReference[] {
    return this.#pipeUsers?.possiblyUsing(id) ?? []
  }

  async statistics(): Promise<ReadonlyMap<string, DataSourceStatistics>> {
    return await this.#sizes.ofAll(() => this.#catalog.list().map(({ id }) => id))
  }

  async statisticsOf(id: DataSourceId): Promise<DataSourceStatistics> {
    return await this.#sizes.of(id)
  }

  async mendAfterRestart(engine: RestartedEngine): Promise<void> {
    await this.#alterations.mend(engine)
    await this.#remakes.mend(engine)
  }

  /** Makes catalog and tables agree again. */
  async mend(): Promise<void> {
    for (const { dataSource } of this.#catalog.unfinished()) {
      this.#logger.info(
        { id: dataSource.id, name: dataSource.name },
        'A half-created or half-removed data source is removed.',
      )
      await this.#removals.remove(dataSource.id)
    }
    await this.#alterations.mend(this.#store)
    await this.#remakes.mend(this.#store)
    await mendTables({ catalog: this.#catalog, store: this.#store, logger: this.#logger })
  }

  /** Runs a change that no other one is beside, behind what a replay has left. */
  async #alone<Result>(
    { id, name }: Pick<DataSource, 'id' | 'name'>,
    change: (dataSource: DataSource) => Promise<Result>,
  ): Promise<Result> {
    return await this.#changes.run(id, async () => {
      const dataSource = this.#getStill(id, name)
      await this.#replay.finish(dataSource)
      return await change(dataSource)
    })
  }

  /** Behind a wait: one that is gone by now is told by the name that it had. @throws DATASOURCE_NOT_FOUND (404). */
  #getStill(id: DataSourceId, name: string): DataSource {
    const dataSource = this.#catalog.find(id)
    if (dataSource === undefined) throw errors.DATASOURCE_NOT_FOUND({ name })
    return dataSource
  }

  async #refuseBrokenViews(current: DataSource, changed: DataSource): Promise<void> {
    try {
      await refuseBrokenViews({ catalog: this.#catalog, store: this.#store }, current, changed)
    } catch (error) {
      throw toChangeError(error)
    }
  }

  #findTable(nameOrId: string): Pick<DataSource, 'id' | 'name'> & { readonly isQuarantine: boolean } {
    const own = this.find(nameOrId)
    if (own !== undefined) return { id: own.id, name: own.name, isQuarantine: false }
    const owner = nameOrId.endsWith(quarantineSuffix)
      ? this.find(nameOrId.slice(0, -quarantineSuffix.length))
      : undefined
    if (owner === undefined) throw errors.DATASOURCE_NOT_FOUND({ name: nameOrId })
    return { id: owner.id, name: owner.name, isQuarantine: true }
  }

  #refuseUsed({ id, name }: DataSource, views: readonly string[], advice: string): void {
    const users = [...views, ...userNames(this.usedBy(id), this.possiblyUsedBy(id))]
    if (users.length > 0) throw errors.DATASOURCE_USED({ name, users, advice })
  }
}
