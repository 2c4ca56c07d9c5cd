import { Buffer } from 'node:buffer'
import { gzipSync } from 'node:zlib'
import t from 'tap'
import { type Call, openTestService } from '../support/api/test-service.ts'

// Every 400 of data sources that no other test of the API brings about, each with the words that a person gets.

const service = await openTestService(t)
await service.create('kept', 'a Int32, b String')
const join = { engine: 'Join', engine_join_strictness: 'ANY', engine_join_type: 'LEFT', engine_key_columns: 'a' }
await service.create('joined', 'a Int32, b String', join)

const schema = encodeURIComponent('a Int32')

function form(fields: Readonly<Record<string, string | Blob>>): FormData {
  const made = new FormData()
  for (const [name, value] of Object.entries(fields)) made.append(name, value)
  return made
}

const rows = new Blob(['1,x\n'])
const large = new Blob([Buffer.alloc(2 * 1024 * 1024, '1,x\n')])
const json = { 'content-type': 'application/json' }

interface Refused extends Call {
  readonly method?: string
  readonly path: string
  readonly code: string
  readonly error: string
}

const imports: readonly Refused[] = [
  {
    path: '?name=new',
    code: 'body_missing',
    error: 'The request has no body: send rows, or a "schema" to create an empty Data Source',
  },
  {
    path: '?name=kept&mode=replace',
    code: 'body_missing',
    error: 'The request has no body: send rows, or a "schema" to create an empty Data Source',
  },
  {
    path: '?dry=true',
    code: 'body_missing',
    error: 'The request has no body: send rows, or a "schema" to create an empty Data Source',
  },
  { path: '?mode=append', body: '1,x\n', code: 'name_missing', error: 'Parameter "name" is required' },
  { path: '?mode=replace', body: '1,x\n', code: 'name_missing', error: 'Parameter "name" is required' },
  {
    path: '?name=new&mode=upsert',
    body: '1,x\n',
    code: 'parameter_invalid',
    error: 'Parameter "mode" is "upsert", but must be create or append or replace',
  },
  {
    path: '?name=new&progress=maybe',
    body: '1,x\n',
    code: 'parameter_invalid',
    error: 'Parameter "progress" is "maybe", but must be true or false',
  },
  {
    path: '?name=new&debug=blocks,all',
    body: '1,x\n',
    code: 'parameter_invalid',
    error: 'Parameter "debug" is "all", but must be a list of blocks, block_log, hook_log',
  },
  {
    path: '?name=new&url=http%3A%2F%2Flocalhost%2Frows.csv',
    code: 'url_refused',
    error:
      'The URL http://localhost/rows.csv is refused: only https is allowed; the option --url-allow-http allows http',
  },
  {
    path: '?name=new&dialect_new_line=x',
    body: '1,x\n',
    code: 'parameter_invalid',
    error: 'Parameter "dialect_new_line" is "x", but must be \\n, \\r\\n or \\r',
  },
  {
    path: '?name=new&dialect_delimiter=ab',
    body: '1,x\n',
    code: 'parameter_invalid',
    error: 'Parameter "dialect_delimiter" is "ab", but must be one character, or \\t for a tab',
  },
  {
    path: '?name=new&dialect_escapechar=%C3%A9',
    body: '1,x\n',
    code: 'parameter_invalid',
    error: 'Parameter "dialect_escapechar" is "é", but must be one ASCII character',
  },
  {
    path: '?name=kept&mode=append&replace_condition=a%3D1',
    body: '1,x\n',
    code: 'parameter_invalid',
    error: 'Parameter "replace_condition" is "a=1", but must be absent without mode=replace',
  },
  {
    path: '?name=new&format=xml',
    body: '1,x\n',
    code: 'format_unsupported',
    error: 'Format "xml" is not supported; use one of csv, ndjson, parquet',
  },
  {
    path: '?name=new&format=ndjson',
    body: '{"a":1}\n',
    code: 'schema_missing',
    error: 'Parameter "schema" is required to create a Data Source from ndjson',
  },
  {
    path: '?name=new&mode=append&format=ndjson',
    body: '{"a":1}\n',
    code: 'schema_missing',
    error: 'Data Source "new" does not exist, and parameter "schema" is required to create it from ndjson',
  },
  {
    path: '?name=new&schema=a%20Int33',
    code: 'schema_invalid',
    error: "Wrong schema at line 1, column 3: Unknown type 'Int33'",
  },
  {
    path: '?name=new&schema=',
    body: '\n',
    code: 'sample_empty',
    error: 'There is no row to guess the columns from: send CSV with a header or rows, or the parameter "schema"',
  },
  {
    path: '?name=new&engine=MergeTree',
    body: '1,x\n',
    code: 'engine_invalid',
    error: 'Wrong engine: an engine needs the parameter "schema" beside it',
  },
  {
    path: '?name=new&indexes=x%20a%20TYPE%20minmax',
    body: '1,x\n',
    code: 'index_invalid',
    error: 'Wrong index: indexes need the parameter "schema" beside them',
  },
  {
    path: `?name=1new&schema=${schema}`,
    code: 'name_invalid',
    error: '"1new" is not a valid name: it must begin with a letter and hold only letters, digits and underscores',
  },
  {
    path: '?name=kept&mode=append',
    body: form({ csv: rows, more: rows }),
    code: 'request_invalid',
    error: 'The request is not valid: a form may have only one file',
  },
  {
    path: '?name=kept&mode=append&format=csv',
    body: form({ csv: large, type_guessing: 'false' }),
    code: 'parameter_late',
    error:
      'Parameter "type_guessing" comes after the file in the form, too late to take effect: send it before the file or in the URL',
  },
  {
    path: '?name=kept&mode=append',
    body: 'no form',
    headers: { 'content-type': 'multipart/form-data' },
    code: 'body_corrupt',
    error: 'The body is not valid multipart form: Multipart: Boundary not found',
  },
  {
    path: '?name=kept&mode=append',
    body: gzipSync('1,x\n').subarray(0, 15),
    code: 'body_corrupt',
    error: 'The body is not valid gzip: unexpected end of file',
  },
  {
    path: '?name=kept&mode=append',
    body: Buffer.from('PK\u0003\u0004 and no more'),
    code: 'body_corrupt',
    error: 'The body is not valid zip archive: it ends before its directory does',
  },
  {
    path: '?name=joined&mode=append',
    body: '1,x\n',
    code: 'append_unsupported',
    error: 'Data Source "joined" has the engine Join, to which rows cannot be appended; use mode=replace',
  },
]

const changes: readonly Refused[] = [
  {
    method: 'PUT',
    path: '/kept',
    code: 'change_empty',
    error: 'There were no operations to perform: send "name", "description" or "version" with a new value',
  },
  {
    path: '/kept/alter',
    code: 'change_empty',
    error:
      'There were no operations to perform: send "schema", "description", "ttl", "indexes" or "kafka_store_raw_value" with a new value',
  },
  {
    path: '/kept/alter',
    body: form({ csv: rows }),
    code: 'request_invalid',
    error: 'The request is not valid: there is a file in the form, which is not used here',
  },
  {
    path: '/kept/alter',
    body: '{"description":["x"]}',
    headers: json,
    code: 'request_invalid',
    error: 'The request is not valid: "description" must be a text, number or boolean',
  },
  {
    path: '/kept/alter',
    body: '{"description":',
    headers: json,
    code: 'body_corrupt',
    error: 'The body is not valid JSON: Unexpected end of JSON input',
  },
  {
    path: '/kept/alter?schema=a%20Int32',
    code: 'alter_refused',
    error: `Data Source "kept" cannot be altered: column 'b' is missing`,
  },
  {
    path: '/kept/quarantine/replay',
    body: '{"fixes":{"z":"1"}}',
    headers: json,
    code: 'replay_invalid',
    error: "The replay cannot run: there is a fix for 'z', which is not a column of the Data Source",
  },
  {
    path: '/joined/quarantine/replay',
    code: 'replay_invalid',
    error: 'The replay cannot run: the engine Join takes no single rows',
  },
]

t.test('each refusal of an import has its words, and nothing comes of it', async (t) => {
  for (const { path, code, error, ...call } of imports) {
    const answer = await service.call('POST', `/v0/datasources${path}`, call)
    t.match(
      answer,
      { status: 400, json: { error, documentation: `docs/errors.md#${code}` } },
      `${path}: ${answer.text}`,
    )
  }
  t.match((await service.call('GET', '/v0/datasources?attrs=name')).json, {
    datasources: [{ name: 'kept' }, { name: 'joined' }],
  })
})

t.test('each refusal of a change has its words', async (t) => {
  for (const { method = 'POST', path, code, error, ...call } of changes) {
    const answer = await service.call(method, `/v0/datasources${path}`, call)
    t.match(
      answer,
      { status: 400, json: { error, documentation: `docs/errors.md#${code}` } },
      `${path}: ${answer.text}`,
    )
  }
})

t.test('what cannot be analyzed, or made of events, is told', async (t) => {
  const cases: readonly (readonly [path: string, body: string | undefined, error: string])[] = [
    [
      '/v0/analyze',
      undefined,
      'There is nothing to analyze: send CSV or NDJSON as the body, or as the file of a multipart form',
    ],
    ['/v0/analyze?format=ndjson', '[]\n', 'There is no JSON object to guess the columns from: send one object a line'],
    [
      '/v0/events?name=new',
      '[]\n',
      'Data Source "new" does not exist, and the events hold no JSON object to create it from',
    ],
    ['/v0/events', '{"a":1}\n', 'Parameter "name" is required'],
  ]
  for (const [path, body, error] of cases) {
    const answer = await service.call('POST', path, body === undefined ? {} : { body })
    t.match(answer, { status: 400, json: { error } }, answer.text)
  }
})
