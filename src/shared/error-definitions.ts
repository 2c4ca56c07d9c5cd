// The one table of what callers can do wrong, or can be told: code, status and message live together. Row errors are no
// errors in this sense (they travel with the block), and breaches of our own invariants use `assert`.
//
// The page docs/errors.md is made from this table, and a test holds them together. Decisions:
// - A query or record over a limit of the SQL interface is 400, as the specification has it for wrong SQL; 413 is kept
//   for request bodies, whose sender can split them.
// - A missing token is 403, not 401: the specification knows 403 alone, and clients tell "retry" from "give up" by it.
// - An unknown Content-Encoding is 415 (RFC 9110 §15.5.16): clients that do not know the status take it as any 4xx,
//   which is never retried, and a proxy in between knows what it means.

import { bodyDefinitions } from './body-error-definitions.ts'
import { formatBytes } from './bytes.ts'
import { diskDefinitions } from './disk-error-definitions.ts'
import { engineDefinitions } from './engine-error-definitions.ts'
import { listText } from './list-text.ts'
import { didYouMean } from './nearest-name.ts'
import { pipeDefinitions } from './pipe-error-definitions.ts'
import { variableDefinitions } from './variable-error-definitions.ts'

export interface ErrorDefinition<Params> {
  readonly status: number
  /** For docs/errors.md: when a caller meets it. */
  readonly when: string
  readonly message: (params: Params) => string
  /** Seconds for the header Retry-After. */
  readonly retryAfterSeconds?: (params: Params) => number
  /** What to do next, in a field of its own: clients and tests of projects compare the message. Undefined has none. */
  readonly hint?: (params: Params) => string | undefined
  /** The names that stand for nothing, outermost first: what was meant is looked for among those that there are. */
  readonly subject?: (params: Params) => readonly string[]
  /** Status and body that take the place of those of the code; null leaves them. */
  readonly answer?: (params: Params) => OwnAnswer | null
}

/** An answer in the words of a template's author. */
export interface OwnAnswer {
  readonly status: number
  readonly body: Readonly<Record<string, unknown>>
}

interface TemplateRefusal {
  readonly message: string
  /** Of `error()` and `custom_error()`. */
  readonly answer: OwnAnswer | null
}

function define<Params>(definition: ErrorDefinition<Params>): ErrorDefinition<Params> {
  return definition
}

export const definitions = {
  BODY_MISSING: define({
    status: 400,
    when: 'The request needs a body, a form field or a schema, and has none.',
    message: () => 'The request has no body: send rows, or a "schema" to create an empty Data Source',
  }),
  ROWS_REFUSED: define({
    status: 400,
    when: 'The database refuses more rows of an import than are searched for one by one, although their values fit: a DEFAULT or a key fails with them, or a sign is neither 1 nor -1; or a Materialized View stands behind its table. Fewer such rows are set aside. What is counted is stored, or in quarantine.',
    message: ({ reason }: { readonly reason: string }) =>
      `The database refuses rows of the import, so it ended early; the rows that are counted are stored. Correct the others, or the DEFAULT, key or sign that fails with them: ${reason}`,
  }),
  PARTITIONS_TOO_MANY: define({
    status: 400,
    when: 'The rows of an import are of more partitions than one body may be of (`partitionsPerBodyMax`), or the Data Source would have more than it may (`partitionsMax`). What is counted is stored.',
    message: ({ scope, partitionsMax }: { readonly scope: 'body' | 'table'; readonly partitionsMax: number }) =>
      scope === 'body'
        ? `The rows of the import are of more than ${partitionsMax} partitions, so it ended early; the rows that are counted are stored. Use a coarser partition key, send rows of fewer partitions at a time, or raise --partitions-per-body-max`
        : `The Data Source would have more than ${partitionsMax} partitions, so the import ended early; the rows that are counted are stored. Use a coarser partition key, or raise --partitions-max`,
  }),
  BODY_CORRUPT: define({
    status: 400,
    when: 'The body does not unpack as its Content-Encoding says, or its multipart form is broken.',
    message: ({ format, reason }: { readonly format: string; readonly reason: string }) =>
      `The body is no valid ${format}: ${reason}`,
  }),
  ARCHIVE_UNSUPPORTED: define({
    status: 400,
    when: 'A zip archive that is no archive of one file: it has none or several, or one that cannot be read, or more than 16 MiB in what lies beside it.',
    message: ({ reason }: { readonly reason: string }) => `The zip archive cannot be imported: ${reason}`,
  }),
  BODY_CUT: define({
    status: 400,
    when: 'The connection ended before the body did.',
    message: () => 'The connection ended before the body did',
  }),
  REQUEST_INVALID: define({
    status: 400,
    when: 'The request is no valid HTTP request for its path.',
    message: ({ reason }: { readonly reason: string }) => `The request is not valid: ${reason}`,
  }),
  PARAMETER_INVALID: define({
    status: 400,
    when: 'A parameter has a value that it cannot have.',
    message: ({ parameter, value, expected }: ParameterFault) =>
      `Parameter "${parameter}" is "${value}", but must be ${expected}`,
    hint: ({ value, expected }) => didYouMean(value, expected.split(/, | or /)),
  }),
  PARAMETER_LATE: define({
    status: 400,
    when: 'A parameter stands behind the file of a multipart form, and came too late to be followed.',
    message: ({ parameter }: { readonly parameter: string }) =>
      `Parameter "${parameter}" stands behind the file, and came too late to be followed: send it before the file or in the URL`,
  }),
  NAME_MISSING: define({
    status: 400,
    when: 'The parameter `name` is required here.',
    message: () => 'Parameter "name" is required',
  }),
  NAME_INVALID: define({
    status: 400,
    when: 'A name that no resource can have.',
    message: ({ name, reason }: { readonly name: string; readonly reason: string }) =>
      `"${name}" is no valid name: ${reason}`,
  }),
  SCHEMA_INVALID: define({
    status: 400,
    when: 'The schema string cannot be read, or asks for what a table cannot have.',
    message: ({ reason, line, column }: SchemaFault) => `Wrong schema at line ${line}, column ${column}: ${reason}`,
  }),
  SCHEMA_UNKNOWN: define({
    status: 400,
    when: 'Events are to create a Data Source, and hold no JSON object whose keys could become its columns.',
    message: ({ name }: { readonly name: string }) =>
      `Data Source "${name}" does not exist, and the events hold no JSON object to create it from`,
  }),
  SAMPLE_MISSING: define({
    status: 400,
    when: 'There is no file to analyze.',
    message: () => 'There is nothing to analyze: send CSV or NDJSON as the body, or as the file of a multipart form',
  }),
  SAMPLE_EMPTY: define({
    status: 400,
    when: 'The columns are to be guessed from the body, and it holds no CSV record, or no JSON object with keys.',
    message: ({ format }: { readonly format: string }) =>
      format === 'csv'
        ? 'There is no row to guess the columns from: send CSV with a header or rows, or the parameter "schema"'
        : 'There is no JSON object to guess the columns from: send one object a line',
  }),
  APPEND_UNSUPPORTED: define({
    status: 400,
    when: 'Rows are to be appended to a Data Source whose engine is Join, or out of which a Materialized View at any depth fills one.',
    message: ({
      name,
      join,
    }: {
      readonly name: string /** Undefined is the Data Source itself. */
      readonly join?: string
    }) =>
      join === undefined
        ? `Data Source "${name}" has the engine Join, to which rows cannot be appended; use mode=replace`
        : `Rows cannot be appended to Data Source "${name}": a Materialized View brings them to Data Source "${join}", which has the engine Join; use mode=replace`,
  }),
  COLUMNS_MISSING: define({
    status: 400,
    when: 'A Parquet file has none of the columns of its Data Source.',
    message: ({ name, columns }: { readonly name: string; readonly columns: readonly string[] }) =>
      `The Parquet file has none of the columns of Data Source "${name}"; it has ${listText(columns)}`,
  }),
  ENGINE_INVALID: define({
    status: 400,
    when: 'The engine, or one of its `engine_…` options, is unknown or does not fit the schema.',
    message: ({ reason }: { readonly reason: string }) => `Wrong engine: ${reason}`,
  }),
  INDEX_INVALID: define({
    status: 400,
    when: 'One of the `indexes` cannot be read, or does not fit the schema or the engine.',
    message: ({ reason }: { readonly reason: string }) => `Wrong index: ${reason}`,
  }),
  ALTER_REFUSED: define({
    status: 400,
    when: 'An alter asks for something else than new columns at the end, a description, a TTL or indexes.',
    message: ({ name, reason }: { readonly name: string; readonly reason: string }) =>
      `Data Source "${name}" cannot be altered so: ${reason}`,
  }),
  REPLAY_INVALID: define({
    status: 400,
    when: 'A replay of a quarantine has a condition or a fix that cannot be, or an engine that takes no single rows.',
    message: ({ reason }: { readonly reason: string }) => `The replay cannot run: ${reason}`,
  }),
  CHANGE_EMPTY: define({
    status: 400,
    when: 'A change of a Data Source or a Pipe asks for nothing, or for nothing that is not so already.',
    message: ({ expected }: { readonly expected: string }) =>
      `There were no operations to perform: send ${expected} with another value than now`,
  }),
  DATASOURCES_TOO_MANY: define({
    status: 400,
    when: 'The workspace has as many Data Sources as it can have.',
    message: ({ dataSourcesMax }: { readonly dataSourcesMax: number }) =>
      `There are already ${dataSourcesMax} Data Sources, and a workspace has no room for more; drop one first`,
  }),
  FORMAT_UNSUPPORTED: define({
    status: 400,
    when: 'The format of the body or of the answer is not known here.',
    message: ({ format, supported }: { readonly format: string; readonly supported: readonly string[] }) =>
      `Format "${format}" is not supported; use one of ${supported.join(', ')}`,
    hint: ({ format, supported }) => didYouMean(format, supported),
  }),
  REPLACE_CONDITION_INVALID: define({
    status: 400,
    when: 'The parameter `replace_condition` is no condition over the columns, or does not speak of the partition key.',
    message: ({ reason }: { readonly reason: string }) => `Parameter "replace_condition" cannot be used: ${reason}`,
  }),
  REPLACE_PARTITIONS_DIFFER: define({
    status: 400,
    when: 'A replace with a condition, and a Data Source that is computed from the replaced one has a partition key that is not compatible. The old content stays.',
    message: ({ source, target, reason }: PartitionFault) =>
      `The partition keys of "${source}" and of "${target}", which is computed from it, are not compatible: ${reason}; nothing was replaced`,
  }),
  REPLACE_EMPTY: define({
    status: 400,
    when: 'No row of a replace fits the Data Source, though there are some. They are in quarantine; the old content stays.',
    message: ({ name }: { readonly name: string }) =>
      `No row fits Data Source "${name}", so its content was not replaced; the reasons are in its quarantine`,
  }),
  SQL_EMPTY: define({
    status: 400,
    when: 'There is no query in the request.',
    message: () => 'The query is empty: send SQL in the parameter "q" or as the body',
  }),
  SQL_TOO_LONG: define({
    status: 400,
    when: 'The query is longer than `sqlBytesMax`.',
    message: ({ bytesMax }: BytesLimit) => `The query is longer than ${formatBytes(bytesMax)}`,
  }),
  SQL_INVALID: define({
    status: 400,
    when: 'The query is wrong, or does what a query may not; the message is the reason.',
    message: ({ reason }: { readonly reason: string }) => reason,
  }),
  EXPLAIN_EMPTY: define({
    status: 400,
    when: 'A Pipe without nodes is to be explained.',
    message: ({ name }: { readonly name: string }) => `No node could be found to explain in the pipe '${name}'`,
  }),
  TEMPLATE_INVALID: define({
    status: 400,
    when: 'A template is wrong, or what it was given for its parameters; the message is the reason. `error()` and `custom_error()` answer with the body, and `custom_error()` with the status, that they are called with.',
    message: ({ message }: TemplateRefusal) => message,
    answer: ({ answer }: TemplateRefusal) => answer,
  }),
  RESULT_TOO_LARGE: define({
    status: 400,
    when: 'The answer of a query is larger than `resultBytesMax`.',
    message: ({ bytesMax }: BytesLimit) =>
      `The result is larger than ${formatBytes(bytesMax)}; select less, or use LIMIT`,
  }),
  TOKEN_MISSING: define({
    status: 403,
    when: 'The request carries no token.',
    message: () => 'No token: send the header "Authorization: Bearer <token>" or the parameter "token"',
  }),
  TOKEN_INVALID: define({
    status: 403,
    when: 'The token is unknown.',
    message: () => 'Invalid token',
  }),
  CREATION_REFUSED: define({
    status: 403,
    when: 'Rows are to be appended to a Data Source that does not exist, and `missingDataSource` is `refuse`.',
    message: () => 'Adding or modifying data sources to this workspace can only be done via deployments',
  }),
  DATASOURCE_NOT_FOUND: define({
    status: 404,
    when: 'No Data Source has this name or id.',
    message: ({ name }: { readonly name: string }) => `Data Source "${name}" does not exist`,
    subject: ({ name }) => [name],
  }),
  PIPE_UNKNOWN: define({
    status: 404,
    when: 'There is no Pipe of this name or id to read or to explain.',
    message: ({ name }: { readonly name: string }) => `The pipe '${name}' does not exist`,
    subject: ({ name }) => [name],
  }),
  PIPE_UNPUBLISHED: define({
    status: 404,
    when: 'The Pipe has no published node, and so no data to give.',
    message: ({ name }: { readonly name: string }) =>
      `The pipe '${name}' does not have an endpoint yet: publish one of its nodes`,
  }),
  NOT_FOUND: define({
    status: 404,
    when: 'Nothing answers at this path.',
    message: ({ path, absent }: { readonly path: string; readonly absent?: string | undefined }) =>
      `There is nothing at "${path}"${absent === undefined ? '' : `: this service does not have ${absent} yet`}`,
    subject: ({ path }) => [path],
  }),
  METHOD_NOT_ALLOWED: define({
    status: 405,
    when: 'The path exists, but not with this method.',
    message: ({ method, allowed }: { readonly method: string; readonly allowed: readonly string[] }) =>
      `Method ${method} is not allowed here; use ${allowed.join(' or ')}`,
  }),
  QUERY_TIMEOUT: define({
    status: 408,
    when: 'A query ran longer than `queryTimeMaxMs` and was stopped.',
    message: ({ timeMaxMs }: { readonly timeMaxMs: number }) =>
      `The query ran longer than ${timeMaxMs / 1000} seconds and was stopped`,
  }),
  BODY_STALLED: define({
    status: 408,
    when: 'No byte of the body came for `connectionIdleMsMax`.',
    message: ({ idleMsMax }: { readonly idleMsMax: number }) =>
      `No byte of the body came for ${idleMsMax / 1000} seconds`,
  }),
  DATASOURCE_EXISTS: define({
    status: 409,
    when: 'A Data Source or a Pipe is to be named like a Data Source that there is.',
    message: ({ name }: { readonly name: string }) => `There is already a Data Source with name "${name}"`,
  }),
  DATASOURCE_USED: define({
    status: 409,
    when: 'A Data Source is to be dropped or renamed while Materialized Views or Pipes depend on it, or something new would take a name with a version by which Pipes read it.',
    message: ({ name, users, advice }: DataSourceUsers) =>
      `Data Source "${name}" is used by ${listText(users)}; ${advice}`,
  }),
  DATASOURCE_BUSY: define({
    status: 409,
    when: 'A Data Source is to be changed or appended to while it, or one that is computed together with it, is being replaced; or to be replaced while it is appended to. Nothing was changed; repeat it later.',
    message: ({ name, what }: { readonly name: string; readonly what: 'appended to' | 'changed' | 'replaced' }) =>
      `Data Source "${name}" is being ${what} at the moment; nothing was changed, repeat it later`,
  }),
  PAYLOAD_TOO_LARGE: define({
    status: 413,
    when: 'The body is larger than `eventsBodyBytesMax` (events) or `formBytesMax` (forms and SQL).',
    message: ({ bytesMax }: BytesLimit) => `The body is larger than ${formatBytes(bytesMax)}`,
  }),
  RECORD_TOO_LARGE: define({
    status: 413,
    when: 'One record is longer than `recordBytesMax`.',
    message: ({ bytesMax }: BytesLimit) => `A record is longer than ${formatBytes(bytesMax)}`,
  }),
  DECOMPRESSED_TOO_LARGE: define({
    status: 413,
    when: 'The body unpacks to more than `eventsBodyBytesMax` (events) or `decompressedBytesMax` (imports).',
    message: ({ bytesMax }: BytesLimit) => `The body is larger than ${formatBytes(bytesMax)} when unpacked`,
  }),
  PARQUET_TOO_LARGE: define({
    status: 413,
    when: 'A Parquet file is larger than `parquetBytesMax`.',
    message: ({ bytesMax }: BytesLimit) => `The Parquet file is larger than ${formatBytes(bytesMax)}`,
  }),
  ENCODING_UNSUPPORTED: define({
    status: 415,
    when: 'The Content-Encoding of the body is not known here.',
    message: ({ encoding, supported }: { readonly encoding: string; readonly supported: readonly string[] }) =>
      `Content-Encoding "${encoding}" is not supported; use one of ${supported.join(', ')}`,
  }),
  VIEW_FAILED: define({
    status: 422,
    when: 'Events with `wait=true` that a Materialized View does not take. They are kept, and stored as soon as the view does: do not repeat them.',
    message: ({ reason }: { readonly reason: string }) =>
      `A Materialized View failed; the events are kept and stored as soon as it works, so do not send them again: ${reason}`,
  }),
  IMPORT_VIEW_FAILED: define({
    status: 422,
    when: 'A Materialized View does not take rows of an import. The Data Source has the rows that are counted, and the views that take them; the rest was not read.',
    message: ({ reason }: { readonly reason: string }) =>
      `A Materialized View failed, so the import ended early; the rows that are counted are stored, but not in what this view makes, so do not send them again: ${reason}`,
  }),
  INSERT_TOO_COSTLY: define({
    status: 422,
    when: 'An INSERT of an import takes more time (`insertTimeMaxMs`) or memory (half of `engineMemoryBytesMax`) than it may, as a DEFAULT, a key or a Materialized View costs much for each row. What is counted is stored.',
    message: ({ reason }: { readonly reason: string }) =>
      `A DEFAULT, a key or a Materialized View takes too much time or memory for the rows of the import, so it ended early; the rows that are counted are stored. Make the expression cheaper, or send the other rows in smaller bodies: ${reason}`,
  }),
  REPLACE_VIEW_FAILED: define({
    status: 422,
    when: 'A Materialized View does not take the new rows of a replace. The old content stays.',
    message: ({ view, reason }: { readonly view: string; readonly reason: string }) =>
      `Materialized View "${view}" does not take the new rows, so nothing was replaced: ${reason}`,
  }),
  IDEMPOTENCY_KEY_REUSED: define({
    status: 422,
    when: 'The Idempotency-Key was used for another body.',
    message: () => 'This Idempotency-Key was used with another body within the last 5 hours; nothing was stored',
  }),
  CREATES_TOO_MANY: define({
    status: 429,
    when: 'Events have created more Data Sources in the last minute than `eventsCreatesPerMinuteMax` allows.',
    message: ({ perMinuteMax }: RetryLater & { readonly perMinuteMax: number }) =>
      `Events may create ${perMinuteMax} Data Sources a minute; create it beforehand, or repeat it later`,
    retryAfterSeconds: ({ retryAfterSeconds }) => retryAfterSeconds,
  }),
  ENGINE_FAILED: define({
    status: 500,
    when: 'The database failed at something that is no fault of the request; the log has the reason.',
    message: () => 'The database failed; the log of the service has the reason under the id of this request',
  }),
  INTERNAL: define({
    status: 500,
    when: 'The service has a fault of its own; the log has the reason.',
    message: () => 'Unexpected error; the log of the service has the reason under the id of this request',
  }),
  LOG_FAILED: define({
    status: 500,
    when: 'The disk failed while events were being written; whether they are stored is not known. A repeat with the same Idempotency-Key is safe.',
    message: () =>
      'The disk failed while the events were being written: repeat them with the same Idempotency-Key, or they may be stored twice',
  }),
  BACKLOG_FULL: define({
    status: 503,
    when: 'More is waiting to be stored than `eventsPendingBytesMax`, `eventsBacklogBytesMax` or `eventsLogBytesMax` allows. Nothing was stored; repeat it later.',
    message: () => 'Too much is waiting to be stored; nothing of this request was stored, repeat it later',
    retryAfterSeconds: ({ retryAfterSeconds }: RetryLater) => retryAfterSeconds,
  }),
  ...diskDefinitions,
  VIEW_BLOCKS: define({
    status: 503,
    when: 'Events with `wait=true`, while a Materialized View refuses those before them. Nothing was stored; repeat it later.',
    message: ({ reason }: RetryLater & { readonly reason: string }) =>
      `A Materialized View does not take what comes before; nothing of this request was stored, repeat it later: ${reason}`,
    retryAfterSeconds: ({ retryAfterSeconds }) => retryAfterSeconds,
  }),
  CHANGES_TOO_MANY: define({
    status: 503,
    when: 'Too many changes of Data Sources or Pipes wait already. Nothing was changed; repeat it later.',
    message: () => 'Too many changes are waiting; nothing was changed, repeat it later',
    retryAfterSeconds: ({ retryAfterSeconds }: RetryLater) => retryAfterSeconds,
  }),
  DATASOURCE_CHANGING: define({
    status: 503,
    when: 'Events for a Data Source that is being changed at the moment. None of them was stored; repeat them.',
    message: ({ name }: RetryLater & { readonly name: string }) =>
      `Data Source "${name}" is being changed at the moment; nothing of this request was stored, repeat it`,
    retryAfterSeconds: ({ retryAfterSeconds }) => retryAfterSeconds,
  }),
  CHANGE_BLOCKED: define({
    status: 503,
    when: 'Events of the Data Source wait and cannot be stored, so it cannot be changed. Nothing was changed; repeat it later.',
    message: ({ name }: RetryLater & { readonly name: string }) =>
      `Events of Data Source "${name}" wait and cannot be stored yet; nothing was changed, repeat it later`,
    retryAfterSeconds: ({ retryAfterSeconds }) => retryAfterSeconds,
  }),
  REPLAY_INTERRUPTED: define({
    status: 503,
    when: 'A replay of a quarantine stopped in its middle. It goes on by itself within a minute, with the next change of the Data Source, and at the next start; no row is lost or stored twice.',
    message: ({ reason }: RetryLater & { readonly reason: string }) =>
      `The replay was interrupted, and goes on by itself; no row is lost or stored twice: ${reason}`,
    retryAfterSeconds: ({ retryAfterSeconds }) => retryAfterSeconds,
  }),
  QUERIES_TOO_MANY: define({
    status: 503,
    when: 'Too many queries wait already, or this one waited for three times `queryTimeMaxMs`. It did not run; repeat it later.',
    message: () => 'Too many queries are waiting; this one did not run, repeat it later',
    retryAfterSeconds: ({ retryAfterSeconds }: RetryLater) => retryAfterSeconds,
  }),
  ...engineDefinitions,
  QUERY_REFUSED: define({
    status: 400,
    when: 'The database ended, more than once, while it ran this query, the last time with nothing beside it; or it could not stop the query. Other values of its parameters make no other query of it.',
    message: ({ reason }: { readonly reason: string }) => reason,
  }),
  SHUTTING_DOWN: define({
    status: 503,
    when: 'The service is closing and takes no new work. Nothing was stored; repeat it later.',
    message: () => 'The service is shutting down; nothing of this request was stored, repeat it later',
  }),
  ...bodyDefinitions,
  ...pipeDefinitions,
  ...variableDefinitions,
}

interface BytesLimit {
  readonly bytesMax: number
}

interface DataSourceUsers {
  readonly name: string
  readonly users: readonly string[]
  /** What to do about it, without a full stop. */
  readonly advice: string
}

interface RetryLater {
  readonly retryAfterSeconds: number
}

interface SchemaFault {
  readonly reason: string
  /** Counts from 1. */
  readonly line: number
  /** Counts from 1, in characters. */
  readonly column: number
}

interface PartitionFault {
  /** Names of the two data sources. */
  readonly source: string
  readonly target: string
  readonly reason: string
}

interface ParameterFault {
  readonly parameter: string
  readonly value: string
  /** Ends the sentence "must be …". */
  readonly expected: string
}
