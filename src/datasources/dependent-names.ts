import { viewLabel } from '../catalog/node-views.ts'
import type { MaterializedNode } from '../catalog/pipe.types.ts'
import { isMirror } from '../materialize/populate/populate-tables.ts'

/**
 * What the engine's views are called by users. The own view of a populate is left out: it goes with the populate, and the view that this
 * fills is among the others.
 */
export function dependentNames(names: readonly string[], views: readonly MaterializedNode[]): readonly string[] {
  const labels = new Map<string, string>(views.map((one) => [one.view.id, viewLabel(one)]))
  const told = names.filter((name) => !isMirror(name)).map((name) => labels.get(name) ?? name)
  return [...new Set(told)]
}
