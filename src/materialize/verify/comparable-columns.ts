// Which columns of a target say something when it is compared, and how the values of each come together.

import type { DataSource } from '../../catalog/data-source.types.ts'
import type { NodeView } from '../../catalog/pipe.types.ts'
import type { ColumnDefinition } from '../../schema/columns/column-definition.types.ts'
import { valueTypeOf } from '../../schema/types/column-type.ts'
import type { ComparedAggregate, ComparedColumn } from '../../store/comparisons.types.ts'
import type { ViewQuery } from '../view-query.ts'
import { keyNames, optionName, summedNames } from './engine-keys.ts'

export interface LeftOutColumn {
  readonly name: string
  /** A clause. */
  readonly reason: string
}

export interface FilledTarget {
  readonly view: Pick<NodeView, 'columns'>
  readonly query: Pick<ViewQuery, 'aggregates' | 'isGrouped'>
  readonly target: Pick<DataSource, 'columns' | 'engine'>
}

export interface ComparedColumns {
  readonly columns: readonly ComparedColumn[]
  readonly leftOut: readonly LeftOutColumn[]
}

/** Functions whose values depend on the order of rows, or that take a sample of them. */
const fickleAggregates =
  /^(?:any|anylast|first_value|last_value|grouparray|groupconcat|groupuniqarray|quantile|quantiles|median|quantiletdigest|quantilestdigest|quantiletdigestweighted|quantilestdigestweighted|topk|approx_top|boundingratio|exponential|deltasum)/
const exactQuantiles = /^(?:quantiles?|median)(?:exact|deterministic|timing|bfloat16|dd|gk)/
/** What may be added up over blocks. */
const additive: ReadonlySet<string> = new Set(['count', 'countif', 'sum', 'sumif', 'sumwithoverflow'])

export function comparedColumns(filled: FilledTarget): ComparedColumns {
  const { target } = filled
  const { engine } = target
  const sorted = new Set(keyNames(engine, 'sorting_key').items)
  const sign = engine.name.endsWith('CollapsingMergeTree') ? optionName(engine, 'sign') : null
  const columns: ComparedColumn[] = []
  const leftOut: LeftOutColumn[] = []
  // In samples the key comes first.
  const inOrder = [...target.columns].sort((a, b) => Number(sorted.has(b.name)) - Number(sorted.has(a.name)))
  for (const column of inOrder) {
    if (column.name === sign) continue
    const aggregate = aggregateOf(column)
    const reason = reasonAgainst(column, aggregate, filled)
    if (reason === null) columns.push({ name: column.name, aggregate })
    else leftOut.push({ name: column.name, reason })
  }
  return { columns, leftOut }
}

/** Why a column is not compared; null where it is. */
function reasonAgainst(
  column: ColumnDefinition,
  aggregate: ComparedAggregate | null,
  { view, query, target }: FilledTarget,
): string | null {
  const { name } = column
  if (!view.columns.some((given) => given.name === name)) return 'the view does not give it'
  if (aggregate !== null && isFickle(aggregate.name)) {
    return `${aggregate.name} depends on the order of rows, or takes a sample of them`
  }
  const { engine } = target
  if (keyNames(engine, 'sorting_key').items.includes(name)) return null
  if (query.isGrouped && query.aggregates.has(name)) return ofGroups(column, aggregate, { view, query, target })
  const isMerged = engine.name === 'AggregatingMergeTree' || engine.name === 'SummingMergeTree'
  if (!isMerged || aggregate !== null || isSummed(column, target)) return null
  return `it is not in the sorting key, so ${engine.name} keeps any of its values`
}

/** A value of one block has to be brought together with those of others. */
function ofGroups(
  column: ColumnDefinition,
  aggregate: ComparedAggregate | null,
  { view, query, target }: FilledTarget,
): string | null {
  const called = query.aggregates.get(column.name) ?? null
  const typeText = view.columns.find(({ name }) => name === column.name)?.typeText ?? ''
  const isLast = target.engine.name === 'ReplacingMergeTree'
  if (aggregate !== null && !isLast) {
    if (aggregate.isState || typeText.startsWith('SimpleAggregateFunction(')) return null
    const name = aggregate.name.toLowerCase()
    const isSame = called === name || called === `${name}if`
    if (isSame || (name.startsWith('sum') && called !== null && additive.has(called))) return null
  }
  if (aggregate === null && isSummed(column, target) && called !== null && additive.has(called)) return null
  return 'it is of the rows of one block, and is not brought together with that of others'
}

function isFickle(name: string): boolean {
  const lower = name.toLowerCase()
  return fickleAggregates.test(lower) && !exactQuantiles.test(lower)
}

function isSummed({ name, type }: ColumnDefinition, { engine }: Pick<DataSource, 'engine'>): boolean {
  if (engine.name !== 'SummingMergeTree') return false
  const isNumber = ['integer', 'float', 'decimal'].includes(valueTypeOf(type).kind)
  return isNumber && (summedNames(engine)?.includes(name) ?? true)
}

/** The function of a column of states, or of values that a function takes. */
function aggregateOf({ type }: ColumnDefinition): ComparedAggregate | null {
  if (type.kind === 'simpleAggregateFunction') return { ...splitFunction(type.aggregate), isState: false }
  if (type.kind !== 'aggregateFunction') return null
  // A number in front is the version of the states.
  return { ...splitFunction(type.parameters.replace(/^\d+,\s*/, '')), isState: true }
}

/** `quantiles(0.5, 0.9), Float64` is `quantiles` with `(0.5, 0.9)`. */
function splitFunction(text: string): Pick<ComparedAggregate, 'name' | 'parameters'> {
  const [, name = text] = /^(\w+)/.exec(text) ?? []
  if (text[name.length] !== '(') return { name, parameters: '' }
  let depth = 0
  for (let index = name.length; index < text.length; index += 1) {
    if (text[index] === '(') depth += 1
    if (text[index] === ')') depth -= 1
    if (depth === 0) return { name, parameters: text.slice(name.length, index + 1) }
  }
  return { name, parameters: '' }
}
