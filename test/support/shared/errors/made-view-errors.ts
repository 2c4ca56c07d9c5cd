import { errors } from '../../../../src/shared/errors/errors.ts'

/** One of each code about materialized views, with its status and its message. */
export const madeViewErrors = {
  VIEW_INVALID: [
    errors.VIEW_INVALID({ node: 'by_day', reason: 'it reads no Data Source' }),
    400,
    "Node 'by_day' cannot be materialized: it reads no Data Source",
  ],
  VIEW_CYCLE: [
    errors.VIEW_CYCLE({ node: 'by_day', path: ['a', 'b', 'a'] }),
    400,
    "Node 'by_day' cannot be materialized: its rows would come back to where they came from: a → b → a",
  ],
  VIEW_MISFIT: [
    errors.VIEW_MISFIT({ node: 'by_day', datasource: 'days', faults: ["column 'a' is one", "column 'b' is another"] }),
    400,
    "Node 'by_day' does not fit Data Source \"days\": column 'a' is one; column 'b' is another",
  ],
  VIEW_MISSING: [
    errors.VIEW_MISSING({ pipe: 'p', node: 'by_day', isUnlinked: true }),
    400,
    "Node 'by_day' of Pipe 'p' is not materialized",
  ],
  POPULATE_INVALID: [
    errors.POPULATE_INVALID({ reason: '"populate_subset" needs populate=true' }),
    400,
    'The populate cannot run: "populate_subset" needs populate=true',
  ],
  VERIFY_TOO_LARGE: [
    errors.VERIFY_TOO_LARGE({ rowCount: 30, rowsMax: 20 }),
    400,
    'The Materialized View and its source have 30 rows, and 20 are compared at most while a request waits',
  ],
  VERIFY_TIMEOUT: [
    errors.VERIFY_TIMEOUT({ timeMaxMs: 60_000 }),
    408,
    'The Materialized View was not compared within 60000 ms and the memory of a query',
  ],
  VERIFY_FAILED: [
    errors.VERIFY_FAILED({ view: 'by_day', reason: 'a row is wrong' }),
    422,
    'Materialized View by_day cannot be compared: a row is wrong',
  ],
  REPAIR_REFUSED: [
    errors.REPAIR_REFUSED({ view: 'p.by_day', reason: 'its source has a TTL' }),
    409,
    'Materialized View p.by_day cannot be repaired: its source has a TTL',
  ],
  REPAIR_FAILED: [
    errors.REPAIR_FAILED({ view: 'by_day', reason: 'a row is wrong' }),
    422,
    'Materialized View by_day cannot be repaired: a row is wrong',
  ],
  POPULATE_UNLINKED: [
    errors.POPULATE_UNLINKED({ view: 'by_day', pipe: 'p', reason: 'no populate of it ever succeeded' }),
    409,
    'Materialized View by_day is unlinked, because no populate of it ever succeeded: new rows do not come to it. What its Data Source has stays. Once what failed is mended, POST /v0/pipes/p/nodes/by_day/relink links it again',
  ],
  POPULATE_REFUSED: [
    errors.POPULATE_REFUSED({ datasource: 'days', reason: 'others fill it too' }),
    409,
    'Data Source "days" cannot be populated: others fill it too',
  ],
  POPULATE_FAILED: [
    errors.POPULATE_FAILED({ view: 'by_day', reason: 'a row is wrong' }),
    422,
    'Materialized View by_day cannot be populated: a row is wrong',
  ],
  VIEW_BEHIND: [
    errors.VIEW_BEHIND({ view: 'p.by_day', reason: 'no view is made' }),
    409,
    'Materialized View p.by_day lacks blocks that came to its Data Source: no view is made',
  ],
  VIEW_EXISTS: [
    errors.VIEW_EXISTS({ pipe: 'p', node: 'by_day', datasource: 'days' }),
    409,
    "Node 'by_day' of Pipe 'p' is materialized into Data Source \"days\" already",
  ],
  VIEW_USED: [
    errors.VIEW_USED({ what: "Node 'by_day' of Pipe 'p'", users: ['q.all', 'q.some'], advice: 'drop those first' }),
    409,
    "Node 'by_day' of Pipe 'p' is part of the Materialized Views q.all, q.some; drop those first",
  ],
  VIEW_SOURCE_DENIED: [
    errors.VIEW_SOURCE_DENIED({ node: 'by_day' }),
    403,
    "Node 'by_day' cannot be materialized: the token may not write to the Data Source whose rows it would see",
  ],
  OVERRIDE_REFUSED: [
    errors.OVERRIDE_REFUSED({ datasource: 'days', reason: 'it has 3 rows' }),
    409,
    'Data Source "days" cannot be overridden: it has 3 rows',
  ],
  CHANGE_OUTRUN: [
    errors.CHANGE_OUTRUN({ retryAfterSeconds: 1 }),
    503,
    'Something that the node reads was removed while it was changed; nothing was changed, repeat it',
  ],
} as const
