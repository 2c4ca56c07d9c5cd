import type { DataSource, DataSourceId } from '../catalog/data-source.types.ts'
import type { NodeView, Pipe, PipeNode, ViewColumn } from '../catalog/pipe.types.ts'
import type { EngineDefinition } from '../schema/engines/engine-definition.types.ts'
import type { ReadScope } from '../sql/read-scope.types.ts'
import type { TemplateParameter } from '../template/template.types.ts'

/**
 * The life of pipes and nodes. A change is made as a whole or not at all, and after those that were asked for before it.
 *
 * Pipes and nodes are named by name or id. What `Query.checkNode` and the catalog raise passes through. Where a change brings SQL,
 * `author` is what whoever asks for it may read: the engine is asked about the SQL within that.
 */
export interface Pipes {
  find(nameOrId: string): Pipe | undefined
  /** @throws PIPE_NOT_FOUND (404) */
  get(nameOrId: string): Pipe
  /** In order of creation. */
  list(): readonly Pipe[]
  /** @throws NODE_NOT_FOUND (404) */
  getNode(pipe: Pipe, nameOrId: string): PipeNode
  /** What the node's template says of its parameters. */
  parametersOf(node: PipeNode): readonly TemplateParameter[]
  /** The same with those of other pipes that the node reads, as these take their values from the same request. */
  parametersWithPipes(pipe: Pipe, node: PipeNode): readonly TemplateParameter[]
  /** The ids of the data sources and pipes that its nodes read, as they said when they were saved. */
  readsOf(pipe: Pipe): ReadonlySet<string>
  /** What the node reads in some branch of its template, beside its dependencies; by the names of now. */
  possibleDependencies(pipe: Pipe, node: PipeNode): readonly string[]
  /**
   * With the views of its nodes.
   *
   * @throws NAME_INVALID, SQL_EMPTY, SQL_INVALID, NODE_INVALID, …_TOO_MANY, VIEW_… (400), …_EXISTS (409)
   */
  create(request: PipeRequest, author: ReadScope): Promise<LinkedPipe>
  /**
   * Gives the pipe of that name these nodes in the place of its own; makes it where there is none. A node that has the name of one that was
   * there is that one: it stays published, and the view of one that fills what it filled gets its new SQL between two blocks of rows. Views
   * of other nodes go, and what they have filled stays.
   *
   * @throws what `create` and `editNode` do.
   */
  replace(request: PipeReplacement, author: ReadScope): Promise<LinkedPipe>
  /**
   * Makes a pipe with the nodes of another one, or puts these into a pipe that there is: that one stays published where
   * one of the new nodes has the name of its endpoint.
   *
   * @throws what `create` does; PIPE_NOT_FOUND (404).
   */
  copy(request: CopyRequest, author: ReadScope): Promise<Pipe>
  /**
   * @param author must be able to read what a pipe gives that gets a name which other pipes read.
   * @throws NAME_INVALID, CHANGE_EMPTY (400), READ_DENIED (403), PIPE_NOT_FOUND (404), …_EXISTS, PIPE_USED (409)
   */
  revise(nameOrId: string, revision: PipeRevision, author: ReadScope): Promise<Pipe>
  /**
   * Refused with PIPE_USED, VIEW_USED (409) while other pipes read it, unless it is forced: those stay, and fail; views that are
   * made of its SQL stay as they are. Its own views go, and what they have filled stays.
   */
  drop(nameOrId: string, options: { readonly isForced: boolean }): Promise<void>
  /** Puts a node behind the others. @throws what `create` does; PIPE_NOT_FOUND (404). */
  appendNode(pipeNameOrId: string, request: NodeRequest, author: ReadScope): Promise<ChangedNode>
  /**
   * Views that are made of the node get its new SQL between two blocks of rows, also those of other pipes.
   *
   * @throws SQL_EMPTY, SQL_INVALID, CHANGE_EMPTY, VIEW_… (400), …_NOT_FOUND (404), NODE_EXISTS, NODE_USED, VIEW_USED, DATASOURCE_BUSY
   *   (409), CHANGE_BLOCKED (503)
   */
  editNode(pipeNameOrId: string, nodeNameOrId: string, edit: NodeEdit, author: ReadScope): Promise<ChangedNode>
  /**
   * Nodes that read it stay, and fail. Its own view goes, and what that has filled stays; views of other nodes that are made of its
   * SQL refuse it, unless it is forced, and stay as they are.
   *
   * @throws NODE_PUBLISHED (400), READ_DENIED (403), …_NOT_FOUND (404), VIEW_USED (409)
   */
  removeNode(pipeNameOrId: string, nodeNameOrId: string, removal: NodeRemoval): Promise<void>
  /**
   * Makes a node fill a data source from now on.
   *
   * @throws VIEW_… (400), READ_DENIED (403), …_NOT_FOUND (404), VIEW_EXISTS, OVERRIDE_REFUSED, DATASOURCE_BUSY (409)
   */
  materialize(pipeNameOrId: string, nodeNameOrId: string, order: MaterializeOrder): Promise<ChangedNode>
  /**
   * Links the view again that a populate has unlinked, into the data source that it filled; the node's SQL is what it is now.
   *
   * @throws what `materialize` does; VIEW_MISSING (400) for a node that has none to link again.
   */
  relink(pipeNameOrId: string, nodeNameOrId: string, order: MaterializeOrder): Promise<ChangedNode>
  /** Ends that; what the node has filled stays. @throws VIEW_MISSING (400), …_NOT_FOUND (404) */
  dematerialize(pipeNameOrId: string, nodeNameOrId: string): Promise<ChangedNode>
  /** What `materialize` would do, which is not done. @throws what that does. */
  analyse(pipeNameOrId: string, nodeNameOrId: string, order: MaterializeOrder): Promise<AnalysedNode>
  /** Makes the node the one that answers for the pipe. @throws NODE_UNKNOWN, SQL_INVALID (400), PIPE_NOT_FOUND (404) */
  publish(pipeNameOrId: string, nodeNameOrId: string, author: ReadScope): Promise<Pipe>
  /** Null stands for whichever node is published. @throws NODE_UNKNOWN, ENDPOINT_MISSING (400), PIPE_NOT_FOUND (404) */
  unpublish(pipeNameOrId: string, nodeNameOrId: string | null, author: ReadScope): Promise<Pipe>
}

export interface PipeRequest {
  readonly name: string
  readonly description: string
  /** In their order; each may read those before it. */
  readonly nodes: readonly NodeRequest[]
}

export interface PipeReplacement extends PipeRequest {
  readonly requireChange: RequireChange
  readonly rights: ViewRights
}

/** Called with a pipe that is to get other nodes, when its turn has come; throws when it may not be changed. */
export type RequireChange = (pipeId: string) => void

/** A pipe as it was written, and what was made for its nodes. */
export interface LinkedPipe {
  readonly pipe: Pipe
  readonly reports: readonly NodeReport[]
}

export interface NodeRequest {
  /** Undefined asks for a name made of the pipe's. */
  readonly name: string | undefined
  readonly description: string
  readonly sql: string
  /** Whether it is published at once. */
  readonly isEndpoint: boolean
  /** The data source that it is to fill; absent for none. */
  readonly target?: NodeTarget | undefined
}

/** The data source that a node is to fill. */
export interface NodeTarget {
  /** Name or id. */
  readonly name: string
  /** The data source that has the name, for which the author's rights were judged; null for one that is to be made. */
  readonly knownId: DataSourceId | null
  /** Null takes one that fits the query. */
  readonly engine: EngineDefinition | null
  /** Whether a data source that does not fit may be made anew. */
  readonly isOverridden: boolean
  /** Whether the caller may write to the data source whose blocks the view is to see: one that fails stops them. */
  readonly mayWriteTo: (sourceId: DataSourceId) => boolean
  /** Whether the caller may read all rows of a data source; else what it has, and how it is defined, is not told. */
  readonly mayRead: (id: DataSourceId) => boolean
  /** What is to be filled of the rows that are there; absent or null fills nothing. */
  readonly populate?: NodePopulate | null
  /** When a populate of the view last succeeded that is linked again; absent for all others. */
  readonly populatedAt?: number | undefined
}

/** What whoever makes views is handed; see `AskedPopulate`. */
export interface NodePopulate {
  readonly maker: {
    readonly owner: { readonly tokenId: string | null; readonly tokenName: string }
    readonly logFields: Readonly<Record<string, unknown>>
  }
  readonly subset: number | null
  readonly condition: string | null
  readonly unlinksOnError: boolean
  readonly truncates: boolean
}

export interface MaterializeOrder {
  readonly target: NodeTarget
  readonly author: ReadScope
}

export interface NodeRemoval {
  readonly author: ReadScope
  readonly isForced: boolean
}

export interface CopyRequest {
  readonly name: string
  /** The pipe whose nodes are copied. */
  readonly from: string
  readonly requireChange: RequireChange
  /** Undefined takes that of the copied pipe, or keeps that of a pipe that there is. */
  readonly description: string | undefined
}

/** What is undefined stays. */
export interface PipeRevision {
  readonly name: string | undefined
  readonly description: string | undefined
  /** Whether other pipes whose SQL goes by the name get the new one. */
  readonly isForced?: boolean
}

/** What is undefined stays. */
export interface NodeEdit {
  readonly name: string | undefined
  readonly description: string | undefined
  readonly sql: string | undefined
  /** Its place among the nodes, from 0; a place behind the last one is the last one. */
  readonly position: number | undefined
  /** Whether other nodes whose SQL goes by its name get the new one. */
  readonly isForced: boolean
  /** What the author may do about views that are made of the node; absent allows nothing, so that they refuse other SQL. */
  readonly rights?: ViewRights
}

/** Whether somebody may have views changed. */
export interface ViewRights {
  readonly mayChange: (pipeId: string) => boolean
  /** A view fills it. */
  readonly mayFill: (targetId: string) => boolean
  /** A view sees its blocks, and stops them where it fails. */
  readonly mayWriteTo: (sourceId: string) => boolean
  /** See `NodeTarget`. */
  readonly mayRead: (id: string) => boolean
}

export interface ChangedNode {
  readonly pipe: Pipe
  readonly node: PipeNode
  /** Of the view that was made for it; absent where none was. */
  readonly report?: NodeReport | undefined
}

/** What was made for a node that fills a data source. */
export interface NodeReport {
  readonly view: NodeView
  /** Whether its data source was made too. */
  readonly isCreated: boolean
  /** Clauses about what was chosen, and what of the query means something else in a view. */
  readonly warnings: readonly string[]
  /** The job that fills it with the rows that were there; absent where none does. */
  readonly jobId?: string | undefined
}

export interface NodeAnalysis {
  readonly columns: readonly ViewColumn[]
  /** The data sources whose rows it would see: one for each SELECT of a UNION ALL. */
  readonly sourceIds: readonly DataSourceId[]
  /** The data source that is there; undefined where one would be made. */
  readonly existing: DataSource | undefined
  /** Of one that would be made. */
  readonly schema: string
  readonly engine: EngineDefinition
  readonly warnings: readonly string[]
}

export interface AnalysedNode {
  readonly pipe: Pipe
  readonly node: PipeNode
  readonly analysis: NodeAnalysis
}

/** A node that is to fill a data source, in its pipe as that is to be. */
export interface NodeLink {
  readonly pipe: Pipe
  readonly position: number
  readonly target: NodeTarget
  /** What its author may read. */
  readonly author: ReadScope
  /** Another pipe as it is to be, which the node reads; absent where nothing else changes. */
  readonly changed?: Pipe | undefined
}

/** A node whose view is to give something else. */
export interface NodeChange extends NodeLink {
  readonly old: NodeView
}

/** Who makes and drops the views of nodes. */
export interface NodeViews {
  /** Makes them, has them written, and leaves nothing of them if that fails. */
  link<Result>(
    links: readonly NodeLink[],
    write: (views: readonly NodeView[], madeIds: ReadonlySet<string>) => Promise<Result>,
  ): Promise<{ readonly result: Result; readonly reports: readonly NodeReport[] }>
  /** Puts them in the places of the old ones, between two blocks, and has that written; the old ones stay if it fails. */
  change<Result>(
    changes: readonly NodeChange[],
    write: (views: readonly NodeView[]) => Promise<Result>,
  ): Promise<{ readonly result: Result; readonly reports: readonly NodeReport[] }>
  /** Has it written that they are gone, then drops them. */
  unlink<Result>(views: readonly NodeView[], write: () => Promise<Result>): Promise<Result>
  /** What `link` would make. */
  analyse(link: NodeLink): Promise<NodeAnalysis>
}
