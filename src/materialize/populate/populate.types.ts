import type { DataSource } from '../../catalog/data-source.types.ts'
import type { Job, JobOwner } from '../../jobs/jobs.types.ts'
import type { LogFields } from '../../observe/logger.ts'
import type { CheckedQuery } from '../../schema/expressions/checked-text.types.ts'
import type { ComparedColumn, ComparedManner } from '../../store/comparisons.types.ts'
import type { TableGraph } from '../../store/tables.types.ts'
import type { WideChunks } from './populate-chunks.ts'
import type { PopulateRequest } from './populate-request.types.ts'

/**
 * Fills the targets of views with the rows that their sources have already, as jobs, while ingestion goes on.
 *
 * At one moment, while nothing is inserted, the parts of the source are pinned, and the view stands: what was stored before it is in the
 * pin, and what comes later passes the view. What is pinned is filled in chunks, each by one INSERT of one block under a name of its
 * own, so that the engine takes a chunk once, however often a kill has it repeated.
 */
export interface Populates {
  /**
   * Judges what is asked for and tells what it would read; nothing is done.
   *
   * @param made the target, where it is being made and the catalog does not show it.
   * @throws POPULATE_INVALID (400), POPULATE_REFUSED, DATASOURCE_BUSY (409), and states of the engine (503).
   */
  plan(view: PopulatedView, request: PopulateRequest, made?: DataSource): Promise<PopulatePlan>
  /** What has to be held while the rows are pinned: whatever rows come from to the view, and its target. Raises `StoreError`. */
  heldFor(plan: PinnedPlan): Promise<readonly DataSource[]>
  /**
   * Pins the rows of the view's source as they are now. From then on the view must stand. Precondition: `heldFor` is held.
   *
   * @throws DATASOURCE_BUSY (409) while rows of the source are being deleted; raises `StoreError`. Nothing is left then.
   */
  pin(plan: PinnedPlan): Promise<void>
  /** Gives up a pin that no job is to fill. Never throws. */
  unpin(plan: PinnedPlan): Promise<void>
  /**
   * Adds the jobs of pins that were made for views, runs the change by which the catalog hears of these, and lets the jobs work; takes
   * them back if it fails. A kill in between leaves jobs of views that there are not, which end with that.
   *
   * @throws what `Jobs.add` and the change do.
   */
  withPinned<Result>(plans: readonly PinnedPopulate[], change: () => Promise<Result>): Promise<Pinned<Result>>
  /** The job that fills what is pinned, or what there is when it begins to work. @throws what `Jobs.add` does. */
  add(plan: PopulatePlan, origin: PopulateOrigin): Promise<Job>
  /**
   * @throws VIEW_BEHIND (409) while no block passes the view, or while what is filled may come a second time, as a view before it is parked.
   */
  refuseParked(plan: Pick<PinnedPlan, 'compared' | 'view'>): void
  /** The tables and views, those that are parked among them. Raises `StoreError`. */
  graph(): Promise<TableGraph>
  /** Whether one of these tables is being filled, so that a replace may not compute it anew. */
  isBusy(tables: ReadonlySet<string>): boolean
  /** Drops what is left of populates that no job goes on with. Precondition: nobody inserts. Raises `StoreError`. */
  mend(): Promise<void>
}

/** A view as it stands, or will. */
export interface PopulatedView {
  /** What the engine calls it. */
  readonly id: string
  readonly sourceId: string
  readonly targetId: string
  readonly select: CheckedQuery
  /** The other SELECTs of its UNION ALL, each with a view of its own; absent where it has one SELECT. */
  readonly more?: readonly PopulatedBranch[]
  /** Names of what it gives. */
  readonly columns: readonly string[]
  /** For the answers about the job. */
  readonly pipe: { readonly id: string; readonly name: string }
  readonly nodeName: string
}

export type PopulatedBranch = Pick<PopulatedView, 'id' | 'select' | 'sourceId'>

/** A populate that may be carried out. */
export interface PopulatePlan {
  readonly view: PopulatedView
  readonly source: DataSource
  readonly sourceName: string
  readonly target: DataSource
  readonly request: PopulateRequest
  /** What the condition calls now, in epoch seconds. */
  readonly seconds: number
  /** What would be read now. */
  readonly reads: PopulateReads
  /** Sentences for whoever asked. */
  readonly warnings: readonly string[]
  /** Tables that rows come to by it: the target, and what is behind it. */
  readonly filled: readonly string[]
  /** Names the tables that it makes. */
  readonly pinId: string
  /** Set where what is filled is compared with what the target has. */
  readonly compared?: ComparedPin
  /** Set where only what differs then takes the place of the target's. */
  readonly repair?: RepairOrder
}

/** What becomes of partitions that differ, as a plain JSON value. */
export interface RepairOrder {
  /** Whether those too are made anew that cannot be compared. */
  readonly isForced: boolean
  /** Whether it is only told what differs. */
  readonly isDry: boolean
  readonly manner: ComparedManner
  readonly columns: readonly ComparedColumn[]
}

/** What a plan, an order and a comparison have in common. */
export type PinnedPlan = Pick<PopulatePlan, 'compared' | 'filled' | 'pinId' | 'request' | 'sourceName' | 'view'>

/** What a pin has beside the rows of the source, so that the target can be compared. */
export interface ComparedPin {
  /** `plain` keeps each row as it comes, `same` is a table like the target. */
  readonly staging: 'plain' | 'same'
  /** Whether rows that come meanwhile are kept beside. */
  readonly keepsArrivals: boolean
}

export interface PopulateReads {
  readonly rowCount: number
  /** On disk; null for a part of the rows. */
  readonly byteCount: number | null
  readonly partitionCount: number
}

export interface PopulateOrigin extends PopulateMaker {
  /** Whether `pin` was called for it. */
  readonly isPinned: boolean
}

/** Who asks for a populate. */
export interface PopulateMaker {
  readonly owner: JobOwner
  readonly logFields: LogFields
}

export interface PinnedPopulate {
  readonly plan: PopulatePlan
  readonly maker: PopulateMaker
}

export interface Pinned<Result> {
  readonly result: Result
  /** In the order of the plans. */
  readonly jobIds: readonly string[]
}

/** What is to be done, as a plain JSON value. */
export interface PopulateJobOrder {
  readonly view: PopulatedView
  readonly sourceName: string
  readonly targetName: string
  readonly request: PopulateRequest
  readonly seconds: number
  readonly filled: readonly string[]
  readonly pinId: string
  /** False where the job pins the rows when it begins. */
  readonly isPinned: boolean
  readonly compared?: ComparedPin
  readonly repair?: RepairOrder
}

/** Where a populate is, as a plain JSON value. */
export interface PopulateCheckpoint {
  readonly rowsMax: number
  readonly bytesMax: number
  /** See `ChunkLimits`. */
  readonly step: number
  readonly isByKey?: boolean
  /** Absent in those of earlier releases, which counted the bytes of all columns too. */
  readonly isEven?: boolean
  /** That compute one chunk; absent is one. */
  readonly threads?: number
  readonly wide?: WideChunks
  readonly total: number
  /** So many of the first chunks are filled, and outlive a power cut. */
  readonly done: number
  /** The uuid of the table that takes the place of the target at the end; null where none does. */
  readonly stagingUuid: string | null
  /** The uuid of the target when the rows were pinned, and when that was in epoch milliseconds; absent where another one pinned them. */
  readonly targetUuid?: string
  readonly pinnedAt?: number
  /** What the view lacked when its rows were pinned for a repair, or when its target was about to be exchanged. */
  readonly lack?: Readonly<Record<string, number>>
  /** Of a repair: the table that takes the place of the target, and which partitions are new in it. */
  readonly fresh?: { readonly uuid: string; readonly partitions: readonly string[]; readonly isWhole?: boolean }
}

/** What such a job tells of itself, beside the fields of all jobs. */
export interface PopulateDetails {
  readonly pipeId: string
  readonly pipeName: string
  readonly queryId: string
  readonly queries: readonly PopulateQuery[]
  readonly progressPercentage: number
  readonly rowsRead: number
  /** Null until the rows are pinned. */
  readonly rowsTotal: number | null
  readonly warnings: readonly string[]
  /** What a start looks for. */
  readonly pinId: string
  readonly isPinned: boolean
  readonly filled: readonly string[]
  /** Absent in jobs of earlier releases. */
  readonly isRepair?: boolean
  /** Whether its rows come all at once when it ends. The same. */
  readonly isExchange?: boolean
}

/** Some chunks, one behind the other. */
export interface PopulateQuery {
  readonly query_id: string
  readonly status: 'cancelled' | 'done' | 'error' | 'waiting' | 'working'
}
