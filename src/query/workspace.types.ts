import type { DataSource } from '../catalog/data-source.types.ts'
import type { Pipe, PipeNode } from '../catalog/pipe.types.ts'
import type { Source } from '../sql/source.types.ts'

/** The data sources and pipes of the catalog, as those see them who read. */
export interface WorkspaceReader {
  /** Another number after every change of data sources and pipes: plans hold for one. */
  readonly catalogVersion: number
  /** A data source by name or id; a name may have a version behind it, as `catalog/versioned-name.ts` has it. */
  find(nameOrId: string): ReadDataSource | undefined
  /** The same for a pipe. */
  findPipe(nameOrId: string): ReadPipe | undefined
  /** All data sources. */
  list(): readonly ReadDataSource[]
  /** All pipes. */
  listPipes(): readonly ReadPipe[]
}

export type ReadDataSource = Pick<DataSource, 'id' | 'name' | 'columns' | 'engine' | 'declaredVersion'>

/** A node as far as a query is concerned. */
export type ReadNode = Pick<PipeNode, 'id' | 'name' | 'sql' | 'view'>

/** A pipe as far as a query is concerned; one that is about to be saved has it too. */
export interface ReadPipe extends Pick<Pipe, 'id' | 'name' | 'endpointId'> {
  readonly nodes: readonly ReadNode[]
}

/** Sources of the service itself by the parts of their names, such as `tinybird.pipe_stats_rt`; undefined for none. */
export type FindServiceSource = (parts: readonly string[]) => Source | undefined
