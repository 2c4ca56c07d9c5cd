import type { CheckedQuery } from '../schema/expressions/checked-text.types.ts'

/** A query of the service's own words alone, such as one that the engine is tried with. No part of it may come from a caller. */
export function ownQuery(text: string): CheckedQuery {
  // Nobody else has a part in it.
  return text as CheckedQuery
}

interface Around {
  readonly before: string
  readonly after: string
}

/** A checked query between words of the service's own, such as those that have it described. */
export function wrapQuery(query: CheckedQuery, { before, after }: Around): CheckedQuery {
  // The part that a caller has in it is checked.
  return `${before}${query}${after}` as CheckedQuery
}
