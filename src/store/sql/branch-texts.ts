// What is written around one SELECT of a UNION ALL, so that it is a query of its own.

import { quoteName } from '../../shared/text-escapes.ts'

/** A query whose columns have the names of others, by their places. */
export function renamedText(query: string, names: readonly { readonly from: string; readonly to: string }[]): string {
  const columns = names.map(({ from, to }) => `u.${quoteName(from)} AS ${quoteName(to)}`)
  return `SELECT ${columns.join(', ')} FROM (${query}) AS u`
}

/** A query that has a WITH of its own, or stands in brackets, behind the WITH of another one. */
export function behindHeadText(head: string, query: string): string {
  return `${head} SELECT * FROM (${query})`
}
