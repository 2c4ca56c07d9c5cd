// Whether two values are the same, as SQL. Sums of floats depend on the order of what is added, so these are compared with a
// tolerance.

/** What two floats may differ by: this part of the larger one, or of 1 where both are smaller. */
const tolerances: Readonly<Record<string, string>> = { Float64: '1e-9', Float32: '1e-4', BFloat16: '0.02' }

/**
 * A condition that is never NULL.
 *
 * @param type of both, as the engine writes it.
 */
export function sameText(mine: string, other: string, type: string): string {
  const bare = bareType(type)
  const tolerance = tolerances[bare]
  if (tolerance !== undefined) return orBothNull(closeText({ mine, other, tolerance }), mine, other)
  const [, element = ''] = /^Array\((.*)\)$/.exec(bare) ?? []
  const elementTolerance = tolerances[bareType(element)]
  if (elementTolerance !== undefined) {
    const length = `greatest(length(${mine}), length(${other}))`
    const close = orBothNull(closeText({ mine: 'a', other: 'b', tolerance: elementTolerance }), 'a', 'b')
    const elements = `arrayAll((a, b) -> ${close}, arrayResize(${mine}, ${length}), arrayResize(${other}, ${length}))`
    return `(length(${mine}) = length(${other}) AND ${elements})`
  }
  // As texts all values can be compared, and NULL is told from them.
  return `toString(tuple(${mine})) = toString(tuple(${other}))`
}

interface Floats {
  readonly mine: string
  readonly other: string
  readonly tolerance: string
}

function closeText({ mine, other, tolerance }: Floats): string {
  const isNear = `abs(${mine} - ${other}) <= ${tolerance} * greatest(1, abs(${mine}), abs(${other}))`
  return `(${mine} = ${other} OR (isNaN(${mine}) AND isNaN(${other})) OR ${isNear})`
}

function orBothNull(condition: string, mine: string, other: string): string {
  return `ifNull(${condition}, isNull(${mine}) AND isNull(${other}))`
}

/** What values are of that are not NULL. */
function bareType(type: string): string {
  const [, inner] = /^(?:Nullable|LowCardinality|SimpleAggregateFunction)\((?:\w+, )?(.*)\)$/.exec(type) ?? []
  return inner === undefined ? type : bareType(inner)
}
