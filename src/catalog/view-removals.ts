// Notes of rows that a source has no more: what a view made of them stays, so that a comparison with the source says nothing there.

import type { NodeView, ViewRemovals } from './pipe.types.ts'

/** Partitions that one note names; of more, all are meant. */
const partitionsMax = 1_000

/** @param partitions ids of those that the target has rows in. */
export function withRemoval(
  view: NodeView,
  { kind, at }: Pick<ViewRemovals, 'at' | 'kind'>,
  partitions: readonly string[],
): NodeView {
  const before = view.removals?.partitions ?? (view.removals === undefined ? [] : null)
  const all = before === null ? null : [...new Set([...before, ...partitions])]
  if (all?.length === 0) return view
  return { ...view, removals: { kind, at, partitions: all === null || all.length > partitionsMax ? null : all } }
}

/** The view once these partitions are made anew of what its source has; null is all of them. */
export function withoutRemovals(view: NodeView, partitions: readonly string[] | null): NodeView {
  const { removals, ...rest } = view
  if (removals === undefined || partitions === null) return rest
  // Which ones a note of all means, nobody knows.
  if (removals.partitions === null) return view
  const left = removals.partitions.filter((id) => !partitions.includes(id))
  return left.length === 0 ? rest : { ...rest, removals: { ...removals, partitions: left } }
}
