import type { CheckedQuery } from '../schema/expressions/checked-text.types.ts'
import type { Brand } from '../shared/brand.ts'
import type { DataSourceId } from './data-source.types.ts'

/** `t_` and 32 hex digits, like the id of a data source; never changes. */
export type PipeId = Brand<string, 'PipeId'>
export type NodeId = Brand<string, 'NodeId'>
/** `v_` and 32 hex digits: the name that a view has in the engine; never changes. */
export type ViewId = Brand<string, 'ViewId'>

/** One query of a pipe. Times are epoch milliseconds. */
export interface PipeNode {
  readonly id: NodeId
  /** Unique in its pipe; other pipes may have a node of the same name. */
  readonly name: string
  readonly description: string
  /** As it was sent, the `%` of a template included. */
  readonly sql: string
  /** Names of what it reads itself, as they were when it was saved: data sources, pipes, nodes of the same pipe. */
  readonly dependencies: readonly string[]
  readonly createdAt: number
  readonly updatedAt: number
  /** Counts the changes of its SQL. */
  readonly version: number
  /** The view by which it fills a data source; absent where it fills none. */
  readonly view?: NodeView
  /** The view that it had until a populate of it failed; absent where none did, or where it has been linked since. */
  readonly unlinked?: UnlinkedView
}

/** A view that stands no more, and may be linked again. */
export interface UnlinkedView {
  readonly view: NodeView
  readonly unlinkedAt: number
}

/**
 * A materialized view as it stands in the engine, or the views of its SELECTs. Tables are named by the ids of their data sources, so that no rename touches it; it
 * is what it was when it was made, whatever becomes of the nodes that it was made of.
 */
export interface NodeView extends ViewBranch {
  /** The data source that it fills. */
  readonly targetId: DataSourceId
  /** The nodes whose SQL stands in the SELECT, its own first. */
  readonly nodeIds: readonly NodeId[]
  /** The other SELECTs of its UNION ALL, which fill the same data source; absent where it has one SELECT. */
  readonly more?: readonly ViewBranch[]
  /** What the SELECT gives, in order. */
  readonly columns: readonly ViewColumn[]
  readonly createdAt: number
  /** When a populate of it last succeeded; absent where none ever did. */
  readonly populatedAt?: number
  /** Rows that its source has no more, and of which its target may still have what it made; absent where there are none. */
  readonly removals?: ViewRemovals
}

/** What the last removal of rows from a source was, and which partitions of a target may have to do with any. */
export interface ViewRemovals {
  readonly kind: 'delete' | 'truncate'
  /** Epoch milliseconds. */
  readonly at: number
  /** Ids; null is all of them. */
  readonly partitions: readonly string[] | null
}

/** A view that did not take some block, and so lacks that one and all that came while it was out of the way. */
export interface ViewBehind {
  readonly sinceMs: number
  /** Whether it is out of the way: no block passes it. */
  readonly isParked: boolean
  /** Where the blocks begin, in the log of events, that are kept for it; null when it lacks some that nobody keeps: it is incomplete then. */
  readonly place: number | null
  /** The same among the blocks of imports that are kept as files, by their numbers; absent is the first. */
  readonly importPlace?: number
  /** Through which views its source gets the rows of the blocks that are kept; absent where they are those of its source itself. */
  readonly from?: ViewBehindFrom
  /** How many blocks the tables behind it had had when it had taken all before `place`. */
  readonly tableBlocks: number
  /** How often it did not take one. */
  readonly missCount: number
  /** When its source last got another content, from which it was not made anew, epoch milliseconds; absent where it never did. */
  readonly staleAt?: number
  /** What the engine calls the error by which it did not take one; empty where that is not known. */
  readonly errorName: string
}

/** A way of rows to the source of a view. */
export interface ViewBehindFrom {
  /** The data source whose blocks are kept. */
  readonly sourceId: DataSourceId
  /** All views on the way, as they are when it is parked. */
  readonly viewIds: readonly ViewId[]
}

/** What the engine has as one view: it sees the blocks of one table. */
export interface ViewBranch {
  readonly id: ViewId
  /** The data source whose blocks the view sees. */
  readonly sourceId: DataSourceId
  /** What else it reads, as behind JOIN and IN: it sees them as they are when a block comes. */
  readonly otherIds: readonly DataSourceId[]
  /** The node's SQL with all that it reads in its place, or one SELECT of it; each table is qualified. */
  readonly select: CheckedQuery
  /** What it lacks of the blocks that came to its source; absent where it lacks none. */
  readonly behind?: ViewBehind
}

export interface ViewColumn {
  readonly name: string
  /** As the engine writes it. */
  readonly typeText: string
}

/** A node that fills a data source, with its pipe. */
export interface MaterializedNode {
  readonly pipe: Pipe
  readonly node: PipeNode
  readonly view: NodeView
}

/** An ordered list of nodes, of which one may be published. */
export interface Pipe {
  readonly id: PipeId
  /** Unique among pipes and data sources. */
  readonly name: string
  readonly description: string
  /** Each may read those before it. */
  readonly nodes: readonly PipeNode[]
  /** The published node; null when there is none. */
  readonly endpointId: NodeId | null
  /** When that node was published; null or absent when there is none, and for pipes of earlier releases. */
  readonly publishedAt?: number | null
  /** The pipe that it was copied from; null when there is none. */
  readonly parentId: PipeId | null
  readonly createdAt: number
  readonly updatedAt: number
}

/** The pipes of the catalog, as those see them who read. */
export interface PipeReader {
  /** By name or id; a name may have a version behind it, `durations__v5`. */
  findPipe(nameOrId: string): Pipe | undefined
  /** In order of creation. */
  listPipes(): readonly Pipe[]
}
