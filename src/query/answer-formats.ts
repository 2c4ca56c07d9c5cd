import { errors } from '../shared/errors.ts'

// ClickHouse's formats that a client may ask for, with the type of their answer. Formats that write to a place of their
// own, need a schema file, or are meant for terminals with colours are left out.
const contentTypes: Readonly<Record<string, string>> = {
  JSON: 'application/json; charset=UTF-8',
  JSONStrings: 'application/json; charset=UTF-8',
  JSONCompact: 'application/json; charset=UTF-8',
  JSONCompactStrings: 'application/json; charset=UTF-8',
  JSONColumns: 'application/json; charset=UTF-8',
  JSONEachRow: 'application/x-ndjson; charset=UTF-8',
  JSONStringsEachRow: 'application/x-ndjson; charset=UTF-8',
  JSONCompactEachRow: 'application/x-ndjson; charset=UTF-8',
  JSONLines: 'application/x-ndjson; charset=UTF-8',
  NDJSON: 'application/x-ndjson; charset=UTF-8',
  CSV: 'text/csv; charset=UTF-8',
  CSVWithNames: 'text/csv; charset=UTF-8; header=present',
  CSVWithNamesAndTypes: 'text/csv; charset=UTF-8; header=present',
  TSV: 'text/tab-separated-values; charset=UTF-8',
  TSVWithNames: 'text/tab-separated-values; charset=UTF-8',
  TabSeparated: 'text/tab-separated-values; charset=UTF-8',
  TabSeparatedWithNames: 'text/tab-separated-values; charset=UTF-8',
  PrettyCompact: 'text/plain; charset=UTF-8',
  Pretty: 'text/plain; charset=UTF-8',
  Vertical: 'text/plain; charset=UTF-8',
  Markdown: 'text/markdown; charset=UTF-8',
  Parquet: 'application/vnd.apache.parquet',
  ArrowStream: 'application/vnd.apache.arrow.stream',
}

// What the specification names; the error lists these, not the whole table.
const namedFormats = ['JSON', 'JSONEachRow', 'CSV', 'CSVWithNames', 'TSV', 'TSVWithNames', 'PrettyCompact', 'Parquet']

export interface AnswerFormat {
  readonly format: string
  readonly contentType: string
}

/**
 * The format of an answer by the name after FORMAT; null, no FORMAT at all, gives JSON.
 *
 * @throws FORMAT_UNSUPPORTED (400).
 */
export function answerFormat(name: string | null): AnswerFormat {
  const format = name ?? 'JSON'
  const contentType = Object.hasOwn(contentTypes, format) ? contentTypes[format] : undefined
  if (contentType === undefined) throw errors.FORMAT_UNSUPPORTED({ format, supported: namedFormats })
  return { format, contentType }
}
