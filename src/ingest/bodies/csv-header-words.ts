/** What callers are told of a CSV header that has some of the column names. */
import type { PartialHeader } from '../../codec/csv/csv-partial-header.ts'
import type { ColumnDefinition } from '../../schema/columns/column-definition.types.ts'
import { type ApiError, errors } from '../../shared/errors/errors.ts'
import { listText } from '../../shared/list-text.ts'

interface HeaderOf {
  /** The data source. */
  readonly name: string
  readonly columns: readonly ColumnDefinition[]
}

/** A sentence for the answer: the fields were read by position. */
export function partialHeaderWarning(header: PartialHeader, { columns }: HeaderOf): string {
  const { knownCount, unknownNames, absentColumns } = header
  const unknown = unknownNames.length === 0 ? '' : `, and other names: ${quoted(unknownNames)}`
  const absent = absentColumns.length === 0 ? '' : `. There is no field for ${quoted(absentColumns)}`
  const advice = 'Fields are mapped by name when the header has all column names'
  return `The CSV header has ${knownCount} of the ${columns.length} column names${unknown}. It was skipped, and the fields were read by position${absent}. ${advice}.`
}

/** @param hasRows whether anything stands below the header. */
export function unclearHeader(header: PartialHeader, { name, columns }: HeaderOf, hasRows: boolean): ApiError {
  const { knownCount, fieldCount, misplaced } = header
  const reason =
    misplaced === null
      ? `these are fewer than half of its ${fieldCount} names`
      : `"${misplaced.name}" is field ${misplaced.field} and column ${misplaced.column}`
  const hint = hasRows || fieldCount <= columns.length ? {} : { hint: oneLineAdvice }
  return errors.CSV_HEADER_UNCLEAR({ name, knownCount, columns: columns.map((column) => column.name), reason, ...hint })
}

/** The commonest way to send a file as one line. */
export const oneLineAdvice = 'The body is one line: curl -d removes the line feeds of a file, --data-binary keeps them'

function quoted(names: readonly string[]): string {
  return listText(names.map((name) => `"${name}"`))
}
