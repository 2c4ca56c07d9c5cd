// Which rows of a quarantine a replay takes, and what becomes of their texts on the way, as SQL.

import type { DataSource } from '../../catalog/data-source.types.ts'
import type { ColumnDefinition } from '../../schema/columns/column-definition.types.ts'
import { readExpression } from '../../schema/engines/engine-expression.ts'
import type { CheckedExpression } from '../../schema/expressions/checked-text.types.ts'
import { checkBareNames } from '../../schema/expressions/stored-expression.ts'
import { SqlFault } from '../../schema/syntax/sql-fault.ts'
import { isNullable, valueTypeOf } from '../../schema/types/column-type.ts'
import { type ApiError, errors } from '../../shared/errors/errors.ts'
import { escapedMark, recordReasonEnd, recordReasons, unreadableEnd } from '../../shared/record-reasons.ts'
import { TextError } from '../../shared/text-error.ts'
import { quoteName, quoteString } from '../../shared/text-escapes.ts'
import { withoutInternals } from '../../store/engine-message.ts'
import type { ReplayCell, ReplayChoice, ReplayExpression } from '../../store/quarantines.types.ts'
import type { StoreError } from '../../store/store-error.ts'
import type { ReplayRequest } from './quarantine.types.ts'
import { replayedText } from './replay-texts.ts'

export interface ChosenRows extends ReplayChoice {
  /** What a caller wrote; each is tried before anything is done. */
  readonly trials: readonly NamedExpression[]
}

interface NamedExpression extends ReplayExpression {
  /** What it is, for messages. */
  readonly name: string
}

/** @throws REPLAY_INVALID (400) for a condition or fix that is no expression, and for engines that take no single rows. */
export function chosenRowsOf({ columns, engine }: DataSource, request: ReplayRequest): ChosenRows {
  if (engine.name === 'Join') throw errors.REPLAY_INVALID({ reason: 'the engine Join takes no single rows' })
  for (const name of request.fixes.keys()) {
    if (columns.some((column) => column.name === name)) continue
    throw errors.REPLAY_INVALID({ reason: `there is a fix for '${name}', which is not a column of the Data Source` })
  }
  const names = columns.map(({ name }) => name)
  const condition = request.condition === undefined ? null : readText(request.condition, 'condition', names)
  const fixes = new Map([...request.fixes].map(([name, fix]) => [name, readText(fix, fixName(name), names)] as const))
  const fixTrials = [...fixes].map(([name, text]) => ({ kind: 'fix', name: fixName(name), text }) as const)
  const trials =
    condition === null ? fixTrials : [{ kind: 'condition', name: 'condition', text: condition } as const, ...fixTrials]
  return {
    trials,
    condition,
    ownCondition: ownConditionOf([...fixes.values()]),
    cells: columns.map((column) => cellOf(column, fixes.get(column.name))),
  }
}

/**
 * A record of which nothing could be read has no values: as a row of nothing but DEFAULTs it would be gone with its text, and
 * one with more cells than columns would be gone with those that no column takes. So they are left where they are, unless a
 * fix takes a value out of the text.
 */
function ownConditionOf(fixes: readonly string[]): string | null {
  return fixes.some((fix) => /\bc__error\b/.test(fix)) ? null : hasValues
}

/** Of a record with more cells than there are columns, with its text behind. */
const tooLongForm = `^record has [0-9]+ fields instead of [0-9]+(?: \\(not valid UTF-8\\))?${recordReasonEnd}`
const unreadReasons = Object.values(recordReasons)
  .flatMap((reason) => [reason, `${reason}${escapedMark}`])
  .map((reason) => quoteString(`${reason}${recordReasonEnd}`))
const isUnread = `c__error_column = [''] AND arrayExists(__start -> startsWith(c__error[1], __start), [${unreadReasons.join(', ')}])`
const isTooLong = `arrayExists((__column, __error) -> __column = '' AND match(__error, ${quoteString(tooLongForm)}), c__error_column, c__error)`
const hasValues = `NOT (${isUnread}) AND NOT ${isTooLong}`

/** The value as it was sent: of one that is no UTF-8 the bytes, which are refused once more. */
function sentText({ name }: ColumnDefinition): string {
  const text = quoteName(name)
  const isEscaped = `arrayExists((__column, __error) -> __column = ${quoteString(name)} AND endsWith(__error, ${quoteString(unreadableEnd)}), c__error_column, c__error)`
  return `if(${isEscaped} AND match(${text}, '%[89A-F][0-9A-F]'), decodeURLComponent(${text}), ${text})`
}

function cellOf(column: ColumnDefinition, fix: CheckedExpression | undefined): ReplayCell {
  const nothing = nothingCell(column)
  return { nothing, value: fix === undefined ? { text: replayedText(column, sentText(column)) } : { fix } }
}

function fixName(column: string): string {
  return `the fix for '${column}'`
}

/**
 * The engine's words as the caller may read them, who knows neither the statement nor the table.
 *
 * @param name what of the request was wrong; empty when it is not known.
 */
export function toExpressionError(cause: StoreError, name: string): ApiError {
  const message = withoutInternals(cause.message)
    .replace(/: failed at position \d+.*?(?=\. \()/s, '')
    .replaceAll(/`?\bt_[0-9a-f]{32}(?:_quarantine)?`?\.?/g, '')
  return errors.REPLAY_INVALID({ reason: name === '' ? message : `${name}: ${message}`, cause })
}

/** What stands for a value that is not there: an empty cell takes the DEFAULT, `\N` is NULL and refused by other types. */
function nothingCell({ type, defaultExpression }: ColumnDefinition): string {
  const takesDefault = isNullable(type) && defaultExpression !== null
  return takesDefault || valueTypeOf(type).kind === 'aggregateFunction' ? '' : '\\N'
}

/** Expressions run as part of an INSERT of our own, so they may hold no more than those of a table. */
function readText(text: string, name: string, columns: readonly string[]): CheckedExpression {
  try {
    const read = readExpression(text, { kind: 'expression', name })
    checkBareNames({ text: read, kind: 'expression', what: name }, columns)
    return read
  } catch (error) {
    if (error instanceof TextError || error instanceof SqlFault)
      throw errors.REPLAY_INVALID({ reason: error.message, cause: error })
    throw error
  }
}
