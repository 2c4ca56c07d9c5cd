import type { Brand } from '../shared/brand.ts'

/** `t_` and 32 hex digits, like the id of a data source; never changes. */
export type PipeId = Brand<string, 'PipeId'>
export type NodeId = Brand<string, 'NodeId'>

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
