// What a merge of the target makes of what a view gives, where that is hardly what was meant. The engine says nothing of it.

import type { ViewColumn } from '../catalog/pipe.types.ts'
import type { EngineDefinition } from '../schema/engines/engine-definition.types.ts'
import { keyNames, summedNames } from './verify/engine-keys.ts'
import type { ViewQuery } from './view-query.ts'

const mergingEngines = /^(?:Aggregating|Replacing|Summing)MergeTree$/
const states = /^(?:Simple)?AggregateFunction\(/
/** What is right to add up. */
const addable = /^(?:count(?:if)?|sum\w*)$/

/** Sentences without their end. */
export function engineWarnings(
  columns: readonly ViewColumn[],
  { aggregates, groups }: Pick<ViewQuery, 'aggregates' | 'groups'>,
  engine: EngineDefinition,
): readonly string[] {
  if (!mergingEngines.test(engine.name)) return []
  const { items, all } = keyNames(engine, 'sorting_key')
  if (all.length === 0) {
    return [`${engine.name} without a sorting key keeps one row of all that it merges; give engine_sorting_key`]
  }
  const isState = (name: string): boolean => columns.some((one) => one.name === name && states.test(one.typeText))
  const finished = [...aggregates].filter(([name]) => !items.includes(name) && !isState(name))
  const unkeyed = engine.name === 'ReplacingMergeTree' ? [] : (groups ?? []).filter((name) => !items.includes(name))
  // An item may be an expression of it.
  const merged = unkeyed.filter((name) => !all.includes(name))
  return [
    ...finished.flatMap(([name, calls]) => finishedText({ name, calls }, engine) ?? []),
    ...merged.map((name) => `${engine.name} merges groups of different '${name}', which is not in the sorting key`),
  ]
}

interface Finished {
  readonly name: string
  /** The function, in lower case; null where it is more than a call of one. */
  readonly calls: string | null
}

function finishedText({ name, calls }: Finished, engine: EngineDefinition): string | null {
  if (engine.name === 'AggregatingMergeTree') {
    return `column '${name}' is no state: AggregatingMergeTree keeps one of its values of each group, and drops the others; use a -State or a -SimpleState function`
  }
  const isSummed = engine.name === 'SummingMergeTree' && (summedNames(engine)?.includes(name) ?? true)
  if (!isSummed || calls === null || addable.test(calls)) return null
  return `SummingMergeTree adds up column '${name}', which comes of ${calls}: use its -State form, and AggregatingMergeTree`
}
