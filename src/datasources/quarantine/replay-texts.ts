/**
 * A quarantine keeps values as texts, and so forgets which of them were numbers or booleans of JSON. Where these are taken
 * otherwise than a text of the same characters (`1.7e9` and `true` are no texts of a time, or of a number), a value that was
 * taken when its row was set aside is replayed as the text that stands for the same value, if it can have been nothing but a
 * number or a boolean. Plain digits are read as the texts that they are, and stay where they are when no text is such a time:
 * the quarantine does not tell the number 2024, a day of 1975, from the text `2024`, which older rules took for that day.
 */

import { beyondReason } from '../../ingest/insert/partition-rows.ts'
import { costlyReason, poisonReason, untriedReason } from '../../ingest/insert/poison-rows.ts'
import { numberToTimeText } from '../../ingest/parquet/parquet-times.ts'
import type { ColumnDefinition } from '../../schema/columns/column-definition.types.ts'
import { valueTypeOf } from '../../schema/types/column-type.ts'
import type { ColumnType } from '../../schema/types/column-type.types.ts'
import { quoteName, quoteString } from '../../shared/text-escapes.ts'

const fraction = '-?(?:0|[1-9]\\\\d*)(?:[.]\\\\d+)?'
const jsonNumber = `'^${fraction}(?:[eE][+-]?\\\\d+)?$'`
/** No rules ever took a text with an exponent for a time. */
const numberWithExponent = `'^${fraction}[eE][+-]?\\\\d+$'`

/** Reasons of rows whose values had all been taken; under other ones for a row as a whole no value was looked at. */
const judgedReasons = [poisonReason, costlyReason, untriedReason, beyondReason].map(quoteString).join(', ')
const isJudged = `arrayAll((__column, __error) -> __column != '' OR __error IN (${judgedReasons}), c__error_column, c__error)`

/** The text of a column of a quarantine as a cell that its column takes for the same value, in SQL; else `otherwise`. */
export function replayedText({ name, type }: ColumnDefinition, otherwise: string): string {
  const text = quoteName(name)
  const taken = takenText(`assumeNotNull(${text})`, valueTypeOf(type))
  if (taken === null) return otherwise
  const isTaken = `(isNotNull(${text}) AND NOT has(c__error_column, ${quoteString(name)}) AND ${isJudged} AND ${taken.isMeant})`
  return `if(${isTaken}, ${taken.text}, ${otherwise})`
}

interface TakenText {
  readonly isMeant: string
  readonly text: string
}

/** Null where all texts stay as they are. */
function takenText(text: string, type: ColumnType): TakenText | null {
  switch (type.kind) {
    case 'integer':
    case 'float':
      return { isMeant: `(${text} IN ('true', 'false'))`, text: `toString(${text} = 'true')` }
    case 'bool':
      return { isMeant: `match(${text}, ${jsonNumber})`, text: `toString(toFloat64OrZero(${text}) != 0)` }
    case 'date':
    case 'date32':
    case 'dateTime':
    case 'dateTime64': {
      const { value, condition } = numberToTimeText(text, type)
      return { isMeant: `(match(${text}, ${numberWithExponent}) AND ${condition})`, text: value }
    }
    default:
      return null
  }
}

/** The reason of a value that was plain digits. */
export const digitsReason = "^value '[0-9]+' on column "

/** What lets digits in that a column of times took as a number; undefined for other reasons and columns. */
export function digitsHint({ name, type }: ColumnDefinition, reason: string): string | undefined {
  const text = quoteName(name)
  const told = (unit: string, digits: string, fix: string): string | undefined =>
    new RegExp(`^value '${digits}' on column `).test(reason)
      ? `a quarantine does not tell numbers from texts; where these were numbers of ${unit} since 1970, the fix if(match(${text}, '^${digits}$'), ${fix}, ${text}) lets them in`
      : undefined
  switch (valueTypeOf(type).kind) {
    case 'date':
    case 'date32':
      return told('days', '[0-9]{1,5}', `toString(toDate32(toInt32(${text})))`)
    case 'dateTime':
    case 'dateTime64':
      return told('seconds', '[0-9]{1,7}', `leftPad(${text}, 10, '0')`)
    default:
      return undefined
  }
}
