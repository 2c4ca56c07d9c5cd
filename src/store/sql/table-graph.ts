import type { TableGraph } from '../tables.types.ts'

/** A table, and all that views make of its rows, at any depth. */
export function tablesBehind({ views }: TableGraph, table: string): ReadonlySet<string> {
  const found = new Set([table])
  // A Set gives what is added while it is walked.
  for (const name of found) for (const { source, target } of views) if (source === name) found.add(target)
  return found
}

/** A table, and all out of which rows come to it through views, at any depth. */
export function tablesBefore({ views }: TableGraph, table: string): ReadonlySet<string> {
  const found = new Set([table])
  for (const name of found) for (const { source, target } of views) if (target === name) found.add(source)
  return found
}
