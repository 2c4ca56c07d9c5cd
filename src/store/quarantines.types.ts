// What the modules above need of quarantines, as verbs. Raise `StoreError`; what is read for a caller is read as a query is.

import type { CheckedExpression } from '../schema/expressions/checked-text.types.ts'

/** Quarantine tables, each named by the data source's table that it belongs to. */
export interface Quarantines {
  /** Rows by column and reason, those with the most rows first. */
  summarize(request: QuarantineGroupsRequest): Promise<QuarantineGroups>
  /** Gives every row an id that stays. */
  ensureRowIds(table: string): Promise<void>
  /** Rows that an import has set aside, in a quarantine that is given by its own name. */
  countOfImport(quarantine: string, importId: string): Promise<number>
}

export interface QuarantineGroupsRequest {
  readonly table: string
  /** Of the data source. */
  readonly columns: readonly { readonly name: string }[]
  readonly groupsMax: number
  /** Different values that are given of a group. */
  readonly valuesMax: number
  /** Characters that are given of a value. */
  readonly valueLengthMax: number
  readonly signal: AbortSignal
}

export interface QuarantineGroups {
  readonly rowCount: number
  readonly groups: readonly QuarantineGroupRow[]
}

export interface QuarantineGroupRow {
  /** Empty when the reason is about the record as a whole. */
  readonly column: string
  /** Without its value. */
  readonly reason: string
  readonly rowCount: number
  /** When its first row and its last were set aside. */
  readonly first: string
  readonly last: string
  readonly texts: readonly string[]
  /** Rows in which the column has no value. */
  readonly missingCount: number
}

/**
 * Replays: rows of a quarantine as CSV records in a table of their own, and beside it one of those that still do not fit.
 * Every verb may be repeated.
 */
export interface Replays {
  /** Fails when the text of a caller is no expression over the quarantine. */
  tryExpression(table: string, tried: ReplayExpression, signal: AbortSignal): Promise<void>
  /** The rows that are chosen. Precondition: they have ids. */
  countChosen(table: string, choice: ReplayChoice, signal: AbortSignal): Promise<number>
  /** Copies the chosen rows, `rowsMax` of them at most; what an earlier replay left is dropped. */
  copyChosen(table: string, choice: ReplayChoice, rowsMax: number): Promise<CopiedRows>
  /** The sizes of the records from a number on, in order. */
  recordSizes(table: string, range: { readonly from: number; readonly rowsMax: number }): Promise<readonly RecordSize[]>
  /** The records with numbers from `next` to before `end`, without those that are noted as misfits. */
  records(table: string, range: { readonly next: number; readonly end: number }): Promise<readonly Uint8Array[]>
  counts(table: string): Promise<ReplayCounts>
  /** The misfits by column and reason, those with the most rows first. */
  failures(table: string, request: ReplayFailuresRequest): Promise<readonly ReplayFailureRow[]>
  /** Deletes the rows from the quarantine that were copied and are no misfits. */
  deleteReplayed(table: string): Promise<void>
  /** Drops the tables of a replay. */
  drop(table: string): Promise<void>
}

/** A condition, or what a caller's expression makes of a row. */
export interface ReplayExpression {
  readonly kind: 'condition' | 'fix'
  readonly text: CheckedExpression
}

export interface ReplayChoice {
  /** Of the caller; null takes all rows. */
  readonly condition: CheckedExpression | null
  /** Of the service, in SQL; null when there is none. */
  readonly ownCondition: string | null
  /** What becomes of each column, in order. */
  readonly cells: readonly ReplayCell[]
}

export interface ReplayCell {
  /** Of the caller, or a text of the service that gives a text or NULL. */
  readonly value: { readonly fix: CheckedExpression } | { readonly text: string }
  /** What stands in the record for NULL. */
  readonly nothing: string
}

export interface CopiedRows {
  readonly copied: number
  /** Those of them whose ids stayed; where it is fewer, parts were being written when the ids came. */
  readonly known: number
}

export interface RecordSize {
  readonly number: number
  readonly byteCount: number
}

export interface ReplayCounts {
  readonly chosenRows: number
  readonly failedRows: number
}

export interface ReplayFailuresRequest {
  readonly failuresMax: number
  readonly samplesMax: number
  /** A pattern of reasons; of those that match one with few characters is given. */
  readonly digitsPattern: string
}

export interface ReplayFailureRow {
  readonly column: string
  readonly reason: string
  readonly rowCount: number
  readonly samples: readonly string[]
  readonly digits: string
}
