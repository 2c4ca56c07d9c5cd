import t from 'tap'
import { untilRows, writingRows } from '../support/api/service-rows.ts'
import { openTestService } from '../support/api/test-service.ts'
import { VerifyCalls } from '../support/api/verify-calls.ts'

t.test('what a service does is told', async (t) => {
  const service = await openTestService(t, writingRows)

  t.test('what is done to data sources is told, and what fails', async (t) => {
    await service.create('visits', 'n UInt8 `json:$.n`, page String `json:$.page`')
    const id = await service.idOf('visits')
    const sent = await service.append(
      'visits',
      'ndjson',
      '{"n":1,"page":"a"}\n{"n":"x","page":"b"}\n{"n":3,"page":"c"}\n',
    )
    const importId = (sent.json as { readonly import_id: string }).import_id
    await service.events('visits', '{"n":4,"page":"d"}\n{"n":"y","page":"e"}', { wait: 'true' })
    await service.append('visits', 'csv', '9,z\n')
    await service.call('POST', '/v0/datasources?mode=replace&name=visits&format=ndjson', { body: '{"n":7,"page":"f"}' })
    await service.call('PUT', '/v0/datasources/visits?name=views')
    await service.call('POST', '/v0/datasources/views/alter', { body: 'description=of pages' })
    await service.call('POST', '/v0/datasources/views/truncate')
    await service.call('POST', '/v0/datasources/views/alter', { body: `ttl=${encodeURIComponent('nothing + 1')}` })
    await service.call('DELETE', '/v0/datasources/views')

    const query = `SELECT event_type, datasource_name, result, rows, rows_quarantine, error != '' FROM tinybird.datasources_ops_log
      WHERE datasource_id = '${id}' ORDER BY timestamp, event_type`
    const rows = await untilRows(service, query, (found) => found.some(([type]) => type === 'delete'))
    t.strictSame([...rows].sort(), [
      ['alter', 'views', 'error', '0', '0', '1'],
      ['alter', 'views', 'ok', '0', '0', '0'],
      ['append', 'visits', 'ok', '1', '0', '0'],
      ['append', 'visits', 'ok', '2', '1', '0'],
      ['append-hfi', 'visits', 'ok', '1', '1', '0'],
      ['create', 'visits', 'ok', '0', '0', '0'],
      ['delete', 'views', 'ok', '0', '0', '0'],
      ['rename', 'views', 'ok', '0', '0', '0'],
      ['replace', 'visits', 'ok', '1', '0', '0'],
      ['truncate', 'views', 'ok', '0', '0', '0'],
    ])
    const told = `SELECT import_id, length(request_id), elapsed_time > 0, Options.Names, Options.Values
      FROM tinybird.datasources_ops_log WHERE import_id = '${importId}'`
    t.strictSame(await service.rows(told), [[importId, '26', '1', "['format']", "['ndjson']"]])
    const blocks = `SELECT status, source, parser, rows, quarantine_lines, bytes FROM tinybird.block_log WHERE import_id = '${importId}'`
    t.strictSame(await service.rows(blocks), [['done', 'body', 'ndjson', '3', '1', '59']])
    const perHour = `SELECT event_type, count() AS operations, sum(rows) AS rows, countIf(result = 'error') AS errors
      FROM tinybird.datasources_ops_log WHERE timestamp > now() - INTERVAL 1 HOUR GROUP BY event_type ORDER BY operations DESC,
      event_type DESC LIMIT 2`
    t.strictSame(await service.rows(perHour), [
      ['append', '2', '3', '0'],
      ['alter', '2', '0', '1'],
    ])
  })

  t.test('a job has one row, with the status that it has', async (t) => {
    await service.create('hits', 'n UInt8')
    await service.append('hits', 'csv', '1\n2\n3\n')
    const body = `delete_condition=${encodeURIComponent('n > 1')}`
    const { json } = await service.call('POST', '/v0/datasources/hits/delete', { body })
    const { job_id: id } = json as { readonly job_id: string }
    const query = `SELECT job_type, status, started_at >= created_at, JSONExtractString(job_metadata, 'datasource_name')
      FROM tinybird.jobs_log WHERE job_id = '${id}'`
    const rows = await untilRows(service, query, (found) => found[0]?.[1] === 'done')
    t.strictSame(rows, [['delete_data', 'done', '1', 'hits']])
    const operation = `SELECT event_type, result, rows FROM tinybird.datasources_ops_log WHERE job_id = '${id}'`
    t.strictSame(await untilRows(service, operation), [['delete_data', 'ok', '2']])
    t.strictSame(await service.rows(`SELECT count() FROM tinybird.jobs_log AS j WHERE j.job_id = '${id}'`), [['1']])
  })

  t.test('what views make and do is told, and why they fail', async (t) => {
    const calls = new VerifyCalls(service)
    await calls.source('sales', 'day Date, v UInt64')
    await calls.fill('sums', "SELECT day, throwIf(v = 7, 'seven')::UInt64 AS v FROM sales", { datasource: 'in_sums' })
    await service.events('sales', '{"day":"2026-01-01","v":7}', { wait: 'true' })
    await service.call('POST', '/v0/pipes/sums/nodes/sums_view/catch_up')
    await calls.fill('other', "SELECT day, throwIf(v = 7, 'seven')::UInt64 AS v FROM sales", { datasource: 'in_other' })
    await calls.repair('other')
    const populate = await service.call('POST', '/v0/pipes/other/nodes/other_view/population')
    await calls.ended((populate.json as { readonly job: { readonly id: string } }).job.id)
    const told = `SELECT event_type, datasource_name, result, error FROM tinybird.datasources_ops_log
      WHERE datasource_name IN ('sales', 'in_sums', 'in_other') AND event_type != 'populateview-queued' ORDER BY ALL`
    const rows = await untilRows(service, told, (found) => found.some(([type]) => type === 'populateview'))
    const threw = 'FUNCTION_THROW_IF_VALUE_IS_NON_ZERO'
    t.match(rows, [
      ['append-hfi', 'sales', 'error', new RegExp(`^A Materialized View failed; .*: ${threw}$`)],
      ['append-hfi', 'sales', 'ok', ''],
      ['create', 'in_other', 'ok', ''],
      ['create', 'in_sums', 'ok', ''],
      ['create', 'sales', 'ok', ''],
      [
        'populateview',
        'in_other',
        'error',
        new RegExp(`^Materialized View other_view cannot be populated: ${threw}; .*relink links it again$`),
      ],
      ['repairview', 'in_other', 'error', `Materialized View other_view cannot be repaired: ${threw}`],
    ])
  })

  t.test('changes of tokens and refusals by limits are told, without values', async (t) => {
    const { json } = await service.call('POST', '/v0/tokens?name=reader&scope=PIPES:CREATE')
    const { token, id } = json as { readonly token: string; readonly id: string }
    await service.call('DELETE', `/v0/tokens/${id}`)
    const changes = `SELECT event_type, token, token_name, editor_name, scopes FROM tinybird.tokens_log WHERE token_name = 'reader' ORDER BY event_type`
    const rows = await untilRows(service, changes, (found) => found.length === 2)
    t.strictSame(rows, [
      ['created', id, 'reader', 'workspace admin token', "['PIPES:CREATE']"],
      ['removed', id, 'reader', 'workspace admin token', "['PIPES:CREATE']"],
    ])
    t.notOk(JSON.stringify(await service.rows('SELECT * FROM tinybird.tokens_log')).includes(token))
    await service.call('POST', '/v0/sql', { body: `SELECT '${'x'.repeat(131_072)}'` })
    const limits = 'SELECT limit_name, error_code, status_code, token_name FROM tinybird.limits_log'
    t.strictSame(await untilRows(service, limits), [['sql_length', 'SQL_TOO_LONG', '400', 'workspace admin token']])
  })

  t.test('of a token with many scopes those that reach furthest are told, and how many there are more', async (t) => {
    const ofOne = Array.from({ length: 12 }, (_, number) => `DATASOURCES:CREATE:future_${number}`)
    const scopes = [...ofOne, 'DATASOURCES:READ', 'TOKENS', 'ADMIN']
    const parameters = new URLSearchParams({ name: 'of everything' })
    for (const scope of scopes) parameters.append('scope', scope)
    t.equal((await service.call('POST', `/v0/tokens?${parameters}`)).status, 200)
    const query = "SELECT arrayStringConcat(scopes, ' ') FROM tinybird.tokens_log WHERE token_name = 'of everything'"
    const expected = ['ADMIN', 'TOKENS', 'DATASOURCES:READ', ...ofOne.slice(0, 7), 'and 5 more']
    t.strictSame(await untilRows(service, query), [[expected.join(' ')]])
  })
})
