// The part of the table of errors that speaks of bodies that are refused for what they are, or would cost to read.

import { listText } from './list-text.ts'

interface UnclearHeader {
  /** Of the data source. */
  readonly name: string
  readonly knownCount: number
  readonly columns: readonly string[]
  readonly reason: string
}

export const bodyDefinitions = {
  FIELDS_TOO_MANY: {
    status: 400,
    when: 'A form has more than 10000 fields, or a JSON body more than 10000 keys at all depths together.',
    message: ({ fieldsMax }: { readonly fieldsMax: number }) =>
      `The body has more than ${fieldsMax} fields; send long lists as one value with commas, or as one JSON array`,
  },
  CHUNKS_TOO_SMALL: {
    status: 400,
    when: 'A body comes in more than 4096 chunks of less than 32 bytes on average, with one more for each millisecond where it is an import; or in more than 256, with one more for each 20 milliseconds, while all bodies together bring more than 5000 such chunks a second.',
    message: ({ chunkBytesMin }: { readonly chunkBytesMin: number }) =>
      `The body comes in thousands of chunks of less than ${chunkBytesMin} bytes; send it in larger chunks`,
  },
  CSV_HEADER_UNCLEAR: {
    status: 400,
    when: 'The header of a CSV body has some of the column names and not all, and they stand at other places than their columns or are fewer than half of its fields: neither by name nor by position is it known which field is for which column. Nothing was stored.',
    message: ({ name, knownCount, columns, reason }: UnclearHeader) =>
      `The CSV header names ${knownCount} of the ${columns.length} columns of Data Source "${name}", and ${reason}: it is not clear which field is for which column`,
    hint: ({ columns }: UnclearHeader) =>
      `Name all columns in the header, in any order, or put the fields into the order of the columns: ${listText(columns)}`,
  },
  COLUMNS_TOO_MANY: {
    status: 400,
    when: 'The columns are to be guessed from the rows, and they ask for more than `columnsMax`. Nothing was created.',
    message: ({ columnsMax }: { readonly columnsMax: number }) =>
      `The rows ask for more than ${columnsMax} columns; create the Data Source with a "schema" that takes fewer of them`,
  },
  KEYS_TOO_MANY: {
    status: 400,
    when: 'The columns are to be guessed from JSON, and a record has more than 100000 keys at all depths together. Nothing was created.',
    message: ({ keysMax }: { readonly keysMax: number }) =>
      `A record has more than ${keysMax} keys, too many to guess columns from; create the Data Source with a "schema" first`,
  },
  NESTING_TOO_DEEP: {
    status: 400,
    when: 'JSON is nested deeper than 500 levels.',
    message: ({ depthMax }: { readonly depthMax: number }) =>
      `The JSON is nested deeper than ${depthMax} levels; send flatter objects`,
  },
  PARQUET_TOO_COSTLY: {
    status: 422,
    when: 'A Parquet file takes more time (`insertTimeMaxMs`) or memory (half of `engineMemoryBytesMax`) to be read and stored than an INSERT may: its pages are damaged or very large, or a DEFAULT, a key or a Materialized View costs much for each row. What is counted is stored.',
    message: ({ reason }: { readonly reason: string; readonly cause?: unknown }) =>
      `The Parquet file takes too much time or memory to be read; rows that are counted are stored. Check that the file is whole, and write it with smaller pages and row groups; or make a DEFAULT, a key or a Materialized View cheaper: ${reason}`,
  },
  ROWS_TOO_MANY: {
    status: 413,
    when: 'A body of events has so many rows, with so little in each, that they would take more than 512 MiB in the columns of their Data Source.',
    message: ({ rowsMax, columnCount }: { readonly rowsMax: number; readonly columnCount: number }) =>
      `The body has more than ${rowsMax} rows, which is the most at once for a Data Source of ${columnCount} columns; send fewer at a time, or import them`,
  },
  TOKEN_LATE: {
    status: 403,
    when: 'There is no token in the header, in the URL or in the first 8 KiB of the body as it was sent. What follows in the body is not read.',
    message: () =>
      'No token: send the header "Authorization: Bearer <token>", or the parameter "token" in the URL or, not packed, in the first 8 KiB of the body; what follows was not read',
  },
  CLIENT_LEFT: {
    status: 400,
    when: 'The client closed its connection before it had the answer to the import of a packed body or a Parquet file, all of which had arrived. Stands in the log, with the counts of what is stored.',
    message: () => 'The client closed the connection before its import had ended, which ends the import',
  },
  IMPORT_STOPPED: {
    status: 503,
    when: 'The service closes, and the import did not end within a tenth of `closeTimeoutMs`. What was read until then is stored, and the counts are in the answer; a repeat of the whole body stores those rows twice.',
    message: () =>
      'The service is shutting down and has ended the import where it was. The rows that are counted here are stored; a repeat of the whole body stores them twice: delete them first, or repeat it as a replace',
  },
  BODIES_TOO_MANY: {
    status: 503,
    when: 'The bodies of events, forms and queries that are on their way in or wait take more than `bodiesBytesMax`, or 128 imports are open, or the Parquet files or zip archives that are here take more on the disk than four of the largest. Nothing was done; repeat it later.',
    message: () => 'Too many bodies are on their way in; nothing was done with this one, repeat it later',
    retryAfterSeconds: ({ retryAfterSeconds }: RetryLater) => retryAfterSeconds,
  },
  REQUESTS_AHEAD_TOO_MANY: {
    status: 429,
    when: 'A client sends more than 64 requests ahead on one connection, without an answer to the first of them. Those before are answered, and the connection closes behind this answer; this request and all behind it were not looked at.',
    message: ({ openRequestsMax }: RetryLater & { readonly openRequestsMax: number }) =>
      `A connection may have ${openRequestsMax} requests without an answer; nothing was done with this one and those behind it, send them again on another connection`,
    retryAfterSeconds: ({ retryAfterSeconds }: RetryLater) => retryAfterSeconds,
  },
  JSON_DOCUMENT: {
    status: 400,
    when: 'Rows are JSON and no table: one object over several lines, objects with a comma behind each line, or arrays without names.',
    message: ({ form }: JsonBody) => `The body is ${jsonForms[form]}`,
  },
  FILE_NAME_SENT: {
    status: 400,
    when: 'The name of a file was sent in the place of its content.',
    message: ({ name }: { readonly name: string }) =>
      `The body is "${name}", the name of a file and not its content: curl sends a file by --data-binary @${name}`,
  },
  FILE_UNSUPPORTED: {
    status: 400,
    when: 'The body is something else than a table: an Arrow or ORC file, a workbook, a page of HTML, a datafile, an archive that is not unpacked here. The field `hint` says what to do.',
    message: ({ what }: ForeignBody) => `The body is ${what}, and no CSV, NDJSON or Parquet`,
    hint: ({ advice }: ForeignBody) => `${advice.charAt(0).toUpperCase()}${advice.slice(1)}`,
  },
  SCHEMA_MISSING: {
    status: 400,
    when: 'A Data Source is to be created from a format that needs a schema. The field `hint` proposes one.',
    message: ({ format, missing }: SchemaMissing) =>
      missing === undefined
        ? `Parameter "schema" is required to create from ${format}`
        : `Data Source "${missing}" does not exist, and parameter "schema" is required to create it from ${format}`,
    hint: ({ guessed }: SchemaMissing) =>
      guessed === undefined
        ? 'POST /v0/analyze with the same body proposes a schema'
        : `POST /v0/analyze proposes a schema; of the beginning of these rows: ${guessed}`,
  },
}

interface JsonBody {
  readonly form: keyof typeof jsonForms
}

const jsonForms = {
  document:
    'one JSON object over several lines, and no table: send one object a line (NDJSON), or an array of objects; /v0/events takes it as it is with format=json',
  commas:
    'JSON objects with a comma behind each line, and no table: send one object a line without the commas (NDJSON), or put [ and ] around them',
  lists:
    'JSON arrays, whose values have no names, and no table: send one object a line (NDJSON), an array of objects, or CSV',
} as const

interface ForeignBody {
  /** `an Arrow file` */
  readonly what: string
  /** A clause. */
  readonly advice: string
}

interface RetryLater {
  readonly retryAfterSeconds: number
}

interface SchemaMissing {
  readonly format: string
  /** The Data Source to append to, where that is missing too. */
  readonly missing?: string | undefined
  readonly guessed?: string | undefined
}
