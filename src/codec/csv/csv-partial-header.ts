/**
 * A first record of CSV that has some of the column names, and not all of them: a header, or a row in which names happen to
 * stand.
 *
 * Only a header with all names maps fields by name. Any other header is read by position, and only where its names say that
 * this is right: those that are known stand at their own positions, and are at least half of its fields.
 */

import type { ColumnDefinition } from '../../schema/columns/column-definition.types.ts'
import { valueTypeOf } from '../../schema/types/column-type.ts'
import { shortenedText } from '../../shared/beginning-of.ts'
import { createCoercion } from '../coercion/coercion.ts'
import type { CsvCell } from './csv-cells.ts'

/** A header that lacks columns. */
export interface PartialHeader {
  readonly fieldCount: number
  /** Columns that it names. */
  readonly knownCount: number
  /** The first name that stands at another place than its column; null when all stand at their own. */
  readonly misplaced: MisplacedName | null
  /** Whether its fields may be read by position. */
  readonly isByPosition: boolean
  /** Its names that are no columns. */
  readonly unknownNames: readonly string[]
  /** The columns that have no field at their position. */
  readonly absentColumns: readonly string[]
}

export interface MisplacedName {
  readonly name: string
  /** Both are counted from 1. */
  readonly field: number
  readonly column: number
}

interface FirstRecord {
  readonly cells: readonly CsvCell[]
  /** The index of the column that each field names, or -1. */
  readonly fieldColumns: readonly number[]
  /** The records below it; read only where nothing else decides. */
  readonly readBelow: () => readonly (readonly CsvCell[])[]
}

/** What a first record is that names some of the columns and not all; null when it is a row. */
export function readPartialHeader(record: FirstRecord, columns: readonly ColumnDefinition[]): PartialHeader | null {
  const { cells, fieldColumns } = record
  const knownCount = fieldColumns.filter((position) => position >= 0).length
  if (knownCount === 0 || !isHeader(record, columns, knownCount)) return null
  const misplaced = misplacedName(record, columns)
  return {
    fieldCount: cells.length,
    knownCount,
    misplaced,
    isByPosition: misplaced === null && isHalf(knownCount, cells.length),
    unknownNames: cells.filter((cell, field) => cell.text.trim() !== '' && fieldColumns[field] === -1).map(nameOf),
    absentColumns: columns.slice(cells.length).map(({ name }) => name),
  }
}

function isHalf(knownCount: number, fieldCount: number): boolean {
  return knownCount * 2 >= fieldCount
}

/**
 * What a column with a type takes is a value, and what it refuses is more likely a name. Where all columns are texts, names
 * have to be two and half of the fields, and no value below them; a record that is too short for a row needs no more than
 * that each of its fields is a name.
 */
function isHeader(record: FirstRecord, columns: readonly ColumnDefinition[], knownCount: number): boolean {
  const { cells, fieldColumns } = record
  const verdicts = cells.map((cell, field) => verdictOf(cell, columns[field]))
  const isRefused = verdicts.includes('refused')
  const isTaken = verdicts.includes('taken')
  if (isRefused) return !isTaken || isHalf(knownCount, cells.length)
  if (isTaken) return false
  if (cells.length < columns.length && knownCount === cells.length) return true
  return knownCount >= 2 && isHalf(knownCount, cells.length) && !standsBelow(fieldColumns, record)
}

/** Null where the cell decides nothing: it is empty, or its column takes any text, or none. */
function verdictOf({ text }: CsvCell, column: ColumnDefinition | undefined): 'refused' | 'taken' | null {
  if (column === undefined || text.trim() === '' || text === '\\N') return null
  const { kind } = valueTypeOf(column.type)
  if (kind === 'string' || kind === 'fixedString' || kind === 'aggregateFunction') return null
  return createCoercion(column.type)({ kind: 'cell', text, isQuoted: false }).isAccepted ? 'taken' : 'refused'
}

function standsBelow(fieldColumns: readonly number[], { cells, readBelow }: FirstRecord): boolean {
  return readBelow().some((row) =>
    fieldColumns.some((position, field) => position >= 0 && row[field]?.text === cells[field]?.text),
  )
}

function misplacedName(
  { cells, fieldColumns }: FirstRecord,
  columns: readonly ColumnDefinition[],
): MisplacedName | null {
  const field = fieldColumns.findIndex((position, at) => position >= 0 && position !== at)
  const column = fieldColumns[field] ?? -1
  const name = cells[field]
  return name === undefined || columns[column] === undefined
    ? null
    : { name: nameOf(name), field: field + 1, column: column + 1 }
}

const nameCharsMax = 60

function nameOf({ text }: CsvCell): string {
  const name = text.trim()
  return shortenedText(name, nameCharsMax)
}
