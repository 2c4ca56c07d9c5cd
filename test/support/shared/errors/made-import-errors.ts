import { errors } from '../../../../src/shared/errors/errors.ts'

/** Errors of imports whose rows are refused, cost too much or are none, each with its status and message. */
export const madeImportErrors = {
  ROWS_REFUSED: [
    errors.ROWS_REFUSED({ reason: 'not a number' }),
    400,
    'The database refuses rows of the import, so it ended early; the rows that are counted are stored. Correct the others, or the DEFAULT, key or sign that fails with them: not a number',
  ],
  PARQUET_TOO_COSTLY: [
    errors.PARQUET_TOO_COSTLY({ reason: 'Timeout exceeded' }),
    422,
    'The Parquet file takes too much time or memory to be read; rows that are counted are stored. Check that the file is whole, and write it with smaller pages and row groups; or make a DEFAULT, a key or a Materialized View cheaper: Timeout exceeded',
  ],
  INSERT_TOO_COSTLY: [
    errors.INSERT_TOO_COSTLY({ reason: 'Timeout exceeded' }),
    422,
    'A DEFAULT, a key or a Materialized View takes too much time or memory for the rows of the import, so it ended early; the rows that are counted are stored. Make the expression cheaper, or send the other rows in smaller bodies: Timeout exceeded',
  ],
  JSON_DOCUMENT: [
    errors.JSON_DOCUMENT({ form: 'document' }),
    400,
    'The body is one JSON object over several lines, and no table: send one object a line (NDJSON), or an array of objects; /v0/events takes it as it is with format=json',
  ],
  REQUESTS_AHEAD_TOO_MANY: [
    errors.REQUESTS_AHEAD_TOO_MANY({ openRequestsMax: 64, retryAfterSeconds: 1 }),
    429,
    'A connection may have 64 requests without an answer; nothing was done with this one and those behind it, send them again on another connection',
  ],
  FILE_UNSUPPORTED: [
    errors.FILE_UNSUPPORTED({ what: 'an Arrow file', advice: 'write it as Parquet' }),
    400,
    'The body is an Arrow file, and no CSV, NDJSON or Parquet',
  ],
  FILE_NAME_SENT: [
    errors.FILE_NAME_SENT({ name: 'rows.csv' }),
    400,
    'The body is "rows.csv", the name of a file and not its content: curl sends a file by --data-binary @rows.csv',
  ],
  CSV_HEADER_UNCLEAR: [
    errors.CSV_HEADER_UNCLEAR({
      name: 'visits',
      knownCount: 1,
      columns: ['a', 'b'],
      reason: '"b" is field 1 and column 2',
    }),
    400,
    'The CSV header names 1 of the 2 columns of Data Source "visits", and "b" is field 1 and column 2: it is not clear which field is for which column',
  ],
} as const
