import type { Catalog } from '../../catalog/catalog.ts'
import type { DataSource } from '../../catalog/data-source.types.ts'
import type { ViewRemovals } from '../../catalog/pipe.types.ts'
import type { Jobs } from '../../jobs/jobs.types.ts'
import type { Logger } from '../../observe/logger.ts'
import type { Store } from '../../store/store.types.ts'
import type { Holds } from '../materialize.types.ts'
import type { PinnedPlan } from './populate.types.ts'
import type { PlanDeps } from './populate-plan.ts'

export interface PopulatesDeps extends Omit<PlanDeps, 'catalog' | 'store'> {
  readonly catalog: Pick<Catalog, 'find'>
  readonly store: Pick<
    Store,
    'comparisons' | 'exchange' | 'fill' | 'partitions' | 'pins' | 'rowDeletes' | 'sync' | 'tables' | 'views'
  >
  readonly holds: Holds
  readonly jobs: Pick<Jobs, 'add' | 'cancel' | 'list'>
  readonly links: PopulatedLinks
  readonly logger: Pick<Logger, 'error' | 'info' | 'warn'>
}

/** What is known of views beside the engine. */
export interface PopulatedLinks {
  /** Whether a node has the view still. */
  isLinked(viewId: string): boolean
  /** Whether a populate of it has ever succeeded. */
  hasSucceeded(viewId: string): boolean
  /** @throws VIEW_BEHIND (409) while no block passes the view. */
  refuseParked(viewId: string): void
  /** On disk when it resolves. `isWhole`: its target has all that the view makes of what there is. */
  noteSuccess(viewId: string, isWhole: boolean): Promise<void>
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
  readonly sweep: () => Promise<unknown>
}
