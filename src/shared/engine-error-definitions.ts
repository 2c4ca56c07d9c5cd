// The part of the table of errors that speaks of the engine's process.

interface EngineState {
  /** A clause. */
  readonly reason: string
}

export const engineDefinitions = {
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
