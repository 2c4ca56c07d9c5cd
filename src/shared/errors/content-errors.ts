// What a body is refused for when its content is not a table, or does not tell its columns. Sorted by status.

import { listText } from '../list-text.ts'
import { didYouMean } from '../nearest-name.ts'
import { define } from './definition.ts'

export const contentErrors = {
  FORMAT_UNSUPPORTED: define({
    status: 400,
    when: 'The format of the body or of the answer is not supported.',
    message: ({ format, supported }: { readonly format: string; readonly supported: readonly string[] }) =>
      `Format "${format}" is not supported; use one of ${supported.join(', ')}`,
    hint: ({ format, supported }) => didYouMean(format, supported),
  }),
  FILE_NAME_SENT: define({
    status: 400,
    when: 'The body is the name of a file instead of its content.',
    message: ({ name }: { readonly name: string }) =>
      `The body is "${name}", a file name instead of the file: with curl, send --data-binary @${name}`,
  }),
  FILE_UNSUPPORTED: define({
    status: 400,
    when: 'The body is not a table: an Arrow or ORC file, a workbook, an HTML page, a datafile, or an archive of an unsupported kind. The field `hint` says what to do.',
    message: ({ what }: ForeignBody) => `The body is ${what}, not CSV, NDJSON or Parquet`,
    hint: ({ advice }: ForeignBody) => `${advice.charAt(0).toUpperCase()}${advice.slice(1)}`,
  }),
  JSON_DOCUMENT: define({
    status: 400,
    when: 'The body is JSON, but not a table: one object over several lines, objects with a comma after each line, or arrays without names.',
    message: ({ form }: JsonBody) => `The body is ${jsonForms[form]}`,
  }),
  CSV_HEADER_UNCLEAR: define({
    status: 400,
    when: 'The header of a CSV body has some of the column names but not all. They are at other positions than their columns, or are fewer than half of its fields, so it is unclear which field belongs to which column. Nothing was stored.',
    message: ({ name, knownCount, columns, reason }: UnclearHeader) =>
      `The CSV header names ${knownCount} of the ${columns.length} columns of Data Source "${name}", and ${reason}: it is unclear which field belongs to which column`,
    hint: ({ columns }: UnclearHeader) =>
      `Name all columns in the header, in any order, or put the fields in the order of the columns: ${listText(columns)}`,
  }),
  COLUMNS_MISSING: define({
    status: 400,
    when: 'A Parquet file has none of the columns of its Data Source.',
    message: ({ name, columns }: { readonly name: string; readonly columns: readonly string[] }) =>
      `The Parquet file has none of the columns of Data Source "${name}"; it has ${listText(columns)}`,
  }),
  SCHEMA_MISSING: define({
    status: 400,
    when: 'A Data Source cannot be created from this format without a schema. The field `hint` proposes one.',
    message: ({ format, missing }: SchemaMissing) =>
      missing === undefined
        ? `Parameter "schema" is required to create a Data Source from ${format}`
        : `Data Source "${missing}" does not exist, and parameter "schema" is required to create it from ${format}`,
    hint: ({ guessed }: SchemaMissing) =>
      guessed === undefined
        ? 'POST /v0/analyze with the same body, or "dry=true" with the same "url", proposes a schema'
        : `POST /v0/analyze proposes a schema; for the first of these rows: ${guessed}`,
  }),
  SCHEMA_UNKNOWN: define({
    status: 400,
    when: 'Events are sent to a Data Source that does not exist, and hold no JSON object whose keys could become its columns.',
    message: ({ name }: { readonly name: string }) =>
      `Data Source "${name}" does not exist, and the events hold no JSON object to create it from`,
  }),
  SAMPLE_MISSING: define({
    status: 400,
    when: 'The request has nothing to analyze.',
    message: () => 'There is nothing to analyze: send CSV or NDJSON as the body, or as the file of a multipart form',
  }),
  SAMPLE_EMPTY: define({
    status: 400,
    when: 'The columns cannot be guessed, because the body has no CSV record, or no JSON object with keys.',
    message: ({ format }: { readonly format: string }) =>
      format === 'csv'
        ? 'There is no row to guess the columns from: send CSV with a header or rows, or the parameter "schema"'
        : 'There is no JSON object to guess the columns from: send one object a line',
  }),
  COLUMNS_TOO_MANY: define({
    status: 400,
    when: 'The columns are guessed from the rows, which need more than `columnsMax`. Nothing was created.',
    limit: () => 'columns',
    message: ({ columnsMax }: { readonly columnsMax: number }) =>
      `The rows need more than ${columnsMax} columns; create the Data Source with a "schema" that has fewer`,
  }),
  KEYS_TOO_MANY: define({
    status: 400,
    when: 'The columns are guessed from JSON, and a record has more than 100000 keys at all depths together. Nothing was created.',
    message: ({ keysMax }: { readonly keysMax: number }) =>
      `A record has more than ${keysMax} keys, too many to guess columns from; create the Data Source with a "schema" first`,
  }),
}

interface UnclearHeader {
  /** Of the data source. */
  readonly name: string
  readonly knownCount: number
  readonly columns: readonly string[]
  readonly reason: string
}

interface SchemaMissing {
  readonly format: string
  /** The Data Source to append to, where that is missing too. */
  readonly missing?: string | undefined
  readonly guessed?: string | undefined
}

interface ForeignBody {
  /** `an Arrow file` */
  readonly what: string
  /** A clause. */
  readonly advice: string
}

interface JsonBody {
  readonly form: keyof typeof jsonForms
}

const jsonForms = {
  document:
    'one JSON object over several lines, not a table: send one object a line (NDJSON) or an array of objects; /v0/events takes it as it is with format=json',
  commas:
    'JSON objects with a comma after each line, not a table: remove the commas (NDJSON), or put [ and ] around the objects',
  lists:
    'JSON arrays, whose values have no names, not a table: send one object a line (NDJSON), an array of objects, or CSV',
} as const
