import type { MaterializedNode } from '../../catalog/pipe.types.ts'
import type { PopulatedBranch, PopulatedView } from './populate.types.ts'

/** The view of a node, as populates know it. */
export function populatedView({ pipe, node, view }: MaterializedNode): PopulatedView {
  const { id, sourceId, targetId, select, columns, more = [] } = view
  const branches = more.map((branch) => ({ id: branch.id, sourceId: branch.sourceId, select: branch.select }))
  return {
    ...{ id, sourceId, targetId, select },
    ...(branches.length === 0 ? {} : { more: branches }),
    columns: columns.map(({ name }) => name),
    pipe: { id: pipe.id, name: pipe.name },
    nodeName: node.name,
  }
}

/** The SELECTs of a view, each of which sees the rows of one table. */
export function populatedBranches({ id, sourceId, select, more = [] }: PopulatedView): readonly PopulatedBranch[] {
  return [{ id, sourceId, select }, ...more]
}
