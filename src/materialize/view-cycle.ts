import type { DataSourceId } from '../catalog/data-source.types.ts'
import { materializedNodes } from '../catalog/node-views.ts'
import type { Pipe } from '../catalog/pipe.types.ts'

/** A view, from the data source whose blocks it sees to the one that it fills. */
export interface ViewEdge {
  readonly from: DataSourceId
  readonly to: DataSourceId
}

/** The way on which rows would come back through one more view, its beginning at both ends; null when there is none. */
export function cyclePath(
  { from, to }: ViewEdge,
  pipes: readonly Pipe[],
  more: readonly ViewEdge[] = [],
): readonly DataSourceId[] | null {
  if (from === to) return [from, to]
  const edges = [...materializedNodes(pipes).map(({ view }) => ({ from: view.sourceId, to: view.targetId })), ...more]
  const cameFrom = new Map<DataSourceId, DataSourceId>([[to, from]])
  // A Map gives what is added while it is walked.
  for (const [place] of cameFrom) {
    for (const edge of edges) if (edge.from === place && !cameFrom.has(edge.to)) cameFrom.set(edge.to, place)
  }
  if (!cameFrom.has(from)) return null
  const path = [from]
  for (let place = cameFrom.get(from); place !== undefined && place !== from; place = cameFrom.get(place)) {
    path.unshift(place)
  }
  return [from, ...path]
}
