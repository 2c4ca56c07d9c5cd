// Comparisons of two tables, each by one statement that groups the rows of both. What does not fit into its memory is grouped on
// disk.

import { quoteName, quoteString } from '../../shared/text-escapes.ts'
import type { ComparedColumn, ComparedPartition, ComparedTables, Comparisons } from '../comparisons.types.ts'
import type { Statements } from '../statements.types.ts'
import { workspaceDatabase } from '../workspace-database.ts'
import { sameText } from './compared-values.ts'
import { qualified } from './qualified.ts'
import { settingsText } from './statement-settings.ts'

interface ComparisonLimits {
  readonly queryMemoryBytesMax: number
}

/** Letters of one sample. */
const sampleLengthMax = 200
/** Columns of a sample where a row has no key. */
const sampleColumnsMax = 3
const threadsMax = 2

/** `Comparisons` by statements that every adapter of the store can run. */
export class ComparisonStatements implements Comparisons {
  readonly #limits: ComparisonLimits
  readonly #statements: Statements

  constructor(limits: ComparisonLimits, statements: Statements) {
    this.#limits = limits
    this.#statements = statements
  }

  async compare(tables: ComparedTables): Promise<readonly ComparedPartition[]> {
    const key = await this.#keyOf(tables.found)
    const types = await this.#valueTypes(tables)
    const { queryMemoryBytesMax } = this.#limits
    const settings = {
      max_execution_time: Math.max(1, Math.ceil(tables.timeMaxMs / 1_000)),
      timeout_overflow_mode: 'throw',
      max_threads: threadsMax,
      max_memory_usage: queryMemoryBytesMax,
      max_bytes_before_external_group_by: Math.floor(queryMemoryBytesMax / 4),
      max_bytes_before_external_sort: Math.floor(queryMemoryBytesMax / 4),
      // A row of one partition is no row of another one, as merges see it too.
      do_not_merge_across_partitions_select_final: 1,
    }
    return await this.#statements.rows<ComparedPartition>(
      `${comparison({ ...tables, key, types })}\nSETTINGS ${settingsText(settings)}`,
      { isLong: true },
    )
  }

  /** The sorting key as the engine prints it; a constant where there is none. */
  async #keyOf(table: string): Promise<string> {
    const [found] = await this.#statements.rows<{ readonly sorting: string }>(
      `SELECT sorting_key AS sorting FROM system.tables
       WHERE database = ${quoteString(workspaceDatabase)} AND name = ${quoteString(table)}`,
    )
    const sorting = found?.sorting ?? ''
    return sorting === '' ? 'tuple(0)' : `tuple(${sorting})`
  }

  /** What the values of the columns are once states are finished. */
  async #valueTypes({ found, manner, columns }: ComparedTables): Promise<readonly string[]> {
    if (columns.length === 0) return []
    const textOf = manner.kind === 'groups' ? mergedText : valueText
    const values = columns.map((column, index) => `${textOf(column)} AS __compared_${index}`)
    const described = await this.#statements.rows<{ readonly type: string }>(
      `DESCRIBE (SELECT ${values.join(', ')} FROM ${qualified(found)})`,
    )
    return described.map(({ type }) => type)
  }
}

interface Comparison extends ComparedTables {
  readonly key: string
  /** In the order of the columns. */
  readonly types: readonly string[]
}

function comparison(tables: Comparison): string {
  switch (tables.manner.kind) {
    case 'rows':
      return rowsComparison(tables)
    case 'merged':
    case 'groups':
      return keysComparison(tables)
    case 'last':
      return lastComparison(tables, tables.manner)
    case 'signs':
      return signsComparison(tables, tables.manner)
  }
}

/** What each row gives beside its partition, by name. */
type Values = readonly (readonly [name: string, text: string])[]

interface FinalSides {
  readonly expected: boolean
  readonly found: boolean
}

/** The rows of both tables, with `side` 0 for those that there are to be. */
function bothSides({ expected, found }: Comparison, values: Values, isFinal: FinalSides): string {
  const given: Values = [['p', '_partition_id'], ...values]
  // An alias goes before a column of the same name, so these are such that no column has.
  const aliases = given.map(([name, text]) => `${text} AS __compared_${name}`).join(', ')
  const mine = `SELECT 0 AS __compared_side, ${aliases} FROM ${qualified(expected)}${isFinal.expected ? ' FINAL' : ''}`
  const other = `SELECT 1 AS __compared_side, ${aliases} FROM ${qualified(found)}${isFinal.found ? ' FINAL' : ''}`
  const names = ['side', ...given.map(([name]) => name)].map((name) => `__compared_${name} AS ${name}`)
  return `(SELECT ${names.join(', ')} FROM (${mine} UNION ALL ${other}))`
}

const neither: FinalSides = { expected: false, found: false }

function columnValues(columns: readonly ComparedColumn[]): Values {
  return columns.map((column, index) => [`c${index}`, valueText(column)] as const)
}

const counts = 'countIf(side = 0) AS ne, countIf(side = 1) AS nf'

/** One row for each partition; `sample` is a text that is made where `differs` is true. */
interface Summary {
  readonly expected: string
  readonly found: string
  readonly missing: string
  readonly extra: string
  readonly different: string
  readonly sample: string
  readonly differs: string
}

function summary(from: string, of: Summary, samplesMax: number): string {
  const sample = `if(${of.differs}, substringUTF8(toString(${of.sample}), 1, ${sampleLengthMax}), '')`
  return `SELECT p AS id, ${of.expected} AS rowsExpected, ${of.found} AS rowsFound, ${of.missing} AS rowsMissing,
  ${of.extra} AS rowsExtra, ${of.different} AS rowsDifferent, groupArrayIf(${samplesMax})(${sample}, ${of.differs}) AS samples
FROM (${from}) GROUP BY p ORDER BY p`
}

function rowsComparison(tables: Comparison): string {
  const { columns, samplesMax } = tables
  const names = columns.map((_, index) => `c${index}`)
  const groups = `SELECT ${['p', ...names, counts].join(', ')} FROM ${bothSides(tables, columnValues(columns), neither)}
GROUP BY ${['p', ...names].join(', ')}`
  return summary(
    groups,
    {
      expected: 'sum(ne)',
      found: 'sum(nf)',
      missing: 'sum(greatest(ne, nf) - nf)',
      extra: 'sum(greatest(ne, nf) - ne)',
      different: '0',
      sample: tupleOf(names.slice(0, sampleColumnsMax)),
      differs: 'ne != nf',
    },
    samplesMax,
  )
}

function keysComparison(tables: Comparison): string {
  const { columns, key, manner, types, samplesMax } = tables
  const isMerged = manner.kind === 'merged'
  const plain = columns.filter(({ aggregate }) => aggregate === null)
  const compared = isMerged ? columns : columns.filter(({ aggregate }) => aggregate !== null)
  const values: Values = compared.map((column, index) => {
    return [`c${index}`, isMerged ? valueText(column) : quoteName(column.name)]
  })
  const group = isMerged ? key : tupleOf(plain.map(valueText))
  const same = compared.map((column, index) => {
    const [mine, other] = [0, 1].map((side) => sideText(column, { index, side, isMerged }))
    return sameText(mine ?? '', other ?? '', types[columns.indexOf(column)] ?? '')
  })
  const isFinal = { expected: isMerged, found: isMerged }
  const groups = `SELECT p, k, ${counts}, ${same.length === 0 ? '1' : same.join(' AND ')} AS same
FROM ${bothSides(tables, [['k', group], ...values], isFinal)} GROUP BY p, k`
  const isBoth = 'ne > 0 AND nf > 0'
  return summary(
    groups,
    {
      expected: 'countIf(ne > 0)',
      found: 'countIf(nf > 0)',
      missing: 'countIf(nf = 0)',
      extra: 'countIf(ne = 0)',
      different: `countIf(${isBoth} AND NOT same)`,
      sample: 'k',
      differs: `NOT (${isBoth} AND same)`,
    },
    samplesMax,
  )
}

interface ComparedSide {
  readonly index: number
  readonly side: number
  readonly isMerged: boolean
}

/** What one table has of a key: its one row, or its states brought together. */
function sideText({ aggregate }: ComparedColumn, { index, side, isMerged }: ComparedSide): string {
  const choice = `(c${index}, side = ${side})`
  if (isMerged || aggregate === null) return `anyIf${choice}`
  const { name, parameters, isState } = aggregate
  return `${name}${isState ? 'Merge' : ''}If${parameters}${choice}`
}

function lastComparison(tables: Comparison, { version, deleted }: LastRows): string {
  const { columns, key, samplesMax } = tables
  const names = columns.map((_, index) => `c${index}`)
  const values: Values = [
    ['k', key],
    ['ver', version === null ? '0' : quoteName(version)],
    ['del', deleted === null ? '0' : quoteName(deleted)],
    ...columnValues(columns),
  ]
  const all = ['p', 'k', 'ver', 'del', ...names].join(', ')
  const sides = bothSides(tables, values, { expected: false, found: true })
  const rows = `SELECT ${all}, ${counts} FROM ${sides} GROUP BY ${all}`
  const isLast = (rowsText: string): string =>
    `countIf(${rowsText}) > 0 AND maxIf(ver, ${rowsText}) = maxIf(ver, ne > 0)`
  const groups = `SELECT p, k, countIf(ne > 0) > 0 AS hasExpected, sum(nf) > 0 AS hasFound,
  ${isLast('ne > 0 AND nf > 0')} AS same, ${isLast('ne > 0 AND NOT del')} AS isThere, ${isLast('ne > 0 AND del')} AS mayBeGone
FROM (${rows}) GROUP BY p, k`
  const missing = 'hasExpected AND NOT hasFound AND NOT mayBeGone'
  const different = 'hasExpected AND hasFound AND NOT same'
  return summary(
    groups,
    {
      expected: 'countIf(isThere)',
      found: 'countIf(hasFound)',
      missing: `countIf(${missing})`,
      extra: 'countIf(NOT hasExpected)',
      different: `countIf(${different})`,
      sample: 'k',
      differs: `(NOT hasExpected) OR (${missing}) OR (${different})`,
    },
    samplesMax,
  )
}

type LastRows = Extract<ComparedTables['manner'], { readonly kind: 'last' }>
type SignedRows = Extract<ComparedTables['manner'], { readonly kind: 'signs' }>

function signsComparison(tables: Comparison, { sign }: SignedRows): string {
  const { columns, samplesMax } = tables
  const names = columns.map((_, index) => `c${index}`)
  const values: Values = [['sign', `toInt64(${quoteName(sign)})`], ...columnValues(columns)]
  const groups = `SELECT ${['p', ...names].join(', ')}, sumIf(sign, side = 0) AS ne, sumIf(sign, side = 1) AS nf
FROM ${bothSides(tables, values, neither)} GROUP BY ${['p', ...names].join(', ')}`
  return summary(
    groups,
    {
      expected: 'sum(abs(ne))',
      found: 'sum(abs(nf))',
      missing: 'sumIf(abs(ne - nf), abs(ne) > abs(nf))',
      extra: 'sumIf(abs(ne - nf), abs(ne) < abs(nf))',
      different: 'countIf(ne = -nf AND ne != 0)',
      sample: tupleOf(names.slice(0, sampleColumnsMax)),
      differs: 'ne != nf',
    },
    samplesMax,
  )
}

/** One row's value, with the state of an aggregate function finished. */
function valueText({ name, aggregate }: ComparedColumn): string {
  const quoted = quoteName(name)
  return aggregate?.isState === true ? `finalizeAggregation(${quoted})` : quoted
}

/** The values of all rows brought together. */
function mergedText({ name, aggregate }: ComparedColumn): string {
  const quoted = quoteName(name)
  if (aggregate === null) return `any(${quoted})`
  return `${aggregate.name}${aggregate.isState ? 'Merge' : ''}${aggregate.parameters}(${quoted})`
}

function tupleOf(values: readonly string[]): string {
  return `tuple(${values.length === 0 ? '0' : values.join(', ')})`
}
