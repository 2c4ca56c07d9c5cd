/**
 * The slow reference for CSV: `csv-parse` cuts a body into cells, and the rules for cells are said once more.
 *
 * Bytes go through as Latin-1 characters, so that cells which are no UTF-8 stay what they are. Records with text behind a
 * closing quote are invalid here, where `csv-parse` can only refuse the body or guess: they are left out of its body.
 */
import { Buffer, isUtf8 } from 'node:buffer'
import { parse } from 'csv-parse/sync'
import type { RawValue } from '../../../../src/codec/cell.types.ts'
import type { CsvLine, CsvShape } from './random-csv.ts'
import {
  escapedText,
  type ReferenceColumn,
  type ReferenceFault,
  type ReferenceOutcome,
  recordOutcome,
  unreadableReason,
} from './reference-rows.ts'

export interface ReferenceCsvCell {
  readonly text: string
  readonly isQuoted: boolean
  readonly isUtf8: boolean
}

/** The outcomes of the records in order; blank lines have none. */
export function csvOutcomes(
  lines: readonly CsvLine[],
  columns: readonly ReferenceColumn[],
  shape: CsvShape,
): readonly ReferenceOutcome[] {
  const outcomes: ReferenceOutcome[] = []
  let sound: Buffer[] = []
  const flush = () => {
    outcomes.push(...soundOutcomes(sound, columns, shape))
    sound = []
  }
  for (const { bytes, isSound } of lines) {
    if (isSound) {
      sound.push(bytes)
      continue
    }
    flush()
    outcomes.push(unsoundOutcome(withoutLineEnd(bytes)))
  }
  flush()
  return outcomes
}

function soundOutcomes(
  lines: readonly Buffer[],
  columns: readonly ReferenceColumn[],
  shape: CsvShape,
): readonly ReferenceOutcome[] {
  const records = lines.map(withoutLineEnd).filter(({ length }) => length > 0)
  const parsed = csvRecords(Buffer.concat(lines), shape)
  if (parsed.length === records.length) {
    return parsed.map((cells, index) => cellsOutcome(cells, columns, shape, records[index] ?? Buffer.of()))
  }
  // A few lines are none to csv-parse: then each is read alone, which takes several times as long.
  return lines.flatMap((line) =>
    csvRecords(line, shape).map((cells) => cellsOutcome(cells, columns, shape, withoutLineEnd(line))),
  )
}

/** A record with text behind a closing quote. */
export function unsoundOutcome(bytes: Buffer): ReferenceOutcome {
  return { kind: 'invalid', reason: textReason('text stands behind a closing quote', bytes) }
}

/** A reason with the text of its record. */
export function textReason(reason: string, bytes: Buffer): string {
  return `${reason}${isUtf8(bytes) ? '' : ' (not valid UTF-8)'}: ${escapedText(bytes)}`
}

export function withoutLineEnd(bytes: Buffer): Buffer {
  const lineEnd = /\r?\n$/.exec(bytes.subarray(-2).toString('latin1'))?.[0] ?? ''
  return bytes.subarray(0, bytes.length - lineEnd.length)
}

function csvRecords(body: Buffer, { dialect }: CsvShape): readonly (readonly ReferenceCsvCell[])[] {
  if (body.length === 0) return []
  return parse(body.toString('latin1'), {
    delimiter: Buffer.from(dialect.delimiter).toString('latin1'),
    quote: '"',
    escape: dialect.escape === null ? '"' : String.fromCharCode(dialect.escape),
    record_delimiter: ['\r\n', '\n'],
    relax_quotes: true,
    relax_column_count: true,
    skip_empty_lines: true,
    cast: (text, { quoting }) => {
      const bytes = Buffer.from(text, 'latin1')
      return { text: escapedText(bytes), isQuoted: quoting, isUtf8: isUtf8(bytes) }
    },
    // What `cast` gives is what the records hold; the types of csv-parse do not follow it.
  }) as unknown as readonly (readonly ReferenceCsvCell[])[]
}

/** The outcome of a record that has these cells. */
export function cellsOutcome(
  cells: readonly ReferenceCsvCell[],
  columns: readonly ReferenceColumn[],
  { fieldColumns }: CsvShape,
  bytes: Buffer,
): ReferenceOutcome {
  const fieldCount = fieldColumns.length
  const cellOf = columns.map((_, position) => cells[fieldColumns.indexOf(position)])
  const misfit = (reason: string, isShort: boolean): ReferenceOutcome => {
    const errors = cells.flatMap((cell, field): readonly ReferenceFault[] => {
      const definition = columns[fieldColumns[field] ?? -1]?.definition
      if (definition === undefined || cell.isUtf8) return []
      return [{ column: definition.name, reason: unreadableReason(definition, cell.text) }]
    })
    const isLeftOut = cells.some(({ text }, field) => text !== '' && (fieldColumns[field] ?? -1) < 0)
    return {
      kind: 'quarantine',
      texts: columns.map((column, position) => {
        const value = rawValueOf(cellOf[position], column)
        return value?.kind === 'cell' ? value.text : null
      }),
      errors: [{ column: '', reason: isLeftOut ? textReason(reason, bytes) : reason }, ...errors],
      isShort,
    }
  }
  if (cells.length < fieldCount) return misfit(`record has ${cells.length} of ${fieldCount} fields`, true)
  if (cells.slice(fieldCount).some(({ text }) => text !== '')) {
    return misfit(`record has ${cells.length} fields instead of ${fieldCount}`, false)
  }
  const unreadable = new Set([...columns.keys()].filter((position) => cellOf[position]?.isUtf8 === false))
  return recordOutcome(
    columns,
    columns.map((column, position) => rawValueOf(cellOf[position], column)),
    unreadable,
  )
}

/**
 * `\N` without quotes is NULL. An empty cell says nothing where the column can do without a value; in quotes it is the
 * empty text to types that have one. All else is judged as a text.
 */
function rawValueOf(cell: ReferenceCsvCell | undefined, column: ReferenceColumn): RawValue | undefined {
  if (cell === undefined) return undefined
  if (cell.text === '\\N' && !cell.isQuoted) return { kind: 'null' }
  const hasEmptyText = /^(String|FixedString|Enum)/.test(column.typeText)
  const canBeAbsent = column.hasDefault || column.isNullable || column.isNeverRead
  if (cell.text === '' && canBeAbsent && !(cell.isQuoted && hasEmptyText)) return undefined
  return { kind: 'cell', text: cell.text, isQuoted: cell.isQuoted }
}
