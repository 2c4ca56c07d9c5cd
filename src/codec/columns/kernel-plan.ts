/** A compiled schema as the kernel reads it: the tree of keys in which a record is looked up, written into its memory. */

import type { ColumnDefinition } from '../../schema/columns/column-definition.types.ts'
import type { JsonPath } from '../../schema/columns/json-path.types.ts'
import {
  cellRecordBytes,
  cellStates,
  cellWords,
  memberRecordBytes,
  memberWords,
  planRecordBytes,
  planWords,
  refusalRecordBytes,
  refusalWords,
  tableRecordBytes,
  tableWords,
} from '../scan-kernel/kernel-layout.ts'
import type { ScanKernel } from '../scan-kernel/scan-kernel.ts'
import type { Column } from './column.ts'
import { planRefusal } from './kernel-refusals.ts'
import type { QuarantineBuilder } from './quarantine-builder.ts'

/** A column and where in a record its value stands. */
interface KeyedColumn {
  readonly definition: ColumnDefinition
  readonly path: JsonPath
  readonly column: Column
}

export interface Cell {
  readonly state: number
  readonly start: number
  readonly end: number
  /** Of CSV whether quotes stood around it, of JSON whether it is a string. */
  readonly isQuoted: boolean
  /** A JSON null. */
  readonly isNull: boolean
}

/** The kernel's record of a plan; it holds the state of the part under construction. */
export class KernelPlan {
  readonly pointer: number
  readonly #kernel: ScanKernel
  readonly #columns: readonly KeyedColumn[]
  /** Buffers to give back: address and size. */
  readonly #buffers: [number, number][] = []
  /** For each column the address of the member that gives its value; 0 for those that take the whole record. */
  readonly #memberOf: number[]
  #csv: { readonly fields: readonly number[]; readonly absents: readonly number[] } = { fields: [], absents: [] }

  readonly #cells: number

  constructor(kernel: ScanKernel, columns: readonly KeyedColumn[], quarantine: QuarantineBuilder) {
    this.#kernel = kernel
    this.#columns = columns
    this.#memberOf = columns.map(() => 0)
    this.pointer = this.#allocate(planRecordBytes)
    this.#write('table', this.#writeTable(columns, 0))
    this.#write('columns', this.#allocateWords(columns.map(({ column }) => column.pointer)))
    this.#write('memberOf', this.#allocateWords(this.#memberOf))
    this.#write('columnCount', columns.length)
    this.#write('hasWholeRecordColumns', this.#memberOf.includes(0) ? 1 : 0)
    this.#cells = this.#allocate(columns.length * cellRecordBytes)
    this.#write('cells', this.#cells)
    this.#write('canSurvey', columns.every(({ path }) => isAsItStands(path)) ? 1 : 0)
    this.#write('quarantine', quarantine.pointer)
    this.#write('refusals', this.#writeRefusals())
  }

  /** Rows of the part. */
  get rowCount(): number {
    return this.#read('rowCount')
  }

  set rowCount(value: number) {
    this.#write('rowCount', value)
  }

  /** Rows that fit in every column. */
  get capacity(): number {
    return this.#read('capacity')
  }

  set capacity(value: number) {
    this.#write('capacity', value)
  }

  set checksUtf8(value: boolean) {
    this.#write('checksUtf8', value ? 1 : 0)
  }

  /** Says what a CSV record looks like: which column each field fills (-1 for none), and the two marks. */
  setCsv(
    fieldColumns: readonly number[],
    marks: { readonly delimiter: number; readonly escape: number; readonly hasFastReaders: boolean },
  ): void {
    const pointers = this.#columns.map(({ column }) => column.pointer)
    const fields = fieldColumns.map((position) => pointers[position] ?? 0)
    const absents = pointers.filter((_, position) => !fieldColumns.includes(position))
    this.#releaseCsv()
    this.#csv = { fields, absents }
    this.#write('fields', this.#kernel.memory.allocateWords(fields))
    this.#write('fieldCount', fields.length)
    this.#write('absents', this.#kernel.memory.allocateWords(absents))
    this.#write('absentCount', absents.length)
    this.#write('delimiter', marks.delimiter)
    this.#write('escape', marks.escape)
    this.#write('hasFastReaders', marks.hasFastReaders ? 1 : 0)
  }

  /** Address behind the record that the kernel stopped at, whose cells it has noted; 0 when it is unusual as a whole. */
  get surveyedEnd(): number {
    return this.#read('surveyedEnd')
  }

  /** What the survey found for a column; offsets are counted from the frame's beginning. */
  cell(position: number): Cell {
    const word = (this.#cells + position * cellRecordBytes) / 4
    const { int32 } = this.#kernel.memory
    return {
      state: int32[word + cellWords.state] ?? cellStates.absent,
      start: int32[word + cellWords.start] ?? 0,
      end: int32[word + cellWords.end] ?? 0,
      isQuoted: int32[word + cellWords.isQuoted] === 1,
      isNull: int32[word + cellWords.isNull] === 1,
    }
  }

  /** The exact path has found that the cell holds no value, or null. */
  setAbsent(position: number): void {
    this.#writeWord(this.#cells + position * cellRecordBytes, cellWords.state, cellStates.absent)
  }

  /** Gives the memory back; the plan is not to be used again. */
  free(): void {
    this.#releaseCsv()
    for (const [address, byteCount] of this.#buffers) this.#kernel.memory.release(address, byteCount)
  }

  #releaseCsv(): void {
    if (this.#read('fields') === 0) return
    this.#kernel.memory.release(this.#read('fields'), this.#csv.fields.length * 4)
    this.#kernel.memory.release(this.#read('absents'), this.#csv.absents.length * 4)
  }

  #writeRefusals(): number {
    const refusals = this.#allocate(this.#columns.length * refusalRecordBytes)
    for (const [position, { definition }] of this.#columns.entries()) {
      const pointer = refusals + position * refusalRecordBytes
      const { possible, tail, missing, name } = planRefusal(definition)
      const bits = pointer + refusalWords.possible * 4
      for (const code of possible ?? []) this.#setBit(bits + (code >> 3), code & 7)
      this.#writeText(pointer, 'tail', tail)
      this.#writeText(pointer, 'missing', missing)
      this.#writeText(pointer, 'name', name)
    }
    return refusals
  }

  #writeTable(columns: readonly KeyedColumn[], depth: number): number {
    const groups = groupByKey(columns, depth)
    const members = this.#allocate(Math.max(1, groups.length) * memberRecordBytes)
    const bucketCount = powerOfTwo(groups.length * 2)
    const buckets = new Array<number>(bucketCount).fill(0)
    for (const [position, [key, group]] of groups.entries()) {
      const pointer = members + position * memberRecordBytes
      const bucket = this.#writeMember(pointer, key, { group, depth, position }) & (bucketCount - 1)
      // A key that JSON must escape never stands in a record as it is; what does stand there is for the exact path.
      if (!isAsWritten(key)) continue
      this.#writeWord(pointer, memberWords.next, buckets[bucket] ?? 0)
      buckets[bucket] = pointer
    }
    const table = this.#allocate(tableRecordBytes)
    this.#writeWord(table, tableWords.members, members)
    this.#writeWord(table, tableWords.memberCount, groups.length)
    this.#writeWord(table, tableWords.buckets, this.#allocateWords(buckets))
    this.#writeWord(table, tableWords.bucketMask, bucketCount - 1)
    return table
  }

  /** Writes the member of one key and gives the key's hash. */
  #writeMember(
    pointer: number,
    key: string,
    {
      group,
      depth,
      position,
    }: { readonly group: readonly KeyedColumn[]; readonly depth: number; readonly position: number },
  ): number {
    const own = group.filter((plan) => plan.path.keys.length === depth + 1)
    const deeper = group.filter((plan) => plan.path.keys.length > depth + 1)
    const prefix = new TextEncoder().encode(`"${key}":`)
    const prefixAt = this.#allocate(Math.ceil(prefix.length / 16) * 16)
    this.#kernel.memory.bytes.set(prefix, prefixAt)
    const below = deeper.length === 0 ? 0 : this.#writeTable(deeper, depth + 1)
    const onlyColumn = deeper.length === 0 && own.length === 1 ? (own[0]?.column.pointer ?? 0) : 0
    this.#writeWord(pointer, memberWords.prefix, prefixAt)
    this.#writeWord(pointer, memberWords.prefixLength, prefix.length)
    this.#writeWord(pointer, memberWords.prefixMask, isAsWritten(key) ? 2 ** Math.min(16, prefix.length) - 1 : -1)
    this.#writeWord(pointer, memberWords.position, position)
    this.#writeWord(pointer, memberWords.columns, this.#allocateWords(own.map(({ column }) => column.pointer)))
    this.#writeWord(pointer, memberWords.columnCount, own.length)
    this.#writeWord(pointer, memberWords.onlyColumn, onlyColumn)
    this.#writeWord(pointer, memberWords.below, below)
    for (const plan of own) this.#memberOf[this.#columns.indexOf(plan)] = pointer
    return hashOf(prefix.subarray(1, prefix.length - 2))
  }

  #writeText(record: number, field: 'missing' | 'name' | 'tail', text: string): void {
    const bytes = new TextEncoder().encode(text)
    // The kernel reads 16 bytes at a time.
    const at = this.#allocate(bytes.length + 16)
    this.#kernel.memory.bytes.set(bytes, at)
    this.#writeWord(record, refusalWords[field], at)
    this.#writeWord(record, refusalWords[`${field}Bytes`], bytes.length)
  }

  #setBit(address: number, bit: number): void {
    const { bytes } = this.#kernel.memory
    bytes[address] = (bytes[address] ?? 0) | (1 << bit)
  }

  #allocate(byteCount: number): number {
    const pointer = this.#kernel.memory.allocate(byteCount)
    this.#kernel.memory.bytes.fill(0, pointer, pointer + byteCount)
    this.#buffers.push([pointer, byteCount])
    return pointer
  }

  #allocateWords(words: readonly number[]): number {
    const pointer = this.#kernel.memory.allocateWords(words)
    this.#buffers.push([pointer, words.length * 4])
    return pointer
  }

  #write(field: keyof typeof planWords, value: number): void {
    this.#writeWord(this.pointer, planWords[field], value)
  }

  #read(field: keyof typeof planWords): number {
    return (this.#kernel.memory.int32[this.pointer / 4 + planWords[field]] ?? 0) >>> 0
  }

  #writeWord(pointer: number, word: number, value: number): void {
    this.#kernel.memory.int32[pointer / 4 + word] = value
  }
}

/** Whether the value is what stands at the path: neither the whole record nor gathered out of elements. */
function isAsItStands({ keys, element }: JsonPath): boolean {
  return keys.length > 0 && (element?.length ?? 0) === 0
}

/** Columns by the key that their paths have at this depth, in the order of the schema. */
function groupByKey(columns: readonly KeyedColumn[], depth: number): readonly [string, readonly KeyedColumn[]][] {
  const byKey = new Map<string, KeyedColumn[]>()
  for (const plan of columns) {
    const key = plan.path.keys[depth]
    if (key === undefined) continue
    const group = byKey.get(key)
    if (group === undefined) byKey.set(key, [plan])
    else group.push(plan)
  }
  return [...byKey]
}

function isAsWritten(key: string): boolean {
  return JSON.stringify(key) === `"${key}"`
}

/** The kernel finds a key's bucket by the same hash (`findMember`). */
function hashOf(key: Uint8Array): number {
  return key.reduce((hash, byte) => (Math.imul(hash, 31) + byte) | 0, 0)
}

function powerOfTwo(minimum: number): number {
  return 2 ** Math.ceil(Math.log2(Math.max(1, minimum)))
}
