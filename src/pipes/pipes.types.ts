import type { Pipe, PipeNode } from '../catalog/pipe.types.ts'
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
  /** What the node reads in some branch of its template, beside its dependencies; by the names of now. */
  possibleDependencies(pipe: Pipe, node: PipeNode): readonly string[]
  /** @throws NAME_INVALID, SQL_EMPTY, SQL_INVALID, NODE_INVALID, …_TOO_MANY (400), …_EXISTS (409) */
  create(request: PipeRequest, author: ReadScope): Promise<Pipe>
  /**
   * Makes a pipe with the nodes of another one, or puts these into a pipe that there is: that one stays published where
   * one of the new nodes has the name of its endpoint.
   *
   * @throws what `create` does; PIPE_NOT_FOUND (404).
   */
  copy(request: CopyRequest, author: ReadScope): Promise<Pipe>
  /** @throws NAME_INVALID, CHANGE_EMPTY (400), PIPE_NOT_FOUND (404), …_EXISTS, PIPE_USED (409) */
  revise(nameOrId: string, revision: PipeRevision): Promise<Pipe>
  /** Refused with PIPE_USED (409) while other pipes read it, unless it is forced: those stay, and fail. */
  drop(nameOrId: string, options: { readonly isForced: boolean }): Promise<void>
  /** Puts a node behind the others. @throws what `create` does; PIPE_NOT_FOUND (404). */
  appendNode(pipeNameOrId: string, request: NodeRequest, author: ReadScope): Promise<ChangedNode>
  /** @throws SQL_EMPTY, SQL_INVALID, CHANGE_EMPTY, … (400), …_NOT_FOUND (404), NODE_EXISTS, NODE_USED (409) */
  editNode(pipeNameOrId: string, nodeNameOrId: string, edit: NodeEdit, author: ReadScope): Promise<ChangedNode>
  /** Nodes that read it stay, and fail. @throws NODE_PUBLISHED (400), READ_DENIED (403), …_NOT_FOUND (404) */
  removeNode(pipeNameOrId: string, nodeNameOrId: string, author: ReadScope): Promise<void>
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

export interface NodeRequest {
  /** Undefined asks for a name made of the pipe's. */
  readonly name: string | undefined
  readonly description: string
  readonly sql: string
  /** Whether it is published at once. */
  readonly isEndpoint: boolean
}

export interface CopyRequest {
  readonly name: string
  /** The pipe whose nodes are copied. */
  readonly from: string
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
}

export interface ChangedNode {
  readonly pipe: Pipe
  readonly node: PipeNode
}
