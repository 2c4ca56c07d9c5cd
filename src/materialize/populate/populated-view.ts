import type { MaterializedNode } from '../../catalog/pipe.types.ts'
import type { PopulatedView } from './populate.types.ts'

/** The view of a node, as populates know it. */
export function populatedView({ pipe, node, view }: MaterializedNode): PopulatedView {
  const { id, sourceId, targetId, select, columns } = view
  return {
    ...{ id, sourceId, targetId, select },
    columns: columns.map(({ name }) => name),
    pipe: { id: pipe.id, name: pipe.name },
    nodeName: node.name,
  }
}
