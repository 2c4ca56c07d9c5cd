/**
 * A part under construction: the rows that fit in typed columns, the rows that do not in quarantine.
 *
 * The exact path lives here: `addJsonRecord` and `addRecord` decide alone what a record is. The kernel writes past it the
 * rows in the usual spellings, straight into the columns at index `rowCount`, and those that are plainly wrong.
 */
import { isUtf8 } from 'node:buffer'
import { type RecordReason, recordReasons } from '../../shared/record-reasons.ts'
import type { Cell, RawValue } from '../cell.types.ts'
import { readRawJson } from '../json/raw-json.ts'
import type { BodyCounts } from '../parse-task.types.ts'
import { cellStates } from '../scan-kernel/kernel-layout.ts'
import type { Cell as SurveyedCell } from './kernel-plan.ts'
import type { ColumnPlan, ParsePlan } from './parse-plan.ts'
import type { QuarantineBuilder, RowError } from './quarantine-builder.ts'
import { missingReason, rawTextOf, reasonOf, unreadableReason } from './row-reason.ts'

const nullValue: RawValue = { kind: 'null' }
const noColumns: ReadonlySet<number> = new Set()
const jsonDecoder = new TextDecoder()

export class PartBuilder {
  readonly quarantine: QuarantineBuilder
  readonly #plan: ParsePlan
  readonly #counts = { invalid: 0, short: 0 }
  /** The value at which the kernel gave up the record that it stands at, if that was why. */
  #refused: { readonly plan: ColumnPlan; readonly value: RawValue } | null = null
  /** The judged cells of the record on the exact path, by column. */
  readonly #cells: Cell[] = []
  /** Rows, and rows set aside, of the bodies whose counts were taken. */
  #rowsCounted = 0
  #setAsideCounted = 0

  constructor(plan: ParsePlan) {
    this.#plan = plan
    this.quarantine = plan.quarantine
    this.quarantine.reset()
    for (const { column } of plan.columns) column.reset()
    plan.kernelPlan.rowCount = 0
    plan.kernelPlan.capacity = Math.min(...plan.columns.map(({ column }) => column.capacity))
  }

  /** Rows of the part; the kernel counts in the same place. */
  get rowCount(): number {
    return this.#plan.kernelPlan.rowCount
  }

  /** The row at `rowCount` is complete; the next one finds room. */
  #finishRow(): void {
    const { kernelPlan } = this.#plan
    kernelPlan.rowCount += 1
    if (kernelPlan.rowCount >= kernelPlan.capacity) this.growRows(kernelPlan.rowCount)
  }

  /** Makes room for more than `rowCount` rows. */
  growRows(rowCount: number): void {
    for (const { column } of this.#plan.columns) column.grow(rowCount * 2)
    this.#plan.kernelPlan.capacity = rowCount * 2
  }

  /** Forgets what the kernel wrote of a row that it then gave up. */
  undoRow(): void {
    this.#refused = null
    for (const { column } of this.#plan.columns) column.clearMarksFrom(this.rowCount)
  }

  /** Takes the counts since the last call: those of one body. */
  takeCounts(): BodyCounts {
    const { rowCount } = this
    const setAside = this.quarantine.rowCount
    const told = this.#counts
    const rows = rowCount - this.#rowsCounted
    // Field by field: this runs for each event, and a spread takes several times as long.
    const invalid = told.invalid + this.quarantine.takeInvalidCount()
    const counts = { rows, quarantined: setAside - this.#setAsideCounted, invalid, short: told.short }
    told.invalid = 0
    told.short = 0
    this.#rowsCounted = rowCount
    this.#setAsideCounted = setAside
    return counts
  }

  /** An explicit null; false when the column can take neither NULL nor DEFAULT. */
  writeExplicitNull(plan: ColumnPlan): boolean {
    if (plan.isNeverRead) return true
    if (plan.isNullable) plan.column.writeNull(this.rowCount)
    else if (plan.hasDefault) plan.column.writeMissing(this.rowCount)
    else return false
    return true
  }

  /** A key that the record does not have; false when the column can take neither DEFAULT nor NULL. */
  writeMissing(plan: ColumnPlan): boolean {
    if (plan.isNeverRead) return true
    if (plan.hasDefault) plan.column.writeMissing(this.rowCount)
    else if (plan.isNullable) plan.column.writeNull(this.rowCount)
    else return false
    return true
  }

  /** The exact path for one value of JSON, `null` excepted; false when it does not fit. */
  writeJsonValue(plan: ColumnPlan, text: string): boolean {
    const raw = readRawJson(text)
    return raw !== undefined && this.writeValue(plan, elementsOf(raw, plan))
  }

  /** The exact path for one value; false when it does not fit. */
  writeValue(plan: ColumnPlan, value: RawValue): boolean {
    const verdict = plan.coerce(value)
    if (verdict.isAccepted) plan.column.writeCell(this.rowCount, verdict.cell)
    else this.#refused = { plan, value }
    return verdict.isAccepted
  }

  /** The exact path for a record of JSON: row, quarantine or invalid line. A byte order mark in front of it is passed over. */
  addJsonRecord(bytes: Uint8Array): void {
    if (!isUtf8(bytes)) {
      this.addInvalidRecord(recordReasons.noUtf8, bytes)
      return
    }
    const record = readRawJson(jsonDecoder.decode(bytes))
    if (record === undefined || record.kind !== 'object') this.addInvalidRecord(recordReasons.noObject, bytes)
    else this.addRecord(this.#plan.columns.map((plan) => valueAt(record, plan)))
  }

  /** A line of which nothing can be read: counted, and kept with its text in the reason. */
  addInvalidRecord(reason: RecordReason, bytes: Uint8Array): void {
    this.#counts.invalid += 1
    this.quarantine.addTextRow(reason, bytes)
  }

  /** A CSV line with too few fields: set aside, and counted among the invalid lines too. */
  addShortRecord(texts: readonly (string | null)[], errors: readonly RowError[]): void {
    this.#counts.invalid += 1
    this.#counts.short += 1
    this.addMisfitRecord(texts, errors)
  }

  /** A line with a quote that is never closed: set aside with its text, and counted among the invalid lines too. */
  addOpenRecord(bytes: Uint8Array): void {
    this.#counts.short += 1
    this.addInvalidRecord(recordReasons.openQuote, bytes)
  }

  /** A record of the wrong shape: set aside as a whole. */
  addMisfitRecord(texts: readonly (string | null)[], errors: readonly RowError[]): void {
    this.quarantine.addRow(texts, errors)
  }

  /**
   * The exact path: one value for each column of the schema, undefined where the record has none.
   * Columns in `unreadable` hold bytes that are no UTF-8, and their values are what stands for these (`readableText`):
   * whatever their type, the row is set aside.
   */
  addRecord(values: readonly (RawValue | undefined)[], unreadable: ReadonlySet<number> = noColumns): void {
    const { columns } = this.#plan
    const errors: RowError[] = []
    for (const [position, plan] of columns.entries()) {
      const value = values[position]
      const error = unreadable.has(position) ? unreadableText(plan, value) : this.#judge(plan, value, position)
      if (error !== null) errors.push(error)
    }
    if (errors.length > 0) {
      this.quarantine.addRow(values.map(textOf), errors)
      return
    }
    for (const [position, plan] of columns.entries()) this.#write(plan, values[position], position)
    this.#finishRow()
  }

  /**
   * The exact path for a record that the kernel has surveyed: only what no fast reader took is judged. False when nothing is
   * wrong with it after all, so that it is to be read from the start.
   */
  addSurveyedRecord(readCell: (plan: ColumnPlan, cell: SurveyedCell) => RawValue | undefined): boolean {
    const { columns, kernelPlan } = this.#plan
    const refused = this.#refused
    const errors: RowError[] = []
    for (let position = 0; position < columns.length; position += 1) {
      const plan = columns[position]
      const cell = kernelPlan.cell(position)
      if (plan === undefined || cell.state === cellStates.fits) continue
      if (plan === refused?.plan) {
        errors.push(misfit(plan, refused.value))
        continue
      }
      const value = cell.state === cellStates.unknown ? readCell(plan, cell) : cell.isNull ? nullValue : undefined
      if (value === undefined || value.kind === 'null') kernelPlan.setAbsent(position)
      const error = this.#judge(plan, value, position)
      if (error !== null) errors.push(error)
    }
    if (errors.length === 0) return false
    this.quarantine.addSurveyedRow(errors)
    return true
  }

  /** Why a value does not fit its column, or null; the judged cell is kept in `cells`. */
  #judge(plan: ColumnPlan, value: RawValue | undefined, position: number): RowError | null {
    const isAbsent = value === undefined || value.kind === 'null'
    if (isAbsent && (plan.isNeverRead || plan.isNullable || plan.hasDefault)) return null
    const { definition } = plan
    if (value === undefined) return { column: definition.name, reason: missingReason(definition) }
    if (value.kind !== 'null') {
      const verdict = plan.coerce(value)
      if (verdict.isAccepted) {
        this.#cells[position] = verdict.cell
        return null
      }
    }
    return misfit(plan, value)
  }

  #write(plan: ColumnPlan, value: RawValue | undefined, position: number): void {
    if (value === undefined) this.writeMissing(plan)
    else if (value.kind === 'null') this.writeExplicitNull(plan)
    else plan.column.writeCell(this.rowCount, this.#cells[position] ?? null)
  }
}

function misfit({ definition }: ColumnPlan, value: RawValue): RowError {
  return { column: definition.name, reason: reasonOf(definition, rawTextOf(value) ?? 'null') }
}

function textOf(value: RawValue | undefined): string | null {
  return value === undefined ? null : rawTextOf(value)
}

function unreadableText({ definition }: ColumnPlan, value: RawValue | undefined): RowError {
  return unreadableError(definition, textOf(value) ?? '')
}

/** Of a value whose bytes are no UTF-8. */
export function unreadableError(definition: ColumnPlan['definition'], text: string): RowError {
  return { column: definition.name, reason: unreadableReason(definition, text) }
}

/** What a record holds at a column's path. */
function valueAt(record: RawValue, plan: ColumnPlan): RawValue | undefined {
  const value = descend(record, plan.path.keys)
  return value === undefined ? undefined : elementsOf(value, plan)
}

function descend(value: RawValue, keys: readonly string[]): RawValue | undefined {
  let current: RawValue | undefined = value
  for (const key of keys) {
    if (current?.kind !== 'object') return undefined
    current = current.entries.get(key)
  }
  return current
}

/** For a path that looks into the elements of an array, the array of what it finds there; else the value itself. */
function elementsOf(value: RawValue, plan: ColumnPlan): RawValue {
  const { element } = plan.path
  if (element === null || element.length === 0 || value.kind !== 'array') return value
  return {
    kind: 'array',
    text: value.text,
    items: value.items.map((item) => descend(item, element) ?? { kind: 'null' }),
  }
}
