// What service data sources tell of errors and jobs: neither values of rows, nor what callers send in bodies. Callers are answered with it.

import t from 'tap'
import { deleteRows, endedJob, jobIdOf } from '../support/api/job-calls.ts'
import { untilRows, writingRows } from '../support/api/service-rows.ts'
import { openTestService } from '../support/api/test-service.ts'

const stored = 'alice9f3'
const sent = 'hunter7c1'
const tables = [
  'pipe_stats_rt',
  'endpoint_errors',
  'datasources_ops_log',
  'jobs_log',
  'limits_log',
  'block_log',
] as const

const service = await openTestService(t, writingRows)
await service.create('people', 'email String, n UInt8')
await service.append('people', 'csv', `${stored},1\n`)
const templates = {
  failing: 'SELECT toUInt8(email) AS n FROM people',
  asking: "% SELECT {{Int32(n, 1)}} AS n, {{String(word, '')}} AS word",
  refusing:
    "% {% if defined(word) %}{{ error('No such user: ' + word + ' (' + word.upper() + ')') }}{% end %} SELECT 1 AS n",
  answering: "% {% if defined(word) %}{{ custom_error({'error': word}) }}{% end %} SELECT 1 AS n",
  thrown: "% SELECT throwIf(1, concat('no ', {{String(word, 'x')}})) AS n",
}
for (const [name, sql] of Object.entries(templates)) {
  const { status, text } = await service.call('POST', '/v0/pipes', {
    body: JSON.stringify({ name, nodes: [{ name: `${name}_node`, sql, type: 'endpoint' }] }),
  })
  if (status !== 200) throw new Error(`${name} answered ${status}: ${text}`)
}

t.test('errors of endpoints and queries tell their code, and what the engine calls them', async (t) => {
  const ask = async (path: string, body?: string): Promise<void> => {
    const answer = await service.call(body === undefined ? 'GET' : 'POST', path, body === undefined ? {} : { body })
    t.ok(answer.status >= 400, `${path} answers ${answer.status}`)
    t.match(answer.text, new RegExp(`${stored}|${sent}`, 'i'), `${path} answers with the value: ${answer.text}`)
  }
  await ask('/v0/pipes/failing.json')
  await ask('/v0/pipes/asking.json', `n=${sent}`)
  await ask('/v0/pipes/refusing.json', `word=${sent}`)
  await ask('/v0/pipes/answering.json', `word=${sent}`)
  await ask('/v0/sql', 'SELECT toUInt8(email) FROM people')
  await ask('/v0/sql', `SELECT ${sent}`)
  await ask('/v0/sql', `SELECT 1 FROM "${sent}"`)
  await ask('/v0/sql', `SELECT throwIf(1, '${sent}')`)
  await ask('/v0/sql', `SELECT toUInt8('${sent}')`)
  await ask('/v0/sql', `SELECT 1 ${sent} ${sent}`)
  const query = 'SELECT pipe_name, status_code, error FROM tinybird.endpoint_errors ORDER BY request_id'
  const rows = await untilRows(service, query, ({ length }) => length === 10)
  t.strictSame(rows, [
    ['failing', '400', 'SQL_INVALID (CANNOT_PARSE_TEXT)'],
    ['asking', '400', 'TEMPLATE_INVALID'],
    ['refusing', '400', 'TEMPLATE_INVALID'],
    ['answering', '400', 'TEMPLATE_INVALID'],
    ['query_api', '400', 'SQL_INVALID (CANNOT_PARSE_TEXT)'],
    ['query_api', '400', 'SQL_INVALID (UNKNOWN_IDENTIFIER)'],
    ['query_api', '400', 'SQL_INVALID'],
    ['query_api', '400', 'SQL_INVALID (FUNCTION_THROW_IF_VALUE_IS_NON_ZERO)'],
    ['query_api', '400', 'SQL_INVALID (CANNOT_PARSE_TEXT)'],
    ['query_api', '400', 'SQL_INVALID'],
  ])
})

t.test('jobs tell how they ended, and not what they were to do', async (t) => {
  const job = await service.call('POST', '/v0/sql?job=true', { body: 'SELECT toUInt8(email) FROM people' })
  t.match(await endedJob(service, jobIdOf(job)), { status: 'error', error: new RegExp(stored) })
  const thrown = await service.call('POST', '/v0/sql?job=true', { body: `SELECT throwIf(1, '${sent}')` })
  t.match(await endedJob(service, jobIdOf(thrown)), { status: 'error', error: new RegExp(sent) })
  t.match(await deleteRows(service, 'people', `email = '${sent}'`), {
    status: 'done',
    delete_condition: `email = '${sent}'`,
  })
  const query = `SELECT job_type, status, error, JSONExtractKeys(job_metadata) FROM tinybird.jobs_log ORDER BY job_type, error`
  const rows = await untilRows(
    service,
    query,
    (found) => found.filter(([, status]) => status !== 'working').length === 3,
  )
  t.strictSame(rows, [
    ['delete_data', 'done', '', "['rowsDeleted','datasource_id','datasource_name']"],
    ['query', 'error', 'SQL_INVALID (CANNOT_PARSE_TEXT)', '[]'],
    ['query', 'error', 'SQL_INVALID (FUNCTION_THROW_IF_VALUE_IS_NON_ZERO)', '[]'],
  ])
})

t.test('operations tell their code', async (t) => {
  const parameters = new URLSearchParams({
    name: 'people',
    mode: 'replace',
    format: 'csv',
    replace_condition: `nothing = '${sent}'`,
  })
  const replaced = await service.call('POST', `/v0/datasources?${parameters}`, { body: 'x,1\n' })
  t.equal(replaced.status, 400)
  const alter = { schema: `email String, n UInt8, more UInt8 DEFAULT toUInt8('${sent}')` }
  const altered = await service.call('POST', '/v0/datasources/people/alter', {
    body: new URLSearchParams(alter).toString(),
  })
  t.equal(altered.status, 400, altered.text)
  const query = `SELECT event_type, error FROM tinybird.datasources_ops_log WHERE result = 'error' ORDER BY event_type`
  const rows = await untilRows(service, query, ({ length }) => length >= 1)
  for (const [type, error] of rows) t.match(error, /^[A-Z_]+( \([A-Z_]+\))?$/, `${type}: ${error}`)
})

t.test('no row of any of them has the values', async (t) => {
  for (const name of tables) {
    const text = JSON.stringify(await service.rows(`SELECT * FROM tinybird.${name}`)).toLowerCase()
    for (const value of [stored, sent]) t.notOk(text.includes(value), `${name} tells nothing of ${value}`)
  }
})
