import { errors } from '../../../../src/shared/errors/errors.ts'

/** Errors of imports whose rows are refused, cost too much or are none, each with its status and message. */
export const madeImportErrors = {
  FILE_EMPTY: [
    errors.FILE_EMPTY(),
    400,
    'The file has no bytes, so nothing was replaced; to delete all rows, use POST /v0/datasources/<name>/truncate',
  ],
  IMPORT_NOT_RESUMABLE: [
    errors.IMPORT_NOT_RESUMABLE(),
    409,
    'The import was interrupted and cannot go on: its file is not as it was, or the service was started with other options; the counted rows are stored',
  ],
  IMPORT_OVERTAKEN: [
    errors.IMPORT_OVERTAKEN({ name: 'visits' }),
    409,
    'Data Source "visits" was truncated, replaced or altered, or took thousands of other blocks, while the import was interrupted, so the import cannot go on; the counted rows were stored',
  ],
  JOB_ORDER_LOST: [
    errors.JOB_ORDER_LOST(),
    409,
    'The job cannot be read: the key that it was sealed with is missing, or another release wrote it',
  ],
  ROWS_REFUSED: [
    errors.ROWS_REFUSED({ reason: 'not a number' }),
    400,
    'The database refused rows of the import, so it ended early; the counted rows are stored. Correct the others, or the DEFAULT, key or sign that fails for them: not a number',
  ],
  PARQUET_TOO_COSTLY: [
    errors.PARQUET_TOO_COSTLY({ reason: 'Timeout exceeded' }),
    422,
    'Reading the Parquet file takes too much time or memory; the counted rows are stored, and others may be. Check that the file is complete, write it with smaller pages and row groups, or make a DEFAULT, a key or a Materialized View cheaper: Timeout exceeded',
  ],
  INSERT_TOO_COSTLY: [
    errors.INSERT_TOO_COSTLY({ reason: 'Timeout exceeded' }),
    422,
    'A DEFAULT, a key or a Materialized View takes too much time or memory for the rows of the import, so it ended early; the counted rows are stored, and others may be. Make the expression cheaper, or count the rows and send those that are missing in smaller bodies: Timeout exceeded',
  ],
  JSON_DOCUMENT: [
    errors.JSON_DOCUMENT({ form: 'document' }),
    400,
    'The body is one JSON object over several lines, not a table: send one object a line (NDJSON) or an array of objects; /v0/events takes it as it is with format=json',
  ],
  REQUESTS_AHEAD_TOO_MANY: [
    errors.REQUESTS_AHEAD_TOO_MANY({ openRequestsMax: 64, retryAfterSeconds: 1 }),
    429,
    'A connection may have 64 unanswered requests; this one and those after it were ignored, send them again on another connection',
  ],
  FILE_UNSUPPORTED: [
    errors.FILE_UNSUPPORTED({ what: 'an Arrow file', advice: 'write it as Parquet' }),
    400,
    'The body is an Arrow file, not CSV, NDJSON or Parquet',
  ],
  FILE_NAME_SENT: [
    errors.FILE_NAME_SENT({ name: 'rows.csv' }),
    400,
    'The body is "rows.csv", a file name instead of the file: with curl, send --data-binary @rows.csv',
  ],
  CSV_HEADER_UNCLEAR: [
    errors.CSV_HEADER_UNCLEAR({
      name: 'visits',
      knownCount: 1,
      columns: ['a', 'b'],
      reason: '"b" is field 1 and column 2',
    }),
    400,
    'The CSV header names 1 of the 2 columns of Data Source "visits", and "b" is field 1 and column 2: it is unclear which field belongs to which column',
  ],
  CLIENT_LEFT: [
    errors.CLIENT_LEFT(),
    400,
    'The client closed the connection before its import ended, so the import was stopped',
  ],
  IMPORT_STOPPED: [
    errors.IMPORT_STOPPED(),
    503,
    'The service is shutting down and stopped the import. The counted rows are stored; sending the whole body again stores them twice: delete them first, or send it as a replace',
  ],
} as const
