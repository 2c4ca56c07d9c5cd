import t from 'tap'
import { filledTables, untilRows, writingRows } from '../support/api/service-rows.ts'
import { openTestService, type TestService } from '../support/api/test-service.ts'
import { createTestDirectory } from '../support/store/test-store.ts'

const empty = [
  'kafka_ops_log',
  'sinks_ops_log',
  'bi_stats_rt',
  'bi_stats',
  'data_transfer',
  'llm_usage',
  'datasources_ops_stats',
]
async function createPipe(service: TestService, name: string, sql: string) {
  const nodes = [{ name: `${name}_node`, sql, type: 'endpoint' }]
  return await service.call('POST', '/v0/pipes', { body: JSON.stringify({ name, nodes }) })
}

/** Gives the token. */
async function createToken(service: TestService, name: string, ...scopes: readonly string[]): Promise<string> {
  const parameters = new URLSearchParams({ name })
  for (const scope of scopes) parameters.append('scope', scope)
  const { json } = await service.call('POST', `/v0/tokens?${parameters}`)
  // The shape of the answer is what other tests check.
  return (json as { readonly token: string }).token
}

t.test('service data sources have columns and no rows where they are switched off', async (t) => {
  const service = await openTestService(t)
  for (const name of [...filledTables, 'datasources_storage', ...empty]) {
    t.strictSame(await service.rows(`SELECT count() FROM tinybird.${name}`), [['0']], name)
    t.strictSame(await service.rows(`SELECT * FROM tinybird.${name} AS log LIMIT 1`), [], name)
  }
  const exporter = `SELECT w.name, sum(s.rows) FROM organization.datasources_storage AS s
    JOIN organization.workspaces AS w ON w.workspace_id = s.workspace_id
    JOIN organization.pipe_stats_rt AS p ON p.workspace_id = w.workspace_id
    JOIN organization.jobs_log AS j ON j.workspace_id = w.workspace_id GROUP BY w.name`
  t.strictSame(await service.rows(exporter), [], 'and so have those of the organization')
  t.strictSame(await service.rows('SELECT Options.Names FROM tinybird.datasources_ops_log'), [])
  const unknown = await service.call('POST', '/v0/sql', { body: 'SELECT 1 FROM tinybird.nothing' })
  t.match(unknown, { status: 400, json: { error: /There is no service Data Source 'tinybird.nothing' here/ } })
})

t.test('rows of requests are written, and read by whoever may', async (t) => {
  const service = await openTestService(t, writingRows)

  t.test('requests of endpoints and of SQL are rows', async (t) => {
    await createPipe(
      service,
      'top',
      '% SELECT number AS n, {{String(word, "none")}} AS word FROM numbers({{Int32(rows, 3)}})',
    )
    const first = await service.call('GET', '/v0/pipes/top.json?rows=5&word=a%20b', {
      headers: { 'user-agent': 'kit/1' },
    })
    await service.call('GET', '/v0/pipes/top.csv?rows=2')
    await service.call('POST', '/v0/pipes/top.json?rows=4', { body: 'word=unseen' })
    await service.call('GET', '/v0/pipes/top.json?rows=x')
    await service.sql('SELECT 42')
    await service.call('POST', '/v0/sql', { body: 'SELECT nothing FROM nowhere' })

    const columns = 'pipe_name, method, status_code, error, result_rows, toString(parameters), user_agent, url'
    const rows = await untilRows(
      service,
      `SELECT ${columns} FROM tinybird.pipe_stats_rt WHERE user_agent = 'kit/1' OR user_agent != '' ORDER BY request_id`,
      (found) => found.length === 6,
    )
    const { id } = (await service.call('GET', '/v0/pipes/top')).json as { readonly id: string }
    const agent = rows[1]?.[6] ?? ''
    t.strictSame(rows, [
      ['top', 'GET', '200', '0', '5', "{'rows':'5','word':'a b'}", 'kit/1', '/v0/pipes/top.json?rows=5&word=a%20b'].map(
        (cell) => cell.replaceAll("'", "\\'"),
      ),
      ['top', 'GET', '200', '0', '0', "{\\'rows\\':\\'2\\'}", agent, '/v0/pipes/top.csv?rows=2'],
      ['top', 'POST', '200', '0', '4', "{\\'rows\\':\\'4\\'}", agent, '/v0/pipes/top.json?rows=4'],
      ['top', 'GET', '400', '1', '0', "{\\'rows\\':\\'x\\'}", agent, '/v0/pipes/top.json?rows=x'],
      ['query_api', 'POST', '200', '0', '1', '{}', agent, '/v0/sql'],
      ['query_api', 'POST', '400', '1', '0', '{}', agent, '/v0/sql'],
    ])
    const ids = `SELECT DISTINCT pipe_id FROM tinybird.pipe_stats_rt ORDER BY pipe_id`
    t.strictSame(await service.rows(ids), [['query_api'], [id]])
    const byRequest = `SELECT read_rows, token_name != '', length(token) > 0, duration > 0 FROM tinybird.pipe_stats_rt
      WHERE request_id = '${first.headers.get('x-request-id')}'`
    t.strictSame(await service.rows(byRequest), [['5', '1', '1', '1']])
    const failed = 'SELECT pipe_name, status_code, error FROM tinybird.endpoint_errors ORDER BY request_id'
    t.strictSame(await untilRows(service, failed, (found) => found.length === 2), [
      ['top', '400', 'TEMPLATE_INVALID'],
      ['query_api', '400', 'SQL_INVALID'],
    ])
    t.equal((await service.rows("SELECT 1 FROM tinybird.pipe_stats_rt WHERE pipe_name LIKE 'query%'")).length, 2)
  })

  t.test('queries of real projects read them, also in pipes', async (t) => {
    await createPipe(service, 'one', '% SELECT {{Int32(n, 1)}} AS n')
    const token = await createToken(service, 'reader', 'PIPES:READ:one')
    for (const n of ['1', '2', 'x']) await service.call('GET', `/v0/pipes/one.json?n=${n}`, { token })
    await service.call('GET', '/v0/pipes/one.json')
    const byToken = `% SELECT token_name, count() AS requests, sum(read_bytes) AS bytes FROM tinybird.pipe_stats_rt
      WHERE start_datetime > now() - INTERVAL {{Int32(days, 1)}} DAY AND pipe_name = 'one' GROUP BY token_name ORDER BY requests DESC`
    const p95 = `SELECT pipe_name, quantile(0.95)(duration) AS p95, countIf(error = 1) / count() AS share
      FROM tinybird.pipe_stats_rt WHERE pipe_name = 'one' GROUP BY pipe_name`
    const byCode = `SELECT toStartOfHour(start_datetime) AS hour, status_code, count() AS errors, anyLast(error) AS last
      FROM tinybird.endpoint_errors AS e JOIN (SELECT DISTINCT pipe_id FROM tinybird.pipe_stats_rt) AS p USING (pipe_id)
      WHERE pipe_name = 'one' GROUP BY hour, status_code`
    t.match(await createPipe(service, 'by_token', byToken), {
      status: 200,
      json: { nodes: [{ dependencies: ['tinybird.pipe_stats_rt'] }] },
    })
    t.equal((await createPipe(service, 'p95', p95)).status, 200)
    t.equal((await createPipe(service, 'by_code', byCode)).status, 200)
    await untilRows(
      service,
      `SELECT count() FROM tinybird.pipe_stats_rt WHERE pipe_name = 'one'`,
      (rows) => rows[0]?.[0] === '4',
    )
    const requests = await service.call('GET', '/v0/pipes/by_token.json?days=2')
    t.match(requests.json, {
      data: [
        { token_name: 'reader', requests: 3 },
        { token_name: 'workspace admin token', requests: 1 },
      ],
    })
    t.match((await service.call('GET', '/v0/pipes/p95.json')).json, { data: [{ pipe_name: 'one', share: 0.25 }] })
    await untilRows(service, `SELECT error FROM tinybird.endpoint_errors WHERE pipe_name = 'one'`)
    t.match((await service.call('GET', '/v0/pipes/by_code.json')).json, { data: [{ status_code: 400, errors: 1 }] })

    const materialized = [
      {
        name: 'm',
        sql: 'SELECT * FROM tinybird.pipe_stats_rt',
        type: 'materialized',
        datasource: 'd',
        engine: 'MergeTree',
      },
    ]
    const refused = await service.call('POST', '/v0/pipes', {
      body: JSON.stringify({ name: 'view', nodes: materialized }),
    })
    t.match(refused, { status: 400, json: { error: /it reads a table of the service first/ } })
  })

  t.test(
    'ADMIN reads them, and scopes that name them; filtered tokens and the right to all data sources do not',
    async (t) => {
      await service.create('visits', 'n UInt8')
      await createPipe(service, 'usage', 'SELECT count() AS requests FROM tinybird.pipe_stats_rt')
      const query = 'SELECT count() FROM tinybird.pipe_stats_rt FORMAT TSV'
      const statusFor = async (...scopes: readonly string[]): Promise<number> => {
        const token = await createToken(service, scopes.join(), ...scopes)
        return (await service.call('POST', '/v0/sql', { body: query, token })).status
      }
      t.equal(await statusFor('ADMIN'), 200)
      t.equal(await statusFor('WORKSPACE:READ_ALL'), 200)
      t.equal(await statusFor('DATASOURCES:READ:tinybird.pipe_stats_rt'), 200)
      t.equal(await statusFor('DATASOURCES:READ:tinybird.endpoint_errors'), 403)
      t.equal(await statusFor('DATASOURCES:READ'), 403)
      t.equal(await statusFor('PIPES:READ:usage'), 403)
      t.equal(await statusFor('DATASOURCES:READ:tinybird.pipe_stats_rt', 'DATASOURCES:READ:visits:n = 1'), 403)
      const reader = await createToken(service, 'of the pipe', 'PIPES:READ:usage')
      t.equal((await service.call('GET', '/v0/pipes/usage.json', { token: reader })).status, 200)
      const filtered = await service.call(
        'POST',
        '/v0/tokens?name=f&scope=DATASOURCES:READ:tinybird.pipe_stats_rt:error%3D1',
      )
      t.match(filtered, { status: 400, json: { error: /service data sources take no filter/ } })
    },
  )
})

t.test('days are added up by pipe, and rows and sums survive a restart', async (t) => {
  const directory = await createTestDirectory()
  t.teardown(() => directory.remove())
  const options = { ...writingRows, dataDir: directory.path }
  const service = await openTestService(t, options)
  await createPipe(service, 'one', '% SELECT {{Int32(n, 1)}} AS n')
  for (const n of ['1', '2', 'x']) await service.call('GET', `/v0/pipes/one.json?n=${n}`)
  const sums = `SELECT pipe_name, sum(view_count), sum(error_count), sum(read_rows_sum), avgMerge(avg_duration_state) > 0,
    length(quantilesTimingMerge(0.9, 0.95, 0.99)(quantile_timing_state)) FROM tinybird.pipe_stats
    WHERE date >= today() - 1 GROUP BY pipe_name`
  const expected = [['one', '3', '1', '2', '1', '3']]
  t.strictSame(await untilRows(service, sums, (rows) => rows[0]?.[1] === '3'), expected)
  await service.create('visits', 'n UInt8')
  await service.append('visits', 'csv', '1\n2\nx\n')
  // The last of them are told at the close.
  await service.call('GET', '/v0/pipes/one.json?n=4')
  await service.close()

  const again = await openTestService(t, options)
  t.strictSame(await again.rows(sums), [['one', '4', '1', '3', '1', '3']])
  t.strictSame(await again.rows('SELECT count() FROM tinybird.pipe_stats_rt'), [['4']])
  // Told at each start.
  const sizes = `SELECT datasource_name, rows, rows_quarantine, bytes > 0 FROM tinybird.datasources_storage
    WHERE toStartOfHour(timestamp) >= toStartOfHour(now()) - INTERVAL 1 HOUR`
  t.strictSame(await untilRows(again, sizes), [['visits', '2', '1', '1']])
  const { json } = await again.call('GET', '/v0/datasources?attrs=name')
  t.strictSame(json, { datasources: [{ name: 'visits' }] }, 'they are none of the data sources of users')
})

t.test('values of tokens and what is sent by POST leave no trace', async (t) => {
  const service = await openTestService(t, writingRows)
  await createPipe(service, 'one', "% SELECT {{String(api_key, '')}} AS k, {{String(word, '')}} AS word")
  const token = await createToken(service, 'reader', 'PIPES:READ:one')
  const admin = 'p.test.token'
  for (const call of [
    () => service.call('GET', `/v0/pipes/one.json?token=${token}&word=first`, { token: null }),
    () => service.call('GET', `/v0/pipes/one.json?word=${token}`),
    () => service.call('GET', `/v0/pipes/one.json?word=${encodeURIComponent(admin).replace('p', '%70')}`),
    () =>
      service.call('GET', `/v0/pipes/one.json?word=x&api_key=sesame-7`, { headers: { 'user-agent': `kit ${admin}` } }),
    () => service.call('POST', '/v0/pipes/one.json?word=seen', { body: `token=${token}&word=unseen`, token: null }),
    () => service.call('POST', '/v0/sql', { body: `SELECT '${token}' FROM nothing` }),
  ])
    await call()
  const all = await untilRows(service, 'SELECT * FROM tinybird.pipe_stats_rt', (rows) => rows.length === 6)
  const failed = await untilRows(service, 'SELECT * FROM tinybird.endpoint_errors')
  const text = JSON.stringify([all, failed])
  for (const secret of [token, token.slice(4, 30), admin, 'unseen', 'sesame']) t.notOk(text.includes(secret), secret)
  t.match(text, 'seen')
  t.strictSame(
    await service.rows("SELECT count(), uniqExact(token) FROM tinybird.pipe_stats_rt WHERE token_name = 'reader'"),
    [['2', '1']],
  )
})

t.test('what the database tells at the end of an answer is told, and nothing where it tells nothing', async (t) => {
  const service = await openTestService(t, writingRows)
  await service.create('visits', 'n UInt64')
  await service.append('visits', 'csv', '1\n2\n3\n')
  const told = ['JSON', 'JSONCompact', 'XML']
  for (const format of [...told, 'CSV', 'JSONEachRow'])
    await service.call('POST', '/v0/sql', {
      body: `SELECT n FROM visits WHERE n < 3 LIMIT 1 FORMAT ${format}`,
      headers: { 'user-agent': format },
    })
  const query = `SELECT user_agent, result_rows, read_rows, read_bytes FROM tinybird.pipe_stats_rt
    WHERE user_agent NOT LIKE 'node%' ORDER BY user_agent`
  const rows = await untilRows(service, query, ({ length }) => length === 5)
  t.strictSame(rows, [
    ['CSV', '0', '0', '0'],
    ['JSON', '1', '3', '24'],
    ['JSONCompact', '1', '3', '24'],
    ['JSONEachRow', '0', '0', '0'],
    ['XML', '1', '3', '24'],
  ])
})

t.test('values whose name says that they are secret are hidden, in the URL as in the parameters', async (t) => {
  const service = await openTestService(t, writingRows)
  await createPipe(service, 'one', "% SELECT {{String(word, '')}} AS word")
  const secrets = [
    'password',
    'pass',
    'db_pass',
    'userPwd',
    'passwd',
    'sig',
    'X-Amz-Signature',
    'auth',
    'oauth',
    'session',
  ]
  secrets.push('session_id', 'PHPSESSID', 'cookie', 'credentials', 'access_key', 'api-key', 'jwt', 'client_secret')
  const plain = ['passenger', 'author', 'signal', 'sessions', 'monkey', 'word']
  const parameters = new URLSearchParams()
  for (const name of secrets) parameters.append(name, 'sesame-7')
  for (const name of plain) parameters.append(name, `of ${name}`)
  await service.call('GET', `/v0/pipes/one.json?${parameters}`)
  const query = 'SELECT url, toJSONString(parameters) FROM tinybird.pipe_stats_rt FORMAT JSONCompactEachRow'
  await untilRows(service, 'SELECT url FROM tinybird.pipe_stats_rt')
  const [url, told] = JSON.parse(await service.sql(query)) as readonly string[]
  t.notMatch(url, /sesame/)
  t.strictSame(JSON.parse(told ?? ''), {
    ...Object.fromEntries(secrets.map((name) => [name, '[redacted]'])),
    ...Object.fromEntries(plain.map((name) => [name, `of ${name}`])),
  })
  for (const name of plain) t.match(url, `${name}=of+${name}`)
})
