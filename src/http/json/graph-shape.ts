// Data sources and pipes as a graph: what is read by what, and which views make what of it.

import type { DataSource } from '../../catalog/data-source.types.ts'
import { materializedNodes } from '../../catalog/node-views.ts'
import type { NodeView, Pipe } from '../../catalog/pipe.types.ts'
import type { DataSourceStatistics } from '../../datasources/datasources.types.ts'
import { pipeType } from './pipe-shape.ts'

export interface GraphParts {
  /** Those that the client may know of; statistics are null where it is not told of rows. */
  readonly dataSources: readonly { readonly dataSource: DataSource; readonly statistics: DataSourceStatistics | null }[]
  readonly pipes: readonly Pipe[]
  /** The ids of the data sources and pipes that a pipe reads. */
  readonly readsOf: (pipe: Pipe) => ReadonlySet<string>
  /** Of a view that lacks blocks; undefined for one that has all. */
  readonly stateOf: (view: NodeView) => string | undefined
}

interface Edge {
  readonly from: string
  readonly to: string
  /**
   * - `read`: a pipe reads it.
   * - `materialize`: each block of it is turned into rows of the other.
   * - `join`: it is read when such a block comes, and what comes to it later changes nothing.
   */
  readonly kind: 'read' | 'materialize' | 'join'
  readonly pipe?: string
  readonly node?: string
  /** `parked` or `incomplete`, of a view that lacks blocks. */
  readonly state?: string
}

export function graphShape({ dataSources, pipes, readsOf, stateOf }: GraphParts): object {
  const sources = dataSources.map(({ dataSource: { id, name, engine }, statistics }) => {
    const { rowCount: rows, byteCount: bytes } = statistics?.landing ?? { rowCount: null, byteCount: null }
    return { id, name, kind: 'datasource', engine: engine.name, rows, bytes }
  })
  const queries = pipes.map((pipe) => ({ id: pipe.id, name: pipe.name, kind: 'pipe', type: pipeType(pipe) }))
  const seen = new Set<string>([...sources, ...queries].map(({ id }) => id))
  const isSeen = ({ from, to }: Edge): boolean => seen.has(from) && seen.has(to) && from !== to
  const reads = pipes.flatMap((pipe) => [...readsOf(pipe)].map((from): Edge => ({ from, to: pipe.id, kind: 'read' })))
  const edges = [...reads, ...viewEdges(pipes, stateOf)].filter(isSeen)
  // Several SELECTs of a node may read the same.
  const once = new Map(edges.map((edge) => [JSON.stringify(edge), edge]))
  return { nodes: [...sources, ...queries], edges: [...once.values()] }
}

function viewEdges(pipes: readonly Pipe[], stateOf: GraphParts['stateOf']): readonly Edge[] {
  return materializedNodes(pipes).flatMap(({ pipe, node, view }) => {
    const { sourceId, targetId, otherIds } = view
    const state = stateOf(view)
    const edge = (from: string, kind: Edge['kind']): Edge => {
      const told = kind === 'materialize' && state !== undefined ? { state } : {}
      return { from, to: targetId, kind, pipe: pipe.id, node: node.id, ...told }
    }
    return [edge(sourceId, 'materialize'), ...otherIds.map((id) => edge(id, 'join'))]
  })
}
