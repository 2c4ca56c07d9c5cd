/**
 * The fast reader of NDJSON: bytes of records straight into typed columns, guided by the schema.
 *
 * It predicts the next key from the order of the schema, compares bytes, and hands each value to a fast reader. A record
 * that it does not take in whole is left to the exact path, which alone decides between row, quarantine and invalid line:
 * so this file may give up on whatever is unusual, but what it accepts must be what the exact path accepts.
 */
import { writeExplicitNull, writeMissing, writeText } from './columns'
import { finishRow, frame, isRecordUtf8, noteAsked, plan } from './frame'
import { readValueExactly } from './host'
import { closingQuote, isNull, skipBlanks, skipValue } from './json'
import { readJsonValue } from './json-values'
import { Column, Member, MemberTable, memberBytes, Reader } from './layout'
import { refusalAt, refusesText } from './refusals'

const lineFeed: u8 = 0x0a
const quote: u8 = 0x22
const comma: u8 = 0x2c
const colon: u8 = 0x3a
const lowerN: u8 = 0x6e
const openBrace: u8 = 0x7b
const closeBrace: u8 = 0x7d

/** How many columns this record has given a value to. */
let columnsSet: i32 = 0
/** The place of the member that most likely follows the one that `readOtherMember` has read. */
let expectedNext: i32 = 0

/** Reads records from `start` on; gives where it stopped: at `end`, or at a record that is for the exact path. */
export function scanNdjsonRecords(start: usize, end: usize): usize {
  let offset = start
  while (offset < end) {
    const first = load<u8>(offset)
    if (first <= 0x20 && (first === lineFeed || first === 0x20 || first === 0x0d || first === 0x09)) {
      offset += 1
      continue
    }
    const next = first === openBrace ? readRecord(offset) : 0
    if (next === 0) return offset
    offset = next
  }
  return end
}

/** Gives the address behind the record's line feed, or 0 when the record is not to be taken in this way. */
function readRecord(start: usize): usize {
  plan.record += 1
  columnsSet = 0
  const objectEnd = readMembers(changetype<MemberTable>(plan.table), start + 1)
  if (objectEnd === 0) return 0
  const lineEnd = skipBlanks(objectEnd)
  if (load<u8>(lineEnd) !== lineFeed || !isRecordUtf8(start, lineEnd)) return 0
  if (columnsSet !== plan.columnCount && !readTheRest(start, objectEnd)) return 0
  finishRow()
  return lineEnd + 1
}

/** Reads the members of an object from behind its brace to behind its closing brace, or gives 0. */
function readMembers(table: MemberTable, start: usize): usize {
  let offset = skipBlanks(start)
  if (load<u8>(offset) === closeBrace) return offset + 1
  const members = table.members
  const memberCount = table.memberCount
  const record = plan.record
  let expected: i32 = 0
  while (true) {
    const member = changetype<Member>(members + (expected as usize) * memberBytes)
    if (expected < memberCount && member.seenInRecord !== record && isPrefix(offset, member)) {
      expected += 1
      member.seenInRecord = record
      offset = readMember(member, offset + (member.prefixLength as usize))
    } else {
      offset = readOtherMember(table, offset, expected)
      expected = expectedNext
    }
    if (offset === 0) return 0
    let byte = load<u8>(offset)
    if (byte <= 0x20) {
      offset = skipBlanks(offset)
      byte = load<u8>(offset)
    }
    if (byte !== comma) return byte === closeBrace ? offset + 1 : 0
    offset += 1
    if (load<u8>(offset) !== quote) offset = skipBlanks(offset)
  }
}

/** Whether `"key":` of this member stands at `at`: 16 bytes at once, then what is behind them. */
function isPrefix(at: usize, member: Member): bool {
  const mask = member.prefixMask
  const prefix = member.prefix
  if ((i8x16.bitmask(i8x16.eq(v128.load(at), v128.load(prefix))) & mask) !== mask) return false
  const length = member.prefixLength as usize
  for (let position: usize = 16; position < length; position += 1) {
    if (load<u8>(at + position) !== load<u8>(prefix + position)) return false
  }
  return true
}

/** A member that was not expected here, or is written with blanks or escapes; sets `expectedNext`. */
function readOtherMember(table: MemberTable, start: usize, expected: i32): usize {
  expectedNext = expected
  if (load<u8>(start) !== quote) return 0
  const keyEnd = closingQuote(start + 1)
  if (keyEnd === 0) return 0
  const colonAt = skipBlanks(keyEnd + 1)
  if (load<u8>(colonAt) !== colon) return 0
  const found = findMember(table, start + 1, keyEnd)
  if (found === 0) return skipValue(skipBlanks(colonAt + 1))
  const member = changetype<Member>(found)
  expectedNext = member.position + 1
  // A repeated key: the last one wins, which the exact path knows how to do.
  if (member.seenInRecord === plan.record) return 0
  member.seenInRecord = plan.record
  return readMember(member, colonAt + 1)
}

/** The member whose key stands from `start` to `end`, or 0. The host fills the buckets with the same hash. */
export function findMember(table: MemberTable, start: usize, end: usize): usize {
  let hash: i32 = 0
  for (let offset = start; offset < end; offset += 1) hash = hash * 31 + (load<u8>(offset) as i32)
  let found = load<usize>(table.buckets + (((hash & table.bucketMask) as usize) << 2))
  const length = end - start
  while (found !== 0) {
    const member = changetype<Member>(found)
    const key = member.prefix + 1
    if ((member.prefixLength as usize) === length + 3 && memory.compare(key, start, length) === 0) return found
    found = member.next
  }
  return 0
}

function readMember(member: Member, start: usize): usize {
  const only = member.onlyColumn
  if (only !== 0) {
    const end = readJsonValue(changetype<Column>(only), start, plan.rowCount)
    if (end !== 0) {
      columnsSet += 1
      return end
    }
  }
  return readMemberCarefully(member, skipBlanks(start))
}

/** Nulls, unusual spellings, blanks, several columns on one key, and objects that columns look into. */
function readMemberCarefully(member: Member, start: usize): usize {
  const columnCount = member.columnCount
  let end: usize = 0
  for (let position: i32 = 0; position < columnCount; position += 1) {
    end = readColumn(changetype<Column>(load<usize>(member.columns + ((position as usize) << 2))), start)
    if (end === 0) return 0
  }
  columnsSet += columnCount
  if (member.below === 0) return end
  if (load<u8>(start) !== openBrace) return columnCount === 0 ? skipValue(start) : end
  const outerNext = expectedNext
  end = readMembers(changetype<MemberTable>(member.below), start + 1)
  expectedNext = outerNext
  return end
}

function readColumn(column: Column, start: usize): usize {
  if (load<u8>(start) === lowerN) {
    return isNull(start) && writeExplicitNull(column, plan.rowCount) ? start + 4 : 0
  }
  const end = readJsonValue(column, start, plan.rowCount)
  return end !== 0 ? end : readColumnExactly(column, start)
}

/** For types without a fast reader, and for unusual spellings: the exact path on this one value. */
function readColumnExactly(column: Column, start: usize): usize {
  const end = skipValue(start)
  if (end === 0 || isRefusedString(column, start, end)) return 0
  noteAsked()
  return readValueExactly(column.position, (start - frame) as i32, (end - frame) as i32) !== 0 ? end : 0
}

/** A string without escapes that nobody has to be asked about. */
export function isRefusedString(column: Column, start: usize, end: usize): bool {
  if (load<u8>(start) !== quote || closingQuote(start + 1) !== end - 1) return false
  return refusesText(refusalAt(column.position), start + 1, end - 1)
}

/** The columns that no member has filled: those that take the whole record, DEFAULT and NULL. */
function readTheRest(start: usize, end: usize): bool {
  if (plan.hasWholeRecordColumns !== 0 && !readWholeRecord(start, end)) return false
  return columnsSet === plan.columnCount || fillMissing()
}

function readWholeRecord(start: usize, end: usize): bool {
  for (let position: i32 = 0; position < plan.columnCount; position += 1) {
    if (memberOf(position) !== 0) continue
    const column = columnAt(position)
    columnsSet += 1
    if (column.reader === Reader.text) writeText(column, plan.rowCount, start, end)
    else if (readColumnExactly(column, start) === 0) return false
  }
  return true
}

/** Gives DEFAULT or NULL to the columns that this record says nothing of; false when one can have neither. */
function fillMissing(): bool {
  for (let position: i32 = 0; position < plan.columnCount; position += 1) {
    const member = memberOf(position)
    if (member === 0 || changetype<Member>(member).seenInRecord === plan.record) continue
    if (!writeMissing(columnAt(position), plan.rowCount)) return false
  }
  return true
}

function columnAt(position: i32): Column {
  return changetype<Column>(load<usize>(plan.columns + ((position as usize) << 2)))
}

function memberOf(position: i32): usize {
  return load<usize>(plan.memberOf + ((position as usize) << 2))
}
