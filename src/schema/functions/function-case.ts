import { aggregateFunctionNames, scalarFunctionNames } from './function-names.ts'

/** As the engine writes them; longer ones first where one ends another. */
const combinators =
  'SimpleState State Merge ForEach Distinct OrNull OrDefault Resample ArgMin ArgMax Tuple Array Map If'.split(' ')
const scalars = byLowerCase(scalarFunctionNames)
const aggregates = byLowerCase(aggregateFunctionNames)

function byLowerCase(names: string): ReadonlyMap<string, string> {
  const all = names.trim().split(/\s+/)
  return new Map(all.map((name) => [name.toLowerCase(), name]))
}

/** A name of a function as the engine writes it, `countState` for `countstate`; undefined for what is none in any case. */
export function writtenCase(name: string): string | undefined {
  const lower = name.toLowerCase()
  return scalars.get(lower) ?? aggregateCase(lower)
}

function aggregateCase(lower: string): string | undefined {
  const known = aggregates.get(lower)
  if (known !== undefined) return known
  const combinator = combinators.find((one) => lower.endsWith(one.toLowerCase()))
  if (combinator === undefined) return undefined
  const base = aggregateCase(lower.slice(0, -combinator.length))
  return base === undefined ? undefined : `${base}${combinator}`
}
