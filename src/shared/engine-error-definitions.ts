// The part of the table of errors that speaks of the engine's process.

interface EngineState {
  /** A clause. */
  readonly reason: string
}

interface UnreadResults {
  /** A clause. */
  readonly reason: string
  readonly retryAfterSeconds: number
}

export const engineDefinitions = {
  SQL_TOO_COMPLEX: {
    status: 400,
    when: 'The query would keep the database busy before it runs: its columns, expressions, windows, joins and tables are counted, those of Pipes, common tables and asterisks as often as they are read. Select fewer columns in place of `*`, write what is repeated once, or store a part of it in a Data Source.',
    message: ({ reason, node }: { readonly reason: string; readonly node: string | null }) =>
      `The query is too complex: ${reason}${node === null ? '' : ` (in node '${node}')`}`,
  },
  DEFINITION_TOO_COSTLY: {
    status: 400,
    when: 'A DEFAULT, a key, a TTL or an index has something to compute for which the database needs more than ten seconds, or more memory than a query may take, before any row comes: a constant out of `repeat` or `range`, for example. Nothing was created or changed.',
    message: ({ reason }: EngineState) =>
      `A DEFAULT, a key, a TTL or an index costs too much to compute before any row comes: ${reason}. Write what is constant in it as a value`,
  },
  RESULTS_UNREAD: {
    status: 503,
    when: 'Answers that are being made, or that their clients have not read yet, take `resultFilesBytesMax` on disk or 64 MiB in memory, or there are 256 of them. Clients that take nothing of theirs for `connectionIdleMsMax` are cut. Repeat it later.',
    message: ({ reason }: UnreadResults) => `There is no room for the answer: ${reason}; repeat the query later`,
    retryAfterSeconds: ({ retryAfterSeconds }: UnreadResults) => retryAfterSeconds,
  },
  ENGINE_RESTARTED: {
    status: 503,
    when: 'The database ended while it worked at the request, and is started again, which takes about a second. A query may be repeated at once; look at what a change has done before you repeat that. Events are acknowledged all the while.',
    message: () =>
      'The database ended before it had answered and is started again; repeat a query, and look at what a change has done before you repeat that',
    retryAfterSeconds: () => 1,
  },
  ENGINE_UNAVAILABLE: {
    status: 503,
    when: 'The database does not answer: it gives no sign of life, is started again, or queries that cannot be stopped hold all of its sessions; the message says which. A query may be repeated. Events are acknowledged all the while.',
    message: ({ reason }: EngineState) => `The database does not answer at the moment: ${reason}; repeat it later`,
    retryAfterSeconds: () => 2,
  },
}
