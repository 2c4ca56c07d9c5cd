import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { optionKeys } from '../../../src/config.ts'
import { ApiError, type ErrorCode, errors, errorTable } from '../../../src/shared/errors/errors.ts'
import { repositoryRoot } from '../../support/repository-root.ts'
import { madeConnectionErrors } from '../../support/shared/errors/made-connection-errors.ts'
import { madeDeleteErrors } from '../../support/shared/errors/made-delete-errors.ts'
import { madeImportErrors } from '../../support/shared/errors/made-import-errors.ts'
import { madeJobErrors } from '../../support/shared/errors/made-job-errors.ts'
import { madeRateErrors } from '../../support/shared/errors/made-rate-errors.ts'
import { madeReadErrors } from '../../support/shared/errors/made-read-errors.ts'
import { madeReceiptErrors } from '../../support/shared/errors/made-receipt-errors.ts'
import { madeTokenErrors } from '../../support/shared/errors/made-token-errors.ts'
import { madeUrlErrors } from '../../support/shared/errors/made-url-errors.ts'
import { madeViewErrors } from '../../support/shared/errors/made-view-errors.ts'

// One row a code, so that a code without a literal message here does not compile, and neither does one without a code.
const made: Readonly<Record<ErrorCode, readonly [ApiError, number, string]>> = {
  BODY_MISSING: [
    errors.BODY_MISSING(),
    400,
    'The request has no body: send rows, or a "schema" to create an empty Data Source',
  ],
  BODY_CORRUPT: [
    errors.BODY_CORRUPT({ format: 'gzip', reason: 'incorrect header check' }),
    400,
    'The body is not valid gzip: incorrect header check',
  ],
  ARCHIVE_UNSUPPORTED: [
    errors.ARCHIVE_UNSUPPORTED({ reason: 'it has no file' }),
    400,
    'The zip archive cannot be imported: it has no file',
  ],
  FIELDS_TOO_MANY: [
    errors.FIELDS_TOO_MANY({ fieldsMax: 10 }),
    400,
    'The body has more than 10 fields; send long lists as one comma-separated value or as one JSON array',
  ],
  CHUNKS_TOO_SMALL: [
    errors.CHUNKS_TOO_SMALL({ chunkBytesMin: 32 }),
    400,
    'The body arrives in thousands of chunks of less than 32 bytes; send larger chunks',
  ],
  COLUMNS_TOO_MANY: [
    errors.COLUMNS_TOO_MANY({ columnsMax: 500 }),
    400,
    'The rows need more than 500 columns; create the Data Source with a "schema" that has fewer',
  ],
  KEYS_TOO_MANY: [
    errors.KEYS_TOO_MANY({ keysMax: 100_000 }),
    400,
    'A record has more than 100000 keys, too many to guess columns from; create the Data Source with a "schema" first',
  ],
  NESTING_TOO_DEEP: [
    errors.NESTING_TOO_DEEP({ depthMax: 500 }),
    400,
    'The JSON is nested deeper than 500 levels; send flatter objects',
  ],
  ROWS_TOO_MANY: [
    errors.ROWS_TOO_MANY({ rowsMax: 1000, columnCount: 500 }),
    413,
    'The body has more than 1000 rows, the most at once for a Data Source of 500 columns; send fewer at a time, or import them',
  ],
  BODIES_TOO_MANY: [
    errors.BODIES_TOO_MANY({ ofAddress: true, retryAfterSeconds: 1 }),
    503,
    'Too many request bodies from your address are being received; nothing was done with this one, repeat it later',
  ],
  PARAMETER_LATE: [
    errors.PARAMETER_LATE({ parameter: 'mode' }),
    400,
    'Parameter "mode" comes after the file in the form, too late to take effect: send it before the file or in the URL',
  ],
  APPEND_UNSUPPORTED: [
    errors.APPEND_UNSUPPORTED({ name: 'prices' }),
    400,
    'Data Source "prices" has the engine Join, to which rows cannot be appended; use mode=replace',
  ],
  COLUMNS_MISSING: [
    errors.COLUMNS_MISSING({ name: 'visits', columns: ['a', 'b'] }),
    400,
    'The Parquet file has none of the columns of Data Source "visits"; it has a, b',
  ],
  CREATION_REFUSED: [
    errors.CREATION_REFUSED(),
    403,
    'Adding or modifying data sources to this workspace can only be done via deployments',
  ],
  PARQUET_TOO_LARGE: [
    errors.PARQUET_TOO_LARGE({ bytesMax: 5 * 1024 ** 3 }),
    413,
    'The Parquet file is larger than 5 GiB',
  ],
  PIPES_TOO_MANY: [
    errors.PIPES_TOO_MANY({ pipesMax: 2 }),
    400,
    'There are already 2 Pipes, the most a workspace can have; drop one first',
  ],
  NODES_MISSING: [
    errors.NODES_MISSING(),
    400,
    'A Pipe needs a query: send "sql", a JSON body with "nodes", or "from" with the name of another Pipe',
  ],
  NODES_TOO_MANY: [errors.NODES_TOO_MANY({ pipe: 'top', nodesMax: 2 }), 400, "Pipe 'top' can have at most 2 nodes"],
  PIPE_TOO_LONG: [
    errors.PIPE_TOO_LONG({ pipe: 'top', bytesMax: 1024 ** 2 }),
    400,
    "The nodes of Pipe 'top' have more than 1 MiB of SQL together",
  ],
  NODE_INVALID: [errors.NODE_INVALID({ node: 'a', reason: 'Unknown identifier' }), 400, "Node 'a': Unknown identifier"],
  NODE_TYPE_UNSUPPORTED: [
    errors.NODE_TYPE_UNSUPPORTED({ type: 'materialized' }),
    400,
    'Nodes of type "materialized" are not supported yet; use standard or endpoint',
  ],
  NODE_UNKNOWN: [errors.NODE_UNKNOWN({ pipe: 'top', node: 'x' }), 400, "Pipe 'top' has no node 'x'"],
  NODE_PUBLISHED: [
    errors.NODE_PUBLISHED({ pipe: 'top', node: 'x' }),
    400,
    "Node 'x' is published as an endpoint; unpublish it before you delete it",
  ],
  ENDPOINT_MISSING: [
    errors.ENDPOINT_MISSING({ pipe: 'top', node: 'x' }),
    400,
    "Node 'x' of Pipe 'top' is not published",
  ],
  PIPE_NOT_FOUND: [errors.PIPE_NOT_FOUND({ name: 'x' }), 404, "Pipe 'x' not found"],
  NODE_NOT_FOUND: [errors.NODE_NOT_FOUND({ pipe: 'top', node: 'x' }), 404, "Node 'x' of Pipe 'top' not found"],
  PIPE_EXISTS: [errors.PIPE_EXISTS({ name: 'x' }), 409, 'There is already a Pipe with name "x"'],
  PIPE_USED: [
    errors.PIPE_USED({ name: 'x', users: ['a', 'b'], advice: 'drop those first' }),
    409,
    'Pipe "x" is used by a, b; drop those first',
  ],
  NODE_EXISTS: [
    errors.NODE_EXISTS({ pipe: 'top', node: 'x' }),
    409,
    'There is already a node with name "x" in Pipe "top"',
  ],
  NODE_USED: [
    errors.NODE_USED({ name: 'x', users: ['y'], advice: 'change that first' }),
    409,
    'Node "x" is used by y; change that first',
  ],
  BODY_CUT: [errors.BODY_CUT(), 400, 'The connection ended before the body did'],
  REQUEST_INVALID: [
    errors.REQUEST_INVALID({ reason: 'bad escape in the path' }),
    400,
    'The request is not valid: bad escape in the path',
  ],
  PARAMETER_INVALID: [
    errors.PARAMETER_INVALID({ parameter: 'mode', value: 'x', expected: 'create, append or replace' }),
    400,
    'Parameter "mode" is "x", but must be create, append or replace',
  ],
  NAME_MISSING: [errors.NAME_MISSING(), 400, 'Parameter "name" is required'],
  VALUE_MISSING: [errors.VALUE_MISSING(), 400, 'Parameter "value" is required'],
  VALUE_TOO_LARGE: [
    errors.VALUE_TOO_LARGE({ name: 'key', bytesMax: 8192 }),
    400,
    'The value of variable "key" is larger than 8192 bytes',
  ],
  VARIABLES_TOO_MANY: [
    errors.VARIABLES_TOO_MANY({ variablesMax: 100 }),
    400,
    'There are already 100 variables, the most a workspace can have; delete one first',
  ],
  VARIABLE_NOT_FOUND: [errors.VARIABLE_NOT_FOUND({ isRead: true }), 404, 'Not found'],
  SECRET_UNREADABLE: [
    errors.SECRET_UNREADABLE({ name: 'key' }),
    503,
    "The secret 'key' cannot be read, because the key that encrypted it is missing; write its value anew",
  ],
  VARIABLE_EXISTS: [errors.VARIABLE_EXISTS({ name: 'key' }), 409, 'There is already a variable with name "key"'],
  NAME_INVALID: [
    errors.NAME_INVALID({ name: '1a', reason: 'it starts with a digit' }),
    400,
    '"1a" is not a valid name: it starts with a digit',
  ],
  SCHEMA_MISSING: [
    errors.SCHEMA_MISSING({ format: 'ndjson' }),
    400,
    'Parameter "schema" is required to create a Data Source from ndjson',
  ],
  SCHEMA_INVALID: [
    errors.SCHEMA_INVALID({ reason: 'unknown type "Strin"', line: 2, column: 7 }),
    400,
    'Wrong schema at line 2, column 7: unknown type "Strin"',
  ],
  INDEX_INVALID: [errors.INDEX_INVALID({ reason: "Index 'i' has no TYPE" }), 400, "Wrong index: Index 'i' has no TYPE"],
  ALTER_REFUSED: [
    errors.ALTER_REFUSED({ name: 'visits', reason: "column 'a' is Int32 and cannot become Int64" }),
    400,
    'Data Source "visits" cannot be altered: column \'a\' is Int32 and cannot become Int64',
  ],
  REPLAY_INVALID: [
    errors.REPLAY_INVALID({ reason: "condition has ')' that closes nothing" }),
    400,
    "The replay cannot run: condition has ')' that closes nothing",
  ],
  REPLAY_INTERRUPTED: [
    errors.REPLAY_INTERRUPTED({ reason: 'the disk is full', retryAfterSeconds: 1 }),
    503,
    'The replay was interrupted and resumes by itself; no row is lost or stored twice: the disk is full',
  ],
  CHANGE_EMPTY: [
    errors.CHANGE_EMPTY({ expected: '"name" or "description"' }),
    400,
    'There were no operations to perform: send "name" or "description" with a new value',
  ],
  DATASOURCE_USED: [
    errors.DATASOURCE_USED({
      name: 'visits',
      users: ['daily', 'hourly'],
      advice: 'drop those first, or use force=true',
    }),
    409,
    'Data Source "visits" is used by daily, hourly; drop those first, or use force=true',
  ],
  SCHEMA_UNKNOWN: [
    errors.SCHEMA_UNKNOWN({ name: 'visits' }),
    400,
    'Data Source "visits" does not exist, and the events hold no JSON object to create it from',
  ],
  REPLACE_CONDITION_FAILED: [
    errors.REPLACE_CONDITION_FAILED({ reason: "Cannot parse string 'x' as UInt8" }),
    400,
    'Parameter "replace_condition" cannot be used: Cannot parse string \'x\' as UInt8',
  ],
  REPLACE_CONDITION_INVALID: [
    errors.REPLACE_CONDITION_INVALID({ reason: 'it must speak of day' }),
    400,
    'Parameter "replace_condition" cannot be used: it must speak of day',
  ],
  REPLACE_PARTITIONS_DIFFER: [
    errors.REPLACE_PARTITIONS_DIFFER({ source: 'a', target: 'b', reason: 'the second is by country' }),
    400,
    'The partition keys of "a" and of "b", which is computed from it, are not compatible: the second is by country; nothing was replaced',
  ],
  REPLACE_EMPTY: [
    errors.REPLACE_EMPTY({ name: 'visits' }),
    400,
    'No row fits Data Source "visits", so its content was not replaced; the reasons are in its quarantine',
  ],
  IMPORT_VIEW_FAILED: [
    errors.IMPORT_VIEW_FAILED({ reason: 'no such column' }),
    422,
    'A Materialized View failed, so the import ended early; the counted rows are stored, but this view has not taken them; do not send them again. The field views_behind of the Data Source tells whether they are kept for the view: no such column',
  ],
  PARTITIONS_TOO_MANY: [
    errors.PARTITIONS_TOO_MANY({ scope: 'table', partitionsMax: 40 }),
    400,
    'The Data Source would have more than 40 partitions, so the import ended early; the counted rows are stored. Use a coarser partition key, or raise --partitions-max',
  ],
  ...madeConnectionErrors,
  ...madeImportErrors,
  ...madeDeleteErrors,
  ...madeRateErrors,
  ...madeTokenErrors,
  ...madeJobErrors,
  ...madeViewErrors,
  ...madeReadErrors,
  ...madeReceiptErrors,
  ...madeUrlErrors,
  REPLACE_VIEW_FAILED: [
    errors.REPLACE_VIEW_FAILED({ view: 'daily', reason: 'no such column' }),
    422,
    'Materialized View "daily" fails for the new rows, so nothing was replaced: no such column',
  ],
  DATASOURCE_BUSY: [
    errors.DATASOURCE_BUSY({ name: 'visits', what: 'replaced' }),
    409,
    'Data Source "visits" is being replaced; nothing was changed, repeat it later',
  ],
  VIEW_FAILED: [
    errors.VIEW_FAILED({ reason: 'no such column' }),
    422,
    'A Materialized View failed; the events are kept and stored as soon as it works, so do not send them again: no such column',
  ],
  IDEMPOTENCY_KEY_REUSED: [
    errors.IDEMPOTENCY_KEY_REUSED(),
    422,
    'This Idempotency-Key was used with another body within the last 5 hours; nothing was stored',
  ],
  DISK_FAILED: [
    errors.DISK_FAILED({ reason: 'the disk is full', storedRows: 3, quarantinedRows: 1 }),
    500,
    'The disk failed during the import: the disk is full. Rows known to be stored: 3, in quarantine: 1. Sending the whole body again stores them twice: delete them first, or send it as a replace',
  ],
  LOG_FAILED: [
    errors.LOG_FAILED(),
    500,
    'The disk failed while the events were being written, and may have stored them: send them again with the same Idempotency-Key, or they may be stored twice',
  ],
  DISK_UNAVAILABLE: [
    errors.DISK_UNAVAILABLE({ reason: 'the disk is full', retryAfterSeconds: 2 }),
    503,
    'The disk cannot be written: the disk is full; nothing of this request was stored, repeat it later',
  ],
  VIEW_BLOCKS: [
    errors.VIEW_BLOCKS({ reason: 'no such column', retryAfterSeconds: 3 }),
    503,
    'A Materialized View fails for earlier events; nothing of this request was stored, repeat it later: no such column',
  ],
  CHANGE_BLOCKED: [
    errors.CHANGE_BLOCKED({ name: 'visits', retryAfterSeconds: 1 }),
    503,
    'Events of Data Source "visits" are waiting and cannot be stored yet; nothing was changed, repeat it later',
  ],
  SAMPLE_MISSING: [
    errors.SAMPLE_MISSING(),
    400,
    'There is nothing to analyze: send CSV or NDJSON as the body, or as the file of a multipart form',
  ],
  SAMPLE_EMPTY: [
    errors.SAMPLE_EMPTY({ format: 'csv' }),
    400,
    'There is no row to guess the columns from: send CSV with a header or rows, or the parameter "schema"',
  ],
  ENGINE_INVALID: [
    errors.ENGINE_INVALID({ reason: 'unknown engine "Tree"' }),
    400,
    'Wrong engine: unknown engine "Tree"',
  ],
  DATASOURCES_TOO_MANY: [
    errors.DATASOURCES_TOO_MANY({ dataSourcesMax: 10_000 }),
    400,
    'There are already 10000 Data Sources, the most a workspace can have; drop one first',
  ],
  FORMAT_UNSUPPORTED: [
    errors.FORMAT_UNSUPPORTED({ format: 'xml', supported: ['csv', 'ndjson'] }),
    400,
    'Format "xml" is not supported; use one of csv, ndjson',
  ],
  SQL_EMPTY: [errors.SQL_EMPTY(), 400, 'The query is empty: send SQL in the parameter "q" or as the body'],
  SQL_TOO_LONG: [errors.SQL_TOO_LONG({ bytesMax: 131_072 }), 400, 'The query is longer than 128 KiB'],
  SQL_INVALID: [errors.SQL_INVALID({ reason: 'Unknown column x' }), 400, 'Unknown column x'],
  SQL_TOO_COMPLEX: [
    errors.SQL_TOO_COMPLEX({ reason: 'it reads too much', node: 'daily' }),
    400,
    "The query is too complex: it reads too much (in node 'daily')",
  ],
  DEFINITION_TOO_COSTLY: [
    errors.DEFINITION_TOO_COSTLY({ reason: 'it was not computed within 10 s' }),
    400,
    'A DEFAULT, a key, a TTL or an index has a constant part that costs too much to compute: it was not computed within 10 s. Write its value instead',
  ],
  PIPE_UNKNOWN: [errors.PIPE_UNKNOWN({ name: 'daily' }), 404, "The pipe 'daily' does not exist"],
  PIPE_UNPUBLISHED: [
    errors.PIPE_UNPUBLISHED({ name: 'daily' }),
    404,
    "The pipe 'daily' does not have an endpoint yet: publish one of its nodes",
  ],
  EXPLAIN_EMPTY: [
    errors.EXPLAIN_EMPTY({ name: 'daily' }),
    400,
    "No node could be found to explain in the pipe 'daily'",
  ],
  TEMPLATE_INVALID: [
    errors.TEMPLATE_INVALID({ message: 'Template Syntax Error: invalid syntax', answer: null }),
    400,
    'Template Syntax Error: invalid syntax',
  ],
  RESULT_TOO_LARGE: [
    errors.RESULT_TOO_LARGE({ bytesMax: 104_857_600 }),
    400,
    'The result is larger than 100 MiB; select less, or use LIMIT',
  ],
  DATASOURCE_NOT_FOUND: [errors.DATASOURCE_NOT_FOUND({ name: 'x' }), 404, 'Data Source "x" does not exist'],
  NOT_FOUND: [errors.NOT_FOUND({ path: '/v1' }), 404, 'There is nothing at "/v1"'],
  METHOD_NOT_ALLOWED: [
    errors.METHOD_NOT_ALLOWED({ method: 'PATCH', allowed: ['GET', 'POST'] }),
    405,
    'Method PATCH is not allowed here; use GET or POST',
  ],
  QUERY_TIMEOUT: [
    errors.QUERY_TIMEOUT({ timeMaxMs: 10_000 }),
    408,
    'The query ran longer than 10 seconds and was stopped',
  ],
  BODY_STALLED: [errors.BODY_STALLED({ idleMsMax: 120_000 }), 408, 'No byte of the body arrived for 120 seconds'],
  DATASOURCE_EXISTS: [errors.DATASOURCE_EXISTS({ name: 'x' }), 409, 'There is already a Data Source with name "x"'],
  PAYLOAD_TOO_LARGE: [
    errors.PAYLOAD_TOO_LARGE({ bytesMax: 10_000_000 }),
    413,
    'The body is larger than 10000000 bytes',
  ],
  RECORD_TOO_LARGE: [errors.RECORD_TOO_LARGE({ bytesMax: 16_777_216 }), 413, 'A record is longer than 16 MiB'],
  DECOMPRESSED_TOO_LARGE: [
    errors.DECOMPRESSED_TOO_LARGE({ bytesMax: 34_359_738_368 }),
    413,
    'The body is larger than 32 GiB when unpacked',
  ],
  ENCODING_UNSUPPORTED: [
    errors.ENCODING_UNSUPPORTED({ encoding: 'br', supported: ['gzip', 'zstd'] }),
    415,
    'Content-Encoding "br" is not supported; use one of gzip, zstd',
  ],
  ENGINE_FAILED: [
    errors.ENGINE_FAILED(),
    500,
    'The database failed; the log of the service has the reason under the id of this request',
  ],
  INTERNAL: [
    errors.INTERNAL(),
    500,
    'Unexpected error; the log of the service has the reason under the id of this request',
  ],
  DATASOURCE_CHANGING: [
    errors.DATASOURCE_CHANGING({ name: 'visits', retryAfterSeconds: 1 }),
    503,
    'Data Source "visits" is being changed; nothing of this request was stored, repeat it',
  ],
  BACKLOG_FULL: [
    errors.BACKLOG_FULL({ retryAfterSeconds: 3 }),
    503,
    'Too many events are waiting to be stored; nothing of this request was stored, repeat it later',
  ],
  LOG_FULL: [
    errors.LOG_FULL({ retryAfterSeconds: 2 }),
    503,
    'Events are refused: the log of events is at its limit, and what it holds cannot be stored',
  ],
  CHANGES_TOO_MANY: [
    errors.CHANGES_TOO_MANY({ retryAfterSeconds: 1 }),
    503,
    'Too many changes are waiting; nothing was changed, repeat it later',
  ],
  QUERIES_TOO_MANY: [
    errors.QUERIES_TOO_MANY({ retryAfterSeconds: 1 }),
    503,
    'Too many queries are waiting; this one did not run, repeat it later',
  ],
  ENGINE_RESTARTED: [
    errors.ENGINE_RESTARTED(),
    503,
    'The database stopped before it answered and is restarting; repeat a query, but check what a change has done before you repeat it',
  ],
  ENGINE_UNAVAILABLE: [
    errors.ENGINE_UNAVAILABLE({ reason: 'it gives no sign of life for 7 s' }),
    503,
    'The database does not answer: it gives no sign of life for 7 s; repeat it later',
  ],
  QUERY_REFUSED: [errors.QUERY_REFUSED({ reason: 'It is refused' }), 400, 'It is refused'],
  RESULTS_UNREAD: [
    errors.RESULTS_UNREAD({ reason: '256 answers wait for their clients to read them', retryAfterSeconds: 5 }),
    503,
    'There is no room for the answer: 256 answers wait for their clients to read them; repeat the query later',
  ],
  SHUTTING_DOWN: [
    errors.SHUTTING_DOWN(),
    503,
    'The service is shutting down; nothing of this request was stored, repeat it later',
  ],
}

for (const [code, [error, status, message]] of Object.entries(made)) {
  t.test(`${code} is told with its status and its message`, async (t) => {
    t.ok(error instanceof ApiError)
    t.ok(error instanceof Error)
    t.match(error, { name: 'ApiError', code, status, message })
    t.match(error.body(), { error: message, documentation: `docs/errors.md#${code.toLowerCase()}` })
    const [page = '', anchor = ''] = error.documentation.split('#')
    const places = readFileSync(join(repositoryRoot, page), 'utf8').split(`<a id="${anchor}"></a>\`${code}\``)
    t.equal(places.length, 2, 'the page has the code once, where the link leads')
  })
}

t.test('an error keeps its cause and does not tell it', async (t) => {
  const cause = new Error('Code: 47. DB::Exception')
  const error = errors.SQL_INVALID({ reason: 'Unknown column', cause })
  t.equal(error.cause, cause)
  t.same(Object.keys(error.body()), ['error', 'documentation'])
  t.same(Object.keys(errors.SCHEMA_MISSING({ format: 'ndjson' }).body()), ['error', 'documentation', 'hint'])
  t.equal(errors.ENGINE_FAILED({ cause }).cause, cause)
  t.notOk('cause' in errors.ENGINE_FAILED())
})

t.test('only an error that passes by itself says when to come back', async (t) => {
  t.equal(errors.BACKLOG_FULL({ retryAfterSeconds: 3 }).retryAfterSeconds, 3)
  t.equal(errors.TOKEN_INVALID().retryAfterSeconds, undefined)
})

t.test('an error has the stack of the place that raised it', async (t) => {
  t.match(errors.TOKEN_INVALID().stack, /errors\.test/)
})

t.test('the table names no option that does not exist', async (t) => {
  const named = errorTable.flatMap(({ when }) => when.match(/`[a-z]+[A-Z]\w*`/g) ?? [])
  t.ok(named.length > 0)
  for (const name of named)
    t.ok(
      optionKeys.some((key) => `\`${key}\`` === name),
      `${name} is an option`,
    )
})
