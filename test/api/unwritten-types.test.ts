import t from 'tap'
import { openTestService } from '../support/api/test-service.ts'

const service = await openTestService(t)
await service.call('POST', '/v0/variables?name=pw&value=geheim&type=secret')

t.test('a column that Parquet has no type for is told with what can be done', async (t) => {
  const cases = [
    ['SELECT NULL AS n', /CAST\(NULL AS Nullable\(String\)\)/],
    ['SELECT [] AS n', /CAST\(\[\] AS Array\(String\)\)/],
    ['SELECT [[], []] AS n', /CAST\(\[\] AS Array\(String\)\)/],
    ['SELECT tuple(NULL) AS n', /CAST\(NULL AS Nullable\(String\)\)/],
    ['SELECT sumState(toUInt32(1)) AS n', /finalizeAggregation\(n\)/],
    ['SELECT countState() AS state', /finalizeAggregation\(state\)/],
    ['SELECT CAST(1 AS Dynamic) AS n', /CAST\(n AS String\)/],
  ] as const
  for (const [query, hint] of cases) {
    const answer = await service.call('POST', '/v0/sql', { body: `${query} FORMAT Parquet` })
    t.match(answer, { status: 400, json: { error: /is not supported for conversion into Parquet/, hint } }, query)
  }
  for (const query of [
    'SELECT CAST(NULL AS Nullable(String)) AS n',
    'SELECT CAST([] AS Array(String)) AS n',
    'SELECT finalizeAggregation(sumState(toUInt32(1))) AS n',
    'SELECT CAST(CAST(1 AS Dynamic) AS String) AS n',
  ]) {
    t.equal((await service.call('POST', '/v0/sql', { body: `${query} FORMAT Parquet` })).status, 200, query)
  }
})

t.test('a secret inside of a table function is told as that', async (t) => {
  const secret = "{{tb_secret('pw')}}"
  const cases = [
    [`SELECT * FROM url('http://x', CSV, ${secret})`, 'url'],
    [`SELECT * FROM numbers(${secret})`, 'numbers'],
    [`SELECT * FROM values('a String', ${secret})`, 'values'],
    [`SELECT * FROM postgresql('h:1', 'db', 't', 'u', ${secret})`, 'postgresql'],
    [`SELECT * FROM s3('http://x', concat('a', ${secret}))`, 's3'],
    [`SELECT 1 FROM numbers(1) JOIN numbers(${secret}) AS b ON 1 = 1`, 'numbers'],
    [`SELECT 1 WHERE 1 IN (SELECT * FROM numbers(length(${secret})))`, 'numbers'],
  ] as const
  for (const [query, name] of cases) {
    const answer = await service.call('POST', '/v0/sql', { body: `% ${query}` })
    const error = `A secret cannot be an argument of the table function '${name}'`
    t.match(answer, { status: 400, json: { error, hint: /POST \/v0\/datasources/ } }, query)
  }
  for (const query of [
    `SELECT 1 FROM (SELECT 1 AS a) WHERE 'a' = ${secret}`,
    `SELECT * FROM (SELECT 'a' = ${secret} AS b)`,
    `SELECT 1 FROM numbers(3) WHERE concat('a', ${secret}) = 'b'`,
  ]) {
    t.equal((await service.call('POST', '/v0/sql', { body: `% ${query}` })).status, 200, query)
  }
})
