/**
 * A second look at a record that the fast reader gave up: where the values of its columns stand, and which of them a fast
 * reader takes. The host then judges only the others, and what is set aside is copied from here.
 *
 * Whatever is unusual about the record as a whole (broken, a key twice, escapes, bytes that are no UTF-8) gives 0, and the
 * exact path reads it from the start.
 */

import {
  behindDelimiter,
  closingQuoteOf,
  csvLimit,
  fieldEnd,
  isFieldEnd,
  isQuotedBehindBlanks,
  openCsv,
  readFieldFast,
  wasDoubled,
} from './csv'
import { frame, isRecordUtf8, plan } from './frame'
import { closingQuote, isNull, skipBlanks, skipValue } from './json'
import { readJsonValue } from './json-values'
import { Cell, CellState, Column, cellBytes, Member, MemberTable } from './layout'
import { findMember } from './ndjson'

const lineFeed: u8 = 0x0a
const carriageReturn: u8 = 0x0d
const quote: u8 = 0x22
const comma: u8 = 0x2c
const colon: u8 = 0x3a
const lowerN: u8 = 0x6e
const openBrace: u8 = 0x7b
const closeBrace: u8 = 0x7d

/** Gives the address behind the record's line feed, or 0. */
export function surveyNdjsonRecord(start: usize): usize {
  if (plan.canSurvey === 0 || load<u8>(start) !== openBrace) return 0
  beginSurvey()
  const objectEnd = surveyMembers(changetype<MemberTable>(plan.table), start + 1)
  if (objectEnd === 0) return 0
  const lineEnd = skipBlanks(objectEnd)
  return load<u8>(lineEnd) === lineFeed && isRecordUtf8(start, lineEnd) ? lineEnd + 1 : 0
}

function beginSurvey(): void {
  plan.record += 1
  memory.fill(plan.cells, 0, (plan.columnCount as usize) * cellBytes)
}

function surveyMembers(table: MemberTable, start: usize): usize {
  let offset = skipBlanks(start)
  if (load<u8>(offset) === closeBrace) return offset + 1
  while (true) {
    if (load<u8>(offset) !== quote) return 0
    const keyEnd = closingQuote(offset + 1)
    if (keyEnd === 0) return 0
    const colonAt = skipBlanks(keyEnd + 1)
    if (load<u8>(colonAt) !== colon) return 0
    const valueAt = skipBlanks(colonAt + 1)
    const found = findMember(table, offset + 1, keyEnd)
    offset = skipValue(valueAt)
    if (offset === 0 || (found !== 0 && !surveyMember(changetype<Member>(found), valueAt, offset))) return 0
    offset = skipBlanks(offset)
    if (load<u8>(offset) !== comma) return load<u8>(offset) === closeBrace ? offset + 1 : 0
    offset = skipBlanks(offset + 1)
  }
}

function surveyMember(member: Member, start: usize, end: usize): bool {
  // A repeated key: the last one wins, which the exact path knows how to do.
  if (member.seenInRecord === plan.record) return false
  member.seenInRecord = plan.record
  for (let position: i32 = 0; position < member.columnCount; position += 1) {
    const column = changetype<Column>(load<usize>(member.columns + ((position as usize) << 2)))
    if (!surveyValue(column, start, end)) return false
  }
  if (member.below === 0 || load<u8>(start) !== openBrace) return true
  return surveyMembers(changetype<MemberTable>(member.below), start + 1) === end
}

/** Notes the text that quarantine would keep of a value; false when it is not as it stands there. */
function surveyValue(column: Column, start: usize, end: usize): bool {
  if (load<u8>(start) === lowerN && isNull(start)) {
    noteCell(column, CellState.absent, start, end)
    cellOf(column).isNull = 1
    return true
  }
  const isText = load<u8>(start) === quote
  if (isText && closingQuote(start + 1) !== end - 1) return false
  const fits = column.isNeverRead === 0 && readJsonValue(column, start, plan.rowCount) === end
  noteCell(column, fits ? CellState.fits : CellState.unknown, isText ? start + 1 : start, isText ? end - 1 : end)
  cellOf(column).isQuoted = isText ? 1 : 0
  return true
}

/** Gives the address behind the record, or 0; also when it does not have as many fields as the header. */
export function surveyCsvRecord(start: usize, end: usize): usize {
  openCsv(end)
  beginSurvey()
  const lastField = plan.fieldCount - 1
  let offset = start
  for (let field: i32 = 0; field <= lastField; field += 1) {
    const pointer = load<usize>(plan.fields + ((field as usize) << 2))
    if (isQuotedBehindBlanks(offset)) return 0
    const isQuoted = load<u8>(offset) === quote
    const inside = isQuoted ? offset + 1 : offset
    const textEnd = isQuoted ? closingQuoteOf(inside) : fieldEnd(inside)
    if (textEnd === 0 || (isQuoted && wasDoubled())) return 0
    const behind = isQuoted ? textEnd + 1 : textEnd
    if (!isFieldEnd(behind)) return 0
    if (pointer !== 0) {
      const column = changetype<Column>(pointer)
      const fits =
        column.isNeverRead === 0 && inside < textEnd && readFieldFast(column, offset, plan.rowCount) === behind
      noteCell(column, fits ? CellState.fits : CellState.unknown, inside, textEnd)
      cellOf(column).isQuoted = isQuoted ? 1 : 0
    }
    const isLast = field === lastField
    if (isLast !== (load<u8>(behind) === lineFeed || load<u8>(behind) === carriageReturn)) return 0
    offset = isLast ? behind + 1 : behindDelimiter(behind)
  }
  const lineEnd = load<u8>(offset - 1) === carriageReturn ? offset : offset - 1
  return lineEnd < csvLimit() && isRecordUtf8(start, lineEnd) ? lineEnd + 1 : 0
}

function cellOf(column: Column): Cell {
  return changetype<Cell>(plan.cells + (column.position as usize) * cellBytes)
}

function noteCell(column: Column, state: i32, start: usize, end: usize): void {
  const cell = cellOf(column)
  cell.state = state
  cell.start = (start - frame) as i32
  cell.end = (end - frame) as i32
}
