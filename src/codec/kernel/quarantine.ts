/**
 * Records that are set aside in the kernel alone: those that are sound but for texts which the exact path would surely
 * refuse, and values that they lack. All others are for the host to judge.
 */
import { clearMarksFrom, copyText, endElements, firstElement, roomForText, writeNull, writeText } from './columns'
import { isRefusedField } from './csv'
import { frame, isRecordUtf8, plan, wasAsked } from './frame'
import { growColumn } from './host'
import { Cell, CellState, Column, cellBytes, Quarantine } from './layout'
import { isRefusedString } from './ndjson'
import { canRefuse, refusalAt } from './refusals'

/** Up to here a reason holds the value in whole, however many bytes its characters have. */
const reasonValueBytesMax: usize = 256
/** What a reason begins with, and what stands there for an explicit null. */
const reasonHead = memory.data<u8>([0x76, 0x61, 0x6c, 0x75, 0x65, 0x20, 0x27])
const reasonHeadBytes: usize = 7
const nullText = memory.data<u8>([0x6e, 0x75, 0x6c, 0x6c])
const nullTextBytes: usize = 4
/** `record is not a JSON object: `, as `shared/record-reasons.ts` has it. */
const noObjectHead = memory.data<u8>([
  0x72, 0x65, 0x63, 0x6f, 0x72, 0x64, 0x20, 0x69, 0x73, 0x20, 0x6e, 0x6f, 0x74, 0x20, 0x61, 0x20, 0x4a, 0x53, 0x4f,
  0x4e, 0x20, 0x6f, 0x62, 0x6a, 0x65, 0x63, 0x74, 0x3a, 0x20,
])
const noObjectHeadBytes: usize = 29
const lineFeed: u8 = 0x0a
const openBrace: u8 = 0x7b

namespace Verdict {
  export const fine = 0
  export const refused = 1
  export const missing = 2
  export const explicitNull = 3
  /** The record says nothing of the column, which can do without. */
  export const absent = 4
  export const unknown = 5
}

/** Sets the surveyed record aside; false when it is for the host to say what it is. */
export function setAsideSurveyed(isCsv: bool): bool {
  const quarantine = changetype<Quarantine>(plan.quarantine)
  if (wasAsked() || quarantine.rowCount >= quarantine.capacity) return false
  let errorCount: i32 = 0
  for (let position: i32 = 0; position < plan.columnCount; position += 1) {
    const verdict = verdictOn(position, isCsv)
    if (verdict === Verdict.unknown) return false
    if (isError(verdict)) errorCount += 1
  }
  if (errorCount === 0) return false
  writeErrors(quarantine, errorCount, isCsv)
  writeSurveyedTexts(quarantine.rowCount)
  quarantine.rowCount += 1
  for (let position: i32 = 0; position < plan.columnCount; position += 1) {
    clearMarksFrom(columnAt(position), plan.rowCount)
  }
  return true
}

/**
 * Sets a line of NDJSON aside that begins like no object: with its text behind the reason, and no values. Gives the address
 * behind it, or 0 when it is for the host: it may be an object behind a byte order mark, or no UTF-8.
 */
export function setLineAside(start: usize): usize {
  const first = load<u8>(start)
  const quarantine = changetype<Quarantine>(plan.quarantine)
  if (first === openBrace || first >= 0x80 || quarantine.rowCount >= quarantine.capacity) return 0
  const end = lineEndOf(start)
  if (!isRecordUtf8(start, end)) return 0
  const row = quarantine.rowCount
  const names = changetype<Column>(quarantine.errorColumns)
  endElement(names, row, newElement(names, row))
  const reasons = changetype<Column>(quarantine.errors)
  const textAt = newElement(reasons, row)
  const byteCount = (noObjectHeadBytes + (end - start)) as i32
  const target = roomForText(elementsOf(reasons), textAt, byteCount)
  copyText(target, noObjectHead, noObjectHeadBytes)
  copyText(target + noObjectHeadBytes, start, end - start)
  endElement(reasons, row, textAt + byteCount)
  quarantine.rowCount += 1
  quarantine.invalidCount += 1
  return end + 1
}

/** The address of the line feed that ends the line; every frame ends in one. */
function lineEndOf(start: usize): usize {
  let offset = start
  while (true) {
    const marks = i8x16.bitmask(i8x16.eq(v128.load(offset), i8x16.splat(lineFeed)))
    if (marks !== 0) return offset + (ctz(marks) as usize)
    offset += 16
  }
}

/** Makes room for the only element of the list of this row; gives where its bytes begin. */
function newElement(list: Column, row: i32): i32 {
  const at = firstElement(list, row)
  growElements(list, at + 1)
  return firstElement(elementsOf(list), at)
}

/** Says where the bytes of the only element of this row end. */
function endElement(list: Column, row: i32, end: i32): void {
  const at = firstElement(list, row)
  endElements(elementsOf(list), at, end)
  endElements(list, row, at + 1)
}

/** Makes the texts NULL of the rows that have none: all at once, as a row of them costs nothing for each column then. */
export function fillTexts(address: usize): void {
  const quarantine = changetype<Quarantine>(address)
  const from = quarantine.textsEnd
  const to = quarantine.rowCount
  if (from === to) return
  for (let position: i32 = 0; position < quarantine.textCount; position += 1) {
    fillNulls(changetype<Column>(load<usize>(quarantine.texts + ((position as usize) << 2))), from, to)
  }
  quarantine.textsEnd = to
}

function fillNulls(column: Column, from: i32, to: i32): void {
  memory.fill(column.isNull + (from as usize), 1, (to - from) as usize)
  column.nullCount += to - from
  column.markedEnd = to
  const end = firstElement(column, from)
  for (let row = from; row < to; row += 1) endElements(column, row, end)
}

/** Copies what the survey noted into a row of quarantine; of each cell is known by now whether it holds a text. */
export function writeSurveyedTexts(row: i32): void {
  fillTexts(plan.quarantine)
  const texts = changetype<Quarantine>(plan.quarantine).texts
  for (let position: i32 = 0; position < plan.columnCount; position += 1) {
    const column = changetype<Column>(load<usize>(texts + ((position as usize) << 2)))
    const cell = cellAt(position)
    if (cell.state === CellState.absent) writeNull(column, row)
    else writeText(column, row, frame + (cell.start as usize), frame + (cell.end as usize))
  }
  changetype<Quarantine>(plan.quarantine).textsEnd = row + 1
}

/** What the exact path would say of a cell, where that can be told without it. */
function verdictOn(position: i32, isCsv: bool): i32 {
  const cell = cellAt(position)
  if (cell.state === CellState.fits) return Verdict.fine
  const column = columnAt(position)
  const isOptional = column.isNullable !== 0 || column.hasDefault !== 0 || column.isNeverRead !== 0
  if (cell.state === CellState.absent) {
    if (isOptional) return Verdict.fine
    return cell.isNull !== 0 ? Verdict.explicitNull : Verdict.missing
  }
  if (column.isNeverRead !== 0 || !canRefuse(refusalAt(position))) return Verdict.unknown
  // Numbers, lists and objects of JSON are another matter than texts.
  if (!isCsv && cell.isQuoted === 0) return Verdict.unknown
  const start = frame + (cell.start as usize)
  const end = frame + (cell.end as usize)
  if (start === end) return isCsv && isOptional ? Verdict.absent : Verdict.refused
  if (end - start > reasonValueBytesMax) return Verdict.unknown
  const field = cell.isQuoted !== 0 ? start - 1 : start
  const isRefused = isCsv ? isRefusedField(column, field) : isRefusedString(column, field, end + 1)
  return isRefused ? Verdict.refused : Verdict.unknown
}

function isError(verdict: i32): bool {
  return verdict === Verdict.refused || verdict === Verdict.missing || verdict === Verdict.explicitNull
}

function writeErrors(quarantine: Quarantine, errorCount: i32, isCsv: bool): void {
  const names = changetype<Column>(quarantine.errorColumns)
  const reasons = changetype<Column>(quarantine.errors)
  const row = quarantine.rowCount
  let at = firstElement(names, row)
  growElements(names, at + errorCount)
  growElements(reasons, at + errorCount)
  for (let position: i32 = 0; position < plan.columnCount; position += 1) {
    const verdict = verdictOn(position, isCsv)
    if (verdict === Verdict.absent) cellAt(position).state = CellState.absent
    if (!isError(verdict)) continue
    const refusal = refusalAt(position)
    writeText(elementsOf(names), at, refusal.name, refusal.name + (refusal.nameBytes as usize))
    writeReason(elementsOf(reasons), at, verdict, position)
    at += 1
  }
  endElements(names, row, at)
  endElements(reasons, row, at)
}

function writeReason(reasons: Column, row: i32, verdict: i32, position: i32): void {
  const refusal = refusalAt(position)
  if (verdict === Verdict.missing) {
    writeText(reasons, row, refusal.missing, refusal.missing + (refusal.missingBytes as usize))
    return
  }
  const cell = cellAt(position)
  const isNull = verdict === Verdict.explicitNull
  const value = isNull ? nullText : frame + (cell.start as usize)
  const valueBytes = isNull ? nullTextBytes : ((cell.end - cell.start) as usize)
  const tailBytes = refusal.tailBytes as usize
  const byteCount = (reasonHeadBytes + valueBytes + tailBytes) as i32
  const first = firstElement(reasons, row)
  const target = roomForText(reasons, first, byteCount)
  // Each piece writes past its end, where the next one then stands.
  copyText(target, reasonHead, reasonHeadBytes)
  copyText(target + reasonHeadBytes, value, valueBytes)
  copyText(target + reasonHeadBytes + valueBytes, refusal.tail, tailBytes)
  endElements(reasons, row, first + byteCount)
}

function growElements(list: Column, count: i32): void {
  const elements = elementsOf(list)
  if (count > elements.capacity) growColumn(elements.id, count)
}

function elementsOf(list: Column): Column {
  return changetype<Column>(list.element)
}

function columnAt(position: i32): Column {
  return changetype<Column>(load<usize>(plan.columns + ((position as usize) << 2)))
}

function cellAt(position: i32): Cell {
  return changetype<Cell>(plan.cells + (position as usize) * cellBytes)
}
