/**
 * A schema compiled for the scanners: columns under construction, fast readers, and the tree of keys in which a record
 * is looked up. Made once per data source version in each worker and used for one frame after the other.
 */
import { isNullable, valueTypeOf } from '../shared/column-type.ts'
import type { JsonPath } from '../shared/json-path.types.ts'
import type { ColumnDefinition } from '../shared/schema.types.ts'
import type { RawValue, Verdict } from './cell.types.ts'
import { createCoercion } from './coercion/coercion.ts'
import type { Column } from './column.ts'
import { framePaddingBytes } from './frame-assembler.ts'
import { createColumn, encodingOf, type ValueEncoding } from './value-encoding.ts'
import { FastReader, planValue, type ValuePlan } from './value-plan.ts'

/** One column of the table that a part fills. */
export interface ColumnPlan {
  readonly definition: ColumnDefinition
  /** The column's name where no path is given. */
  readonly path: JsonPath
  readonly encoding: ValueEncoding
  readonly column: Column
  readonly value: ValuePlan
  readonly isNullable: boolean
  readonly hasDefault: boolean
  /** AggregateFunction: the engine fills in the empty state, and no value is ever accepted. */
  readonly isNeverRead: boolean
  readonly coerce: (raw: RawValue) => Verdict
}

/** A key of an object that some column is interested in. */
export interface Member {
  readonly keyBytes: Uint8Array
  /** `"key":` as a record that escapes nothing and puts no blanks has it. */
  readonly prefix: Uint8Array
  /** The prefix's first four bytes as a number, low byte first, and its last four; with a short key they overlap. */
  readonly head: number
  readonly tail: number
  /** Its place in the table. */
  readonly position: number
  /** Columns that take this member's own value. */
  readonly columns: readonly ColumnPlan[]
  /** The value of the only column that asks for this member, when nothing looks below it; else null. */
  readonly onlyValue: ValuePlan | null
  /** Members below, when columns look into the value; else null. */
  readonly below: MemberTable | null
  /** The record in which this member was seen last: tells a repeated key and a missing one. */
  seenInRecord: number
}

/** The members of one object in the order of the schema, found by key in any order. */
export class MemberTable {
  readonly members: readonly Member[]
  private readonly byHash = new Map<number, Member[]>()

  constructor(members: readonly Member[]) {
    this.members = members
    for (const member of members) {
      const hash = hashBytes(member.keyBytes, 0, member.keyBytes.length)
      const sameHash = this.byHash.get(hash)
      if (sameHash === undefined) this.byHash.set(hash, [member])
      else sameHash.push(member)
    }
  }

  /** The member whose key is `source[start…end]`. */
  find(source: Uint8Array, start: number, end: number): Member | undefined {
    const candidates = this.byHash.get(hashBytes(source, start, end))
    if (candidates === undefined) return undefined
    for (const member of candidates) if (isKey(member.keyBytes, source, start, end)) return member
    return undefined
  }
}

function hashBytes(bytes: Uint8Array, start: number, end: number): number {
  let hash = 0
  for (let offset = start; offset < end; offset += 1) hash = (Math.imul(hash, 31) + (bytes[offset] ?? 0)) | 0
  return hash
}

function isKey(keyBytes: Uint8Array, source: Uint8Array, start: number, end: number): boolean {
  if (keyBytes.length !== end - start) return false
  for (let offset = start; offset < end; offset += 1) if (source[offset] !== keyBytes[offset - start]) return false
  return true
}

export interface ParsePlan {
  readonly columns: readonly ColumnPlan[]
  readonly members: MemberTable
  /** For each of `columns` the member that gives its value; null for those that take the whole record. */
  readonly memberOf: readonly (Member | null)[]
  /** Columns with the path `$`: the record itself. */
  readonly wholeRecordColumns: readonly ColumnPlan[]
  /** Counts records over all frames, so that `seenInRecord` of an earlier record never looks like a later one's. */
  recordsSeen: number
}

export function compilePlan(definitions: readonly ColumnDefinition[]): ParsePlan {
  const columns = definitions.map(planColumn)
  const members = tableOf(columns, 0)
  return {
    columns,
    members,
    memberOf: columns.map((plan) => memberAt(members, plan)),
    wholeRecordColumns: columns.filter((plan) => plan.path.keys.length === 0),
    recordsSeen: 0,
  }
}

function memberAt(table: MemberTable, plan: ColumnPlan): Member | null {
  const atTop = table.members.find((member) => member.columns.includes(plan))
  if (atTop !== undefined) return atTop
  for (const { below } of table.members) {
    const found = below === null ? null : memberAt(below, plan)
    if (found !== null) return found
  }
  return null
}

function planColumn(definition: ColumnDefinition): ColumnPlan {
  const encoding = encodingOf(definition.type)
  const column = createColumn(encoding)
  const path = definition.jsonPath ?? { keys: [definition.name], element: null }
  const value = planValue(definition.type, column)
  // A value gathered out of the elements of a list is always put together by the exact path.
  const looksIntoElements = path.element !== null && path.element.length > 0
  return {
    definition,
    path,
    encoding,
    column,
    value: looksIntoElements ? { ...value, reader: FastReader.none } : value,
    isNullable: isNullable(definition.type),
    hasDefault: definition.defaultExpression !== null,
    isNeverRead: valueTypeOf(definition.type).kind === 'aggregateFunction',
    coerce: createCoercion(definition.type),
  }
}

function tableOf(columns: readonly ColumnPlan[], depth: number): MemberTable {
  const byKey = new Map<string, ColumnPlan[]>()
  for (const plan of columns) {
    const key = plan.path.keys[depth]
    if (key === undefined) continue
    const group = byKey.get(key)
    if (group === undefined) byKey.set(key, [plan])
    else group.push(plan)
  }
  return new MemberTable([...byKey].map(([key, group], position) => memberOf(key, group, { position, depth })))
}

/** A byte that UTF-8 does not have, so that no key is equal. */
const noKey = Uint8Array.of(0xff)

function memberOf(
  key: string,
  group: readonly ColumnPlan[],
  place: { readonly position: number; readonly depth: number },
): Member {
  const columns = group.filter((plan) => plan.path.keys.length === place.depth + 1)
  const deeper = group.filter((plan) => plan.path.keys.length > place.depth + 1)
  const prefix = new TextEncoder().encode(`"${key}":`)
  const words = new DataView(prefix.buffer)
  // A key that JSON must escape never stands in a record as it is; what does stand there is for the exact path.
  const isAsWritten = JSON.stringify(key) === `"${key}"`
  // The prefix of the empty key is three bytes long, and a long one could reach beyond the frame's padding.
  const canPredict = isAsWritten && prefix.length >= 4 && prefix.length <= framePaddingBytes
  return {
    keyBytes: isAsWritten ? new TextEncoder().encode(key) : noKey,
    prefix,
    // No four bytes of a record equal a fraction.
    head: canPredict ? words.getInt32(0, true) : 0.5,
    tail: canPredict ? words.getInt32(prefix.length - 4, true) : 0.5,
    position: place.position,
    columns,
    onlyValue: deeper.length === 0 && columns.length === 1 ? (columns[0]?.value ?? null) : null,
    below: deeper.length === 0 ? null : tableOf(deeper, place.depth + 1),
    seenInRecord: -1,
  }
}
