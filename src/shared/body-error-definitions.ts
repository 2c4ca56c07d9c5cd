// The part of the table of errors that speaks of bodies that are refused for what they would cost to read.

export const bodyDefinitions = {
  FIELDS_TOO_MANY: {
    status: 400,
    when: 'A form has more than 10000 fields, or a JSON body more than 10000 keys at all depths together.',
    message: ({ fieldsMax }: { readonly fieldsMax: number }) =>
      `The body has more than ${fieldsMax} fields; send long lists as one value with commas, or as one JSON array`,
  },
  CHUNKS_TOO_SMALL: {
    status: 400,
    when: 'A body comes in more than 4096 chunks of less than 32 bytes on average; that of an import may have 16384, and one more for each millisecond.',
    message: ({ chunkBytesMin }: { readonly chunkBytesMin: number }) =>
      `The body comes in thousands of chunks of less than ${chunkBytesMin} bytes; send it in larger chunks`,
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
  BODIES_TOO_MANY: {
    status: 503,
    when: 'The bodies of events, forms and queries that are on their way in or wait take more than `bodiesBytesMax`, or 128 imports are open. Nothing was done; repeat it later.',
    message: () => 'Too many bodies are on their way in; nothing was done with this one, repeat it later',
    retryAfterSeconds: ({ retryAfterSeconds }: RetryLater) => retryAfterSeconds,
  },
}

interface RetryLater {
  readonly retryAfterSeconds: number
}
