import type { DataSource, DataSourceId } from '../catalog/data-source.types.ts'
import type { NodeId, NodeView, Pipe, ViewColumn } from '../catalog/pipe.types.ts'
import type { EngineDefinition } from '../schema/engines/engine-definition.types.ts'
import type { CheckedQuery } from '../schema/expressions/checked-text.types.ts'
import type { ReadScope } from '../sql/read-scope.types.ts'
import type { PopulateMaker } from './populate/populate.types.ts'
import type { PopulateRequest } from './populate/populate-request.types.ts'

/**
 * The materialized views of nodes: made with their targets, checked, dropped, and held to what the catalog says at each start.
 *
 * The catalog's record is what counts. A view stands in the engine before it is written there, so a kill in between leaves one that no
 * node knows, which the next start drops before anything is inserted.
 */
export interface Materialize {
  /**
   * Makes the views of nodes, and the data sources that they fill where there are none, and has them written: nobody finds such a data
   * source, and one that is overridden is as it was, until that has happened. Nothing is left of them if it fails. Each block that is inserted is seen by a view wholly or not at all.
   *
   * @throws VIEW_INVALID, VIEW_MISFIT (400), DATASOURCE_EXISTS, DATASOURCE_BUSY, OVERRIDE_REFUSED (409), and what creating a data source
   *   and `write` raise.
   */
  link<Result>(
    links: readonly ViewLink[],
    write: (views: readonly NodeView[], madeIds: ReadonlySet<string>) => Promise<Result>,
  ): Promise<Linked<Result>>
  /**
   * Puts views with the SQL that their nodes have now in the places of those that stand, between two blocks, and has them written. The
   * old ones stand, and are written, if that fails. What their targets hold stays.
   *
   * @throws VIEW_INVALID, VIEW_MISFIT (400), VIEW_SOURCE_DENIED (403), DATASOURCE_BUSY (409), CHANGE_BLOCKED (503), and what `write` does.
   */
  change<Result>(
    changes: readonly ViewChange[],
    write: (views: readonly NodeView[]) => Promise<Result>,
  ): Promise<Linked<Result>>
  /** Has it written that nodes fill nothing any more, then drops their views. What their targets hold stays. */
  unlink<Result>(views: readonly NodeView[], write: () => Promise<Result>): Promise<Result>
  /** What `link` would make, which is not made. @throws what `link` does. */
  analyse(link: ViewLink): Promise<ViewAnalysis>
  /** Makes the views of the engine those of the catalog. Precondition: nobody inserts. Raises `StoreError`. */
  reconcile(engine?: ReconciledEngine): Promise<void>
}

/** A node that is to fill a data source. */
export interface ViewLink {
  /** As it is to be. */
  readonly pipe: Pipe
  readonly position: number
  readonly target: ViewTarget
  /** What its author may read. */
  readonly author: ReadScope
  /** Another pipe as it is to be, which the node reads; absent where nothing else changes. */
  readonly changed?: Pipe | undefined
}

/** A node whose view gives something else from now on. */
export interface ViewChange extends ViewLink {
  readonly old: NodeView
}

export interface ViewTarget {
  /** Name or id of the data source. */
  readonly name: string
  /** The data source that has the name, for which the caller's rights were judged; null for one that is to be made. */
  readonly knownId: DataSourceId | null
  /** Null says nothing of it. */
  readonly engine: EngineDefinition | null
  /** Whether a data source that does not fit may be made anew. */
  readonly isOverridden: boolean
  /** Whether the caller may write to the data source whose blocks the view is to see: one that fails stops them. */
  readonly mayWriteTo: (sourceId: DataSourceId) => boolean
  /** Whether the caller may read all rows of a data source; else what it has, and how it is defined, is not told. */
  readonly mayRead: (id: DataSourceId) => boolean
  /** Of which rows it is filled that are there: they are pinned in the moment from which on the view takes the others. */
  readonly populate?: AskedPopulate | null
  /** When a populate of the view last succeeded that is linked again; absent for all others. */
  readonly populatedAt?: number | undefined
}

export interface AskedPopulate extends PopulateRequest {
  readonly maker: PopulateMaker
}

export interface Linked<Result> {
  readonly result: Result
  /** In the order of the links. */
  readonly reports: readonly LinkReport[]
}

export interface LinkReport {
  readonly view: NodeView
  readonly isCreated: boolean
  /** Sentences about what was chosen, and what means something else in a view. */
  readonly warnings: readonly string[]
  /** The job that fills what was pinned; absent where nothing was. */
  readonly jobId?: string | undefined
}

export interface ViewAnalysis {
  readonly select: CheckedQuery
  readonly columns: readonly ViewColumn[]
  /** One for each SELECT of a UNION ALL. */
  readonly sourceIds: readonly DataSourceId[]
  /** The data source that is there; undefined where one would be made. */
  readonly existing: DataSource | undefined
  /** Of one that would be made. */
  readonly schema: string
  readonly engine: EngineDefinition
  readonly warnings: readonly string[]
}

/** What the module needs of the engine. */
export interface ViewEngine {
  /** Makes a view unless one has the name. Raises `StoreError`. */
  create(view: EngineView): Promise<void>
  /** Drops it if it is there. */
  drop(name: string): Promise<void>
  /** Whether a view is one that sees the blocks of a table, by the engine's own bookkeeping. */
  sees(name: string, table: string): Promise<boolean>
  /** Names of all of them. */
  names(): Promise<readonly string[]>
}

export interface EngineView {
  readonly name: string
  /** The table that it fills. */
  readonly target: string
  readonly query: CheckedQuery
}

export interface ReconciledEngine {
  readonly views: ViewEngine
}

/** A node as one query; see `query/flatten-node.ts`. */
export interface FlatQuery {
  readonly sql: CheckedQuery
  readonly writtenSettings: readonly string[]
  readonly columns: readonly { readonly name: string; readonly type: string }[]
  readonly nodeIds: readonly NodeId[]
}

/** What the module has data sources made by; see `DataSources`. */
export interface Targets {
  define(request: TargetRequest): DataSource
  whileMaking<Result>(request: TargetRequest, change: () => Promise<Result>): Promise<Result>
  whileRemaking<Result>(request: RemadeTarget, change: () => Promise<Result>): Promise<Result>
}

export interface TargetRequest {
  readonly id: DataSourceId
  readonly name: string
  readonly description: string
  readonly schema: string
  readonly engine: EngineDefinition
  readonly type: 'ndjson'
}

export interface RemadeTarget extends TargetRequest {
  /** Thrown where it has rows. */
  readonly refusal: (rowCount: number) => Error
}

/** What keeps replaces away while a view is made. */
export interface Holds {
  /** @throws DATASOURCE_BUSY (409) while it is held. */
  refuseHeld(dataSource: Pick<DataSource, 'id' | 'name'>): void
  /** @param keepsRows whether the change leaves all rows where they are; absent is false. */
  withHold<Result>(
    dataSources: readonly DataSource[],
    change: () => Promise<Result>,
    keepsRows?: boolean,
  ): Promise<Result>
  /** For what only looks at one moment. */
  withStill<Result>(dataSources: readonly DataSource[], look: () => Promise<Result>): Promise<Result>
}
