// What a materialized view, or a change of what one is made of, is refused for. Sorted by status.

import { listText } from '../list-text.ts'
import { define, type OtherResource, type RetryLater } from './definition.ts'

interface MissingView {
  readonly pipe: string
  readonly node: string
  /** Whether it had a view, which a populate that failed has unlinked. Absent is false. */
  readonly isUnlinked?: boolean
}

export const viewErrors = {
  VIEW_INVALID: define({
    status: 400,
    when: 'A node cannot be materialized: its query has no Data Source whose rows it could see, needs a request, or would feed itself. Nothing of the request was done.',
    message: ({ node, reason }: NodeReason) => `Node '${node}' cannot be materialized: ${reason}`,
    withoutOthers: ({ node, untold = untoldQuery }) => `Node '${node}' cannot be materialized: ${untold}`,
    others: ({ others = [] }) => others,
  }),
  VIEW_CYCLE: define({
    status: 400,
    when: 'A node cannot be materialized, because its rows would come back to the Data Source that they came from. The message has the way. Nothing of the request was done.',
    message: ({ node, path }: { readonly node: string; readonly path: readonly string[] }) =>
      `Node '${node}' cannot be materialized: its rows would come back to where they came from: ${path.join(' → ')}`,
    withoutOthers: ({ node }) =>
      `Node '${node}' cannot be materialized: its rows would come back to where they came from`,
    others: ({ path }) => path.map(toDataSource),
  }),
  VIEW_MISFIT: define({
    status: 400,
    when: 'The columns of a node do not fit the Data Source that it is to fill. The message says of each which SQL would. Nothing of the request was done.',
    message: ({ node, datasource, faults }: Misfit) =>
      `Node '${node}' does not fit Data Source "${datasource}": ${faults.join('; ')}`,
  }),
  VIEW_MISSING: define({
    status: 400,
    when: 'A Materialized View is removed, populated, linked again, verified or repaired of a node that has none.',
    message: ({ pipe, node }: MissingView) => `Node '${node}' of Pipe '${pipe}' is not materialized`,
    hint: ({ pipe, node, isUnlinked = false }) =>
      isUnlinked
        ? `It was unlinked as a populate of it failed; POST /v0/pipes/${pipe}/nodes/${node}/relink links it again`
        : undefined,
  }),
  POPULATE_INVALID: define({
    status: 400,
    when: 'A parameter of a populate is wrong, or stands without `populate=true`.',
    message: ({ reason }: PopulateFault) => `The populate cannot run: ${reason}`,
    withoutOthers: ({ untold = 'the Data Source whose rows it would fill cannot be read for it' }) =>
      `The populate cannot run: ${untold}`,
    others: ({ others = [] }) => others.map(toDataSource),
  }),
  VERIFY_TOO_LARGE: define({
    status: 400,
    when: 'A Materialized View and its source have more rows than are compared while a request waits (`verifyRowsMax`).',
    message: ({ rowCount, rowsMax }: { readonly rowCount: number; readonly rowsMax: number }) =>
      `The Materialized View and its source have ${rowCount} rows, and ${rowsMax} are compared at most while a request waits`,
  }),
  VIEW_SOURCE_DENIED: define({
    status: 403,
    when: 'The token may not write to the Data Source whose rows the node would see, or to one whose rows come to that through other views. A view that fails holds the rows of all of them up, so whoever makes one must be able to send some.',
    message: ({ node }: { readonly node: string }) =>
      `Node '${node}' cannot be materialized: the token may not write to the Data Source whose rows it would see`,
    hint: () =>
      'That is the one after its first FROM, with UNION ALL that of each SELECT, and those that Materialized Views fill it from; the token needs DATASOURCES:APPEND or DATASOURCES:CREATE for each',
  }),
  VERIFY_TIMEOUT: define({
    status: 408,
    when: 'A Materialized View was not compared with its query in time (`verifyTimeMaxMs`), or within the memory of a query.',
    message: ({ timeMaxMs }: { readonly timeMaxMs: number }) =>
      `The Materialized View was not compared within ${timeMaxMs} ms and the memory of a query`,
    limit: () => 'verify_time',
  }),
  POPULATE_UNLINKED: define({
    status: 409,
    when: 'What became of a Materialized View whose populate failed. No request is answered so: it is among the errors of the job.',
    message: ({ view, pipe, reason }: { readonly view: string; readonly pipe: string; readonly reason: string }) =>
      `Materialized View ${view} is unlinked, because ${reason}: new rows do not come to it. What its Data Source has stays. Once what failed is mended, POST /v0/pipes/${pipe}/nodes/${view}/relink links it again`,
  }),
  POPULATE_REFUSED: define({
    status: 409,
    when: 'A populate cannot run as the views stand: with `truncate`, one view alone may fill the Data Source, and none may read it. Nothing was changed.',
    message: ({ datasource, reason }: { readonly datasource: string; readonly reason: string }) =>
      `Data Source "${datasource}" cannot be populated: ${reason}`,
  }),
  REPAIR_REFUSED: define({
    status: 409,
    when: 'A Materialized View cannot be repaired as it is, or only with `force`: what it has cannot be compared with its source, or other views read or fill its Data Source. Nothing was changed.',
    message: ({ view, reason }: { readonly view: string; readonly reason: string }) =>
      `Materialized View ${view} cannot be repaired: ${reason}`,
  }),
  VIEW_BEHIND: define({
    status: 409,
    when: 'A Materialized View lacks blocks: it did not take one, and has nothing of that one and of those that came after. The message says what cannot be done before it has caught up. Nothing was changed.',
    message: ({ view, reason }: { readonly view: string; readonly reason: string }) =>
      `Materialized View ${view} lacks blocks that came to its Data Source: ${reason}`,
    withoutOthers: ({ reason }) => `A Materialized View lacks blocks that came to its Data Source: ${reason}`,
    others: ({ view }) => [toPipe(view)],
    hint: () =>
      '`POST /v0/pipes/<pipe>/nodes/<node>/catch_up` of that view tries it at once, when what it fails at is mended; `views_behind` of its Data Source has its `error` and a `remedy`',
  }),
  VIEW_EXISTS: define({
    status: 409,
    when: 'The node is materialized already.',
    message: ({ pipe, node, datasource }: ExistingView) =>
      `Node '${node}' of Pipe '${pipe}' is materialized into Data Source "${datasource}" already`,
    withoutOthers: ({ pipe, node }) => `Node '${node}' of Pipe '${pipe}' is materialized already`,
    others: ({ datasource }) => [toDataSource(datasource)],
  }),
  VIEW_USED: define({
    status: 409,
    when: 'Materialized Views are made of a node or a Pipe, or of its SQL, so it cannot be changed or dropped. The message lists them.',
    message: ({ what, users, advice }: ViewUsers) =>
      `${what} is part of the Materialized Views ${listText(users)}; ${advice}`,
    withoutOthers: ({ what, advice }) => `${what} is part of Materialized Views; ${advice}`,
    others: ({ users }) => users.map(toPipe),
  }),
  OVERRIDE_REFUSED: define({
    status: 409,
    when: 'A Data Source cannot be overridden by `override_datasource`: it has rows, or Materialized Views use it. Nothing was changed.',
    message: ({ datasource, reason }: OverrideFault) => `Data Source "${datasource}" cannot be overridden: ${reason}`,
    withoutOthers: ({ datasource }) =>
      `Data Source "${datasource}" cannot be overridden: it has rows, or Materialized Views use it`,
    others: ({ users }) => users?.map(toPipe),
    hint: ({ users }) =>
      users === undefined
        ? undefined
        : 'DELETE /v0/pipes/<pipe>/nodes/<node>/materialization of each removes the view and leaves the rows; then it can be overridden, once it is truncated',
  }),
  VERIFY_FAILED: define({
    status: 422,
    when: 'A Materialized View cannot be compared with its query, because that fails at the rows of its source. Nothing was changed.',
    quotes: 'of views',
    message: ({ view, reason }: { readonly view: string; readonly reason: string }) =>
      `Materialized View ${view} cannot be compared: ${reason}`,
  }),
  REPAIR_FAILED: define({
    status: 422,
    when: 'A repair failed at the rows of the source, or at what changed meanwhile. All is as it was. No request is answered so: it is the error of the job.',
    quotes: 'of views',
    message: ({ view, reason }: { readonly view: string; readonly reason: string }) =>
      `Materialized View ${view} cannot be repaired: ${reason}`,
  }),
  POPULATE_FAILED: define({
    status: 422,
    when: 'A populate failed at its rows. What was filled until then stays, but with `truncate`: then all is as it was. No request is answered so: it is the error of the job.',
    quotes: 'of views',
    message: ({ view, reason }: { readonly view: string; readonly reason: string }) =>
      `Materialized View ${view} cannot be populated: ${reason}`,
  }),
  CHANGE_OUTRUN: define({
    status: 503,
    when: 'A Data Source that a node reads was removed while the node was changed. Nothing was changed; repeat the request.',
    message: (_: RetryLater & { readonly cause?: unknown }) =>
      'Something that the node reads was removed while it was changed; nothing was changed, repeat it',
    retryAfterSeconds: ({ retryAfterSeconds }: RetryLater) => retryAfterSeconds,
  }),
}

interface NodeReason {
  readonly node: string
  readonly reason: string
  /** What the reason names, or quotes the SQL of, beside the node. */
  readonly others?: readonly OtherResource[]
  /** For whoever must not be told of these. */
  readonly untold?: string
}

const untoldQuery = 'what it reads makes no view; a token that may see all that it reads is told why'

interface PopulateFault {
  readonly reason: string
  /** Names of data sources in it. */
  readonly others?: readonly string[]
  /** For whoever must not be told of these. */
  readonly untold?: string
}

interface OverrideFault {
  readonly datasource: string
  readonly reason: string
  /** Labels of the views in it; undefined where it tells of rows. */
  readonly users?: readonly string[]
}

function toDataSource(name: string): OtherResource {
  return { kind: 'datasource', name }
}

/** The pipe of a view, by its label. */
function toPipe(label: string): OtherResource {
  return { kind: 'pipe', name: label.split('.', 1)[0] ?? label }
}

interface Misfit {
  readonly node: string
  readonly datasource: string
  /** A sentence for each column, without a full stop. */
  readonly faults: readonly string[]
}

interface ExistingView {
  readonly pipe: string
  readonly node: string
  readonly datasource: string
}

interface ViewUsers {
  /** With its kind: `Node 'a' of Pipe 'b'`. */
  readonly what: string
  readonly users: readonly string[]
  /** What to do about it, without a full stop. */
  readonly advice: string
}
