// Values of parameters that a token sets, and that no request changes.
//
// They belong to a pipe: they hold for its templates and for those of all pipes that it reads. So a node has another text in a
// query that reaches it in two ways, and what is kept of it is kept by these values too.

import type { FixedParameters, ReadScope } from '../sql/read-scope.types.ts'

export interface FixedValues {
  readonly values: FixedParameters
  /** The same for the same values; empty for none. */
  readonly key: string
}

export const nothingFixed: FixedValues = { values: new Map(), key: '' }

/** For a pipe that the caller names: what is fixed for it goes before what is fixed around the query. */
export function fixedForNamed({ fixedParametersOf }: ReadScope, pipeId: string, around: FixedValues): FixedValues {
  return joined(around, fixedParametersOf(pipeId))
}

/** For a pipe that another one reads: what is fixed for the one that the caller named goes before. */
export function fixedForRead({ fixedParametersOf }: ReadScope, pipeId: string, around: FixedValues): FixedValues {
  const own = fixedParametersOf(pipeId)
  return own === null ? around : joined({ values: own, key: '' }, around.values)
}

/**
 * The condition on what a pipe gives to a caller; null for none.
 *
 * Values that are fixed hide rows as a filter does: the engine must not compute what the caller writes for the rows of other
 * values, whose texts its errors would quote, and must not count them.
 */
export function outputConditionOf(
  { outputFilterOf, fixedParametersOf }: Pick<ReadScope, 'outputFilterOf' | 'fixedParametersOf'>,
  pipeId: string,
): string | null {
  return outputFilterOf(pipeId) ?? (fixedParametersOf(pipeId) === null ? null : everyRow)
}

const everyRow = '1'

function joined(first: FixedValues, over: FixedParameters | null): FixedValues {
  if (over === null) return first
  const values = new Map([...first.values, ...over])
  if (values.size === 0) return nothingFixed
  const sorted = [...values].sort(([one], [other]) => (one < other ? -1 : 1))
  return { values, key: JSON.stringify(sorted) }
}
