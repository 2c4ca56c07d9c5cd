import type { DataSource } from '../../catalog/data-source.types.ts'
import type { Job, JobKind, JobSubject } from '../../jobs/jobs.types.ts'
import { errors } from '../../shared/errors/errors.ts'
import type { PreparedPin } from '../../store/pins.types.ts'
import { tablesBefore } from '../../store/sql/table-graph.ts'
import type { TableGraph } from '../../store/tables.types.ts'
import { RepairEnd } from '../verify/repair-end.ts'
import type {
  ComparedPin,
  Pinned,
  PinnedPlan,
  PinnedPopulate,
  PopulateDetails,
  PopulatedView,
  PopulateJobOrder,
  PopulateOrigin,
  PopulatePlan,
  Populates,
} from './populate.types.ts'
import type { PopulatesDeps } from './populate-deps.types.ts'
import { planPopulate } from './populate-plan.ts'
import type { PopulateRequest } from './populate-request.types.ts'
import { PopulateRun, type RunDeps, type RunOptions } from './populate-run.ts'
import { branchTables, PinnedTables, populateTables } from './populate-tables.ts'
import { populatedBranches } from './populated-view.ts'

export interface PopulatesOptions extends RunOptions {
  readonly populateJobsWorkingMax: number
}

export const populateJobKind = 'populateview'
export const repairJobKind = 'repairview'

export class PopulateService implements Populates {
  /** For whoever has the jobs, to be registered. */
  readonly jobKinds: readonly JobKind[]
  readonly #deps: PopulatesDeps
  readonly #tables: PinnedTables
  /** Pins of which no job knows yet, with the tables that are to be filled. */
  readonly #made = new Map<string, PinnedPlan | PopulatePlan>()
  /** Pins whose views the catalog is about to hear of, and when it has or has not. */
  readonly #linking = new Map<string, Promise<void>>()

  constructor(options: PopulatesOptions, deps: PopulatesDeps) {
    this.#deps = deps
    this.#tables = new PinnedTables(deps.store)
    const pinning = {
      pin: async (plan: PinnedPlan): Promise<void> => {
        await this.pin(plan)
        // The job tells of it from here on.
        this.#made.delete(plan.pinId)
      },
      heldFor: (plan: PinnedPlan) => this.heldFor(plan),
      untilLinked: async ({ pinId }: Pick<PinnedPlan, 'pinId'>) => this.#linking.get(pinId),
      sweep: () => this.#tables.sweep(this.#isKept),
      letGo: (pinId: string) => this.#tables.drop(pinId),
    }
    const endRepair: RunDeps['endRepair'] = (job, checkpoint) =>
      new RepairEnd(job, { ...deps, pinning }).run(checkpoint)
    this.jobKinds = [populateJobKind, repairJobKind].map((name) => ({
      name,
      workingMax: options.populateJobsWorkingMax,
      isCancellableWhileWorking: true,
      canResume: true,
      // A start knows its pin, and drops that of one without a checkpoint before it pins anew.
      beginsAnew: true,
      // One that waits for its source to be free may wait long.
      mayYield: ({ checkpoint }) => checkpoint === null,
      run: (job) => {
        const run = new PopulateRun(job, options, { ...deps, pinning, endRepair }).run()
        // `add` has made the order. While the job works it is known by its details.
        return run.finally(() => this.#made.delete((job.order as PopulateJobOrder).pinId))
      },
      ended: ({ order }) => this.unpin(order as PopulateJobOrder),
    }))
  }

  async plan(view: PopulatedView, request: PopulateRequest, made?: DataSource): Promise<PopulatePlan> {
    this.refuseParked({ view })
    return await planPopulate(view, request, { ...this.#deps, graph: await this.graph(), made })
  }

  async graph(): Promise<TableGraph> {
    const { links, store } = this.#deps
    return links.withParked(await store.views.graph())
  }

  refuseParked({ view, compared }: Pick<PinnedPlan, 'compared' | 'view'>): void {
    const { links } = this.#deps
    links.refuseParked(view.id)
    // A comparison fills nothing that somebody keeps.
    if (compared === undefined || compared.keepsArrivals) links.refuseRepeated(view)
  }

  async heldFor(plan: PinnedPlan): Promise<readonly DataSource[]> {
    const { view } = plan
    const { catalog } = this.#deps
    this.refuseParked(plan)
    const graph = await this.graph()
    const before = populatedBranches(view).flatMap(({ sourceId }) => [...tablesBefore(graph, sourceId)])
    const tables = new Set([...before, view.targetId])
    return [...tables].flatMap((table) => catalog.find(table) ?? [])
  }

  async pin(plan: PinnedPlan): Promise<void> {
    const { store } = this.#deps
    const { view, pinId, request, compared } = plan
    const branches = populatedBranches(view)
    const [prepared] = await Promise.all([this.#prepare(plan), this.#refuseDeleted(plan)])
    // What waited has been stored meanwhile, or was not taken.
    this.refuseParked(plan)
    this.#refuseBeside(plan)
    const { staging } = populateTables(pinId)
    this.#made.set(pinId, plan)
    try {
      const pins = prepared.map(({ pin }) => pin)
      await this.#tables.begin(pinId, compared === undefined && !request.truncates ? pins : null)
      for (const pin of prepared) await store.pins.make(pin)
      if (compared !== undefined) await this.#pinTarget(plan, compared)
      if (compared !== undefined || !request.truncates) return
      await store.tables.recreateLike(staging, { like: view.targetId, keeps: 'same' }, { computes: true })
      for (const [index, { select }] of branches.entries()) {
        await store.views.create({ name: branchTables(pinId, index).mirror, target: staging, query: select })
      }
    } catch (thrown) {
      await this.unpin(plan)
      throw thrown
    }
  }

  #prepare({ view, pinId }: PinnedPlan): Promise<readonly PreparedPin[]> {
    const branches = populatedBranches(view)
    const { pins } = this.#deps.store
    return Promise.all(branches.map(({ sourceId }, index) => pins.prepare(branchTables(pinId, index).pin, sourceId)))
  }

  /** What is being deleted would be pinned with the rest. @throws DATASOURCE_BUSY (409) */
  async #refuseDeleted({ view, compared, sourceName }: PinnedPlan): Promise<void> {
    const sources = populatedBranches(view).map(({ sourceId }) => sourceId)
    const read = compared === undefined ? sources : [...sources, view.targetId]
    if ((await this.#deps.store.rowDeletes.unfinished(read)).length === 0) return
    throw errors.DATASOURCE_BUSY({ name: sourceName, what: 'changed' })
  }

  /** What a populate adds meanwhile would be in no table of a repair. @throws DATASOURCE_BUSY (409) */
  #refuseBeside({ view, pinId, compared }: PinnedPlan): void {
    const isRepair = compared?.keepsArrivals === true
    // A comparison adds nothing.
    if (compared !== undefined && !isRepair) return
    const others = this.#pinned.filter((one) => one.pinId !== pinId && one.filled.includes(view.targetId))
    if (!others.some((one) => isRepair || one.isRepair)) return
    throw errors.DATASOURCE_BUSY({
      name: this.#deps.catalog.find(view.targetId)?.name ?? view.targetId,
      what: 'changed',
    })
  }

  async #pinTarget({ view, pinId }: PinnedPlan, { staging: kind, keepsArrivals }: ComparedPin): Promise<void> {
    const { pins, tables, views } = this.#deps.store
    const { targetId, select } = view
    const { staging, found, arrived, mirror } = populateTables(pinId)
    await pins.makeAlike(found, targetId)
    const like = { like: targetId, keeps: 'same' } as const
    if (kind === 'plain') await pins.makePlain(staging, targetId)
    else await tables.recreateLike(staging, like, { computes: true })
    if (!keepsArrivals) return
    await tables.recreateLike(arrived, like, { computes: true })
    await views.create({ name: mirror, target: arrived, query: select })
  }

  async unpin({ pinId }: Pick<PopulatePlan, 'pinId'>): Promise<void> {
    try {
      await this.#tables.drop(pinId)
    } catch (err) {
      this.#deps.logger.error(
        { err, pinId },
        'Rows that were kept for a populate or a comparison could not be let go; the next populate or a start does it.',
      )
    } finally {
      this.#made.delete(pinId)
    }
  }

  async withPinned<Result>(plans: readonly PinnedPopulate[], change: () => Promise<Result>): Promise<Pinned<Result>> {
    let end = (): void => undefined
    const ended = new Promise<void>((resolve) => {
      end = resolve
    })
    for (const { plan } of plans) this.#linking.set(plan.pinId, ended)
    const jobIds: string[] = []
    try {
      // A job that says that its rows are pinned finds them behind a power cut too.
      await this.#deps.store.sync()
      for (const { plan, maker } of plans) jobIds.push((await this.add(plan, { ...maker, isPinned: true })).id)
      return { result: await change(), jobIds }
    } catch (thrown) {
      for (const id of jobIds) await this.#cancel(id)
      throw thrown
    } finally {
      for (const { plan } of plans) this.#linking.delete(plan.pinId)
      end()
    }
  }

  /** One that cannot be cancelled finds that its view is not there. */
  async #cancel(id: string): Promise<void> {
    try {
      await this.#deps.jobs.cancel(id)
    } catch (err) {
      this.#deps.logger.warn({ err, jobId: id }, 'The job of a populate that is not to be could not be cancelled.')
    }
  }

  async add(plan: PopulatePlan, { owner, logFields, isPinned }: PopulateOrigin): Promise<Job> {
    const { view, sourceName, target, request, seconds, filled, pinId, warnings, compared, repair } = plan
    const order: PopulateJobOrder = {
      ...{ view, request, seconds, filled, pinId, isPinned, sourceName },
      targetName: target.name,
      ...(compared === undefined ? {} : { compared }),
      ...(repair === undefined ? {} : { repair }),
    }
    const details: PopulateDetails = {
      pipeId: view.pipe.id,
      pipeName: view.pipe.name,
      queryId: pinId,
      queries: [{ query_id: pinId, status: 'waiting' }],
      progressPercentage: 0,
      rowsRead: 0,
      rowsTotal: null,
      warnings,
      ...{ pinId, isPinned, filled, isRepair: repair !== undefined },
      isExchange: request.truncates || repair !== undefined,
    }
    const subject: JobSubject = { kind: 'datasource', id: target.id, name: target.name }
    const job = await this.#deps.jobs.add({
      ...{ kind: repair === undefined ? populateJobKind : repairJobKind, owner, subject, order, logFields },
      details: { ...details },
    })
    this.#made.delete(pinId)
    return job
  }

  isBusy(tables: ReadonlySet<string>): boolean {
    return this.#pinned.some(({ filled }) => filled.some((name) => tables.has(name)))
  }

  /** What is pinned by now, and not done with. */
  get #pinned(): readonly { readonly pinId: string; readonly filled: readonly string[]; readonly isRepair: boolean }[] {
    const made = [...this.#made.values()].map(({ pinId, filled, compared }) => {
      return { pinId, filled, isRepair: compared?.keepsArrivals === true }
    })
    const pinned = this.#unended(['waiting', 'working', 'cancelling']).filter(({ isPinned }) => isPinned)
    return [...made, ...pinned.map(({ pinId, filled, isRepair = false }) => ({ pinId, filled, isRepair }))]
  }

  async mend(): Promise<void> {
    const dropped = await this.#tables.mend(this.#isKept)
    if (dropped.length > 0) this.#deps.logger.info({ pins: dropped }, 'Rows that a populate left behind are let go.')
  }

  /** Whether a job goes on with a pin, or is about to. Jobs that were cancelled while they waited leave pins that are not kept. */
  readonly #isKept = (pinId: string): boolean =>
    this.#made.has(pinId) || this.#unended(['waiting', 'working']).some((details) => details.pinId === pinId)

  #unended(statuses: readonly Job['status'][]): readonly PopulateDetails[] {
    // `add` has made them, and the run keeps these fields.
    return this.#deps.jobs
      .list({ kinds: [populateJobKind, repairJobKind], statuses })
      .map(({ details }) => details as unknown as PopulateDetails)
  }
}
