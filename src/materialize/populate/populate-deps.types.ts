import type { Catalog } from '../../catalog/catalog.ts'
import type { DataSource } from '../../catalog/data-source.types.ts'
import type { ViewRemovals } from '../../catalog/pipe.types.ts'
import type { Jobs } from '../../jobs/jobs.types.ts'
import type { Logger } from '../../observe/logger.ts'
import type { Store } from '../../store/store.types.ts'
import type { TableGraph } from '../../store/tables.types.ts'
import type { Holds } from '../materialize.types.ts'
import type { PinnedPlan, PopulatedView } from './populate.types.ts'
import type { PlanDeps } from './populate-plan.ts'

export interface PopulatesDeps extends Omit<PlanDeps, 'catalog' | 'store'> {
  readonly catalog: Pick<Catalog, 'find' | 'lastNameOf'>
  readonly store: Pick<
    Store,
    'comparisons' | 'exchange' | 'fill' | 'partitions' | 'pins' | 'rowDeletes' | 'sync' | 'tables' | 'views'
  >
  readonly holds: Holds
  readonly jobs: Pick<Jobs, 'add' | 'cancel' | 'list'>
  readonly links: PopulatedLinks
  readonly logger: Pick<Logger, 'error' | 'info' | 'warn'>
}

/** For each of its SELECTs that lacks blocks, how often it did not take one. */
export type ViewLack = Readonly<Record<string, number>>

/** What is known of views beside the engine. */
export interface PopulatedLinks {
  /** Whether a node has the view still. */
  isLinked(viewId: string): boolean
  /** Whether a populate of it has ever succeeded. */
  hasSucceeded(viewId: string): boolean
  /** @throws VIEW_BEHIND (409) while no block passes the view. */
  refuseParked(viewId: string): void
  /**
   * @throws VIEW_BEHIND (409) while one of the sources may get rows again that it has: a view on their way is parked, and has yet to take
   *   the rest of a block.
   */
  refuseRepeated(view: Pick<PopulatedView, 'more' | 'sourceId'>): void
  /** With the views that are parked. */
  withParked(graph: TableGraph): TableGraph
  /** Tables are about to be exchanged for others that do not know their blocks. On disk when it resolves. */
  beforeExchange(tables: readonly string[]): Promise<void>
  /** How far the view lacks blocks now, so that it can be told later whether it lacks others too. */
  lackOf(viewId: string): ViewLack
  /**
   * It has all that it lacked then, and is made of what its source had at `pinnedAt`, in epoch milliseconds; what it did not take since, it
   * still lacks. On disk when it resolves.
   */
  noteWhole(viewId: string, lack: ViewLack, pinnedAt: number): Promise<void>
  /** A table got another content, and views that read it keep what they made of the old one. On disk when it resolves. */
  noteStaleReaders(table: string): Promise<void>
  /** A populate of it has succeeded. On disk when it resolves. */
  noteSuccess(viewId: string): Promise<void>
  /** What is noted of rows that its source has no more. */
  removalsOf(viewId: string): ViewRemovals | undefined
  /** Forgets what was noted of these partitions until then, in epoch milliseconds; null is all of them. On disk when it resolves. */
  clearRemovals(viewId: string, partitions: readonly string[] | null, until: number): Promise<void>
  /** Lets the node of the view fill nothing any more, until it is linked again. */
  unlink(viewId: string): Promise<void>
}

/** What a run asks of the module. */
export interface Pinning {
  /** See `Populates`. */
  readonly pin: (plan: PinnedPlan) => Promise<void>
  readonly heldFor: (plan: PinnedPlan) => Promise<readonly DataSource[]>
  /** Resolves when the catalog has heard of the view, or is not to. */
  readonly untilLinked: (plan: Pick<PinnedPlan, 'pinId'>) => Promise<void>
  /** Drops what no job goes on with. Raises `StoreError`. */
  readonly sweep: () => Promise<void>
  /** Drops all that was made for a pin. Raises `StoreError`. */
  readonly letGo: (pinId: string) => Promise<void>
}
