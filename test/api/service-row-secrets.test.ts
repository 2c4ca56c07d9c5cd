// Callers put tokens where they do not belong; what is kept of such a request must not give them away to who reads it.

import { PassThrough } from 'node:stream'
import t from 'tap'
import { LogSecrets } from '../../src/observe/log-secrets.ts'
import { createLogger } from '../../src/observe/logger.ts'
import { filledTables, untilRows, writingRows } from '../support/api/service-rows.ts'
import { openTestService, type TestService } from '../support/api/test-service.ts'
import { OtlpReceiver } from '../support/observe/otlp-receiver.ts'

const segment = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url')
const jwt = `${segment({ alg: 'HS256' })}.${segment({ name: 'reader' })}.${'c2lnbmF0dXJl'.repeat(3)}`

t.test('a token or a secret in any place of a request is in nothing that is kept of it', async (t) => {
  const receiver = await OtlpReceiver.open(t)
  const service = await openTestService(t, { ...writingRows, tracesUrl: receiver.url, traceSamplePercent: 100 })
  const nodes = [{ name: 'n', sql: "% SELECT {{Int32(n, 1)}} AS n, {{String(word, '')}} AS word", type: 'endpoint' }]
  await service.call('POST', '/v0/pipes', { body: JSON.stringify({ name: 'one', nodes }) })
  const { json } = await service.call('POST', '/v0/tokens?name=ci&scope=DATASOURCES:CREATE&scope=DATASOURCES:DROP')
  const { token } = json as { readonly token: string }
  const secrets = [token, jwt, 'password=hunter2-hunter2']
  for (const secret of secrets) await askWith(service, secret)
  await service.call('GET', '/v0/pipes/one.json', { headers: { 'user-agent': 'last' } })
  await untilRows(service, "SELECT 1 FROM tinybird.pipe_stats_rt WHERE user_agent = 'last'")
  // The totals of a request are the last rows that are written of it and of all before it.
  const totals = "SELECT sum(view_count) FROM tinybird.pipe_stats WHERE pipe_name = 'one'"
  const asked = await service.rows("SELECT count() FROM tinybird.pipe_stats_rt WHERE pipe_name = 'one'")
  await untilRows(service, totals, (rows) => rows[0]?.[0] === asked[0]?.[0])
  await receiver.untilSpan(({ attributes }) => JSON.stringify(attributes).includes('/v0/pipes/:pipe.json'))

  const kept = new Map<string, string>()
  for (const name of filledTables) kept.set(name, JSON.stringify(await service.rows(`SELECT * FROM tinybird.${name}`)))
  kept.set('the log', logOf(service))
  kept.set('metrics', (await service.call('GET', '/metrics')).text)
  kept.set('traces', JSON.stringify(receiver.spans))
  for (const [where, text] of kept) {
    t.ok(
      text.length > 2 || where === 'limits_log' || where === 'block_log' || where === 'jobs_log',
      `${where} has something`,
    )
    for (const secret of [token.slice(2, 30), jwt.slice(0, 30), jwt.slice(-20), 'hunter2'])
      t.notOk(text.includes(secret), `${secret} in ${where}`)
  }
})

t.test('a value of a variable that a caller sends is in no row, however it is written', async (t) => {
  const service = await openTestService(t, writingRows)
  const value = `hid/den+ä"'\\ %41\n&key?=`
  const create = new URLSearchParams({ name: 'held', value: 'the first value' }).toString()
  await service.call('POST', `/v0/variables?${create}`)
  await service.call('PUT', `/v0/variables/held?${new URLSearchParams({ value }).toString()}`)
  await service.call('POST', `/v0/variables?${new URLSearchParams({ name: 'short', value: 'seven77' }).toString()}`)
  const nodes = [{ name: 'n', sql: "% SELECT {{Int32(n, 1)}} AS n, {{String(word, '')}} AS word", type: 'endpoint' }]
  await service.call('POST', '/v0/pipes', { body: JSON.stringify({ name: 'one', nodes }) })
  const once = encodeURIComponent(value)
  const parameters: readonly (readonly [sent: string, kept: string])[] = [
    [`word=${once}`, 'word=[redacted]'],
    [`kind=a&${new URLSearchParams({ word: value }).toString()}&n=2`, 'kind=a&word=[redacted]&n=2'],
    [`n=${once}`, 'n=[redacted]'],
    [`word=${encodeURIComponent(once)}`, 'word=[redacted]'],
    [`word=${encodeURIComponent(JSON.stringify({ in: `x${value}x` }))}`, 'word=[redacted]'],
    [`${once}=1`, '[redacted]'],
    ['word=seven77', 'word=seven77'],
    ['word=the+first+value&last=1', 'word=the+first+value&last=1'],
  ]
  for (const [sent] of parameters) await service.call('GET', `/v0/pipes/one.json?${sent}`)
  const asked = "SELECT url FROM tinybird.pipe_stats_rt WHERE pipe_name = 'one' ORDER BY url"
  const rows = await untilRows(service, asked, ({ length }) => length === parameters.length)
  t.same(rows.flat(), parameters.map(([, kept]) => `/v0/pipes/one.json?${kept}`).sort())
  const written = JSON.stringify([
    await service.rows('SELECT * FROM tinybird.pipe_stats_rt'),
    await service.rows('SELECT * FROM tinybird.endpoint_errors'),
  ])
  for (const part of ['hid/', 'hid%2F', 'hid%252F', '%41', '%2541']) t.notOk(written.includes(part), part)
})

t.test('nor where it is written as SQL, as bytes of a header, or into a URL as it is', async (t) => {
  const service = await openTestService(t, writingRows)
  const values = {
    name: "O'Neill-key-4711",
    base64: 'YWJj+ZGVm/4711',
    umlauts: 'pässwörd-4711',
    parts: 'first-part&second-part',
  }
  for (const [name, value] of Object.entries(values)) {
    await service.call('POST', `/v0/variables?${new URLSearchParams({ name, value }).toString()}`)
  }
  const nodes = [{ name: 'n', sql: "% SELECT {{String(word, '')}} AS word", type: 'endpoint' }]
  await service.call('POST', '/v0/pipes', { body: JSON.stringify({ name: 'one', nodes }) })
  const latin = (text: string): string => Buffer.from(text).toString('latin1')
  const sent: readonly (readonly [query: string, agent?: string])[] = [
    [`word=${encodeURIComponent("x = 'O\\'Neill-key-4711'")}`],
    [`word=${encodeURIComponent("x = 'O''Neill-key-4711'")}`],
    [`word=${encodeURIComponent('\\x4f\\x27Neill-key-4711')}`],
    ['word=YWJj+ZGVm/4711'],
    ['word=first-part&second-part=1'],
    ['word=a', latin('pässwörd-4711')],
  ]
  for (const [query, agent = 'none'] of sent) {
    await service.call('GET', `/v0/pipes/one.json?${query}`, { headers: { 'user-agent': agent } })
  }
  const asked = "SELECT url, parameters, user_agent FROM tinybird.pipe_stats_rt WHERE pipe_name = 'one'"
  const rows = await untilRows(service, asked, ({ length }) => length === sent.length)
  const written = JSON.stringify(rows)
  for (const part of ['Neill', 'YWJj', 'first', 'second', 'ssw']) t.notOk(written.includes(part), part)
})

t.test(
  'names of what the workspace has are told, and those that callers make up are not, where a variable has their word',
  async (t) => {
    const service = await openTestService(t, writingRows)
    await service.call('POST', '/v0/variables?name=word&value=customer')
    const nodes = [{ name: 'n', sql: "% SELECT {{String(word, '')}} AS word", type: 'endpoint' }]
    await service.call('POST', '/v0/pipes', { body: JSON.stringify({ name: 'customers_top', nodes }) })
    await service.create('customers_ev', 'n UInt8')
    await service.call('POST', '/v0/datasources?mode=create&name=customers_odd&schema=n+NoType')
    await service.append('customers_ev', 'csv', '1\n')
    await service.call('DELETE', '/v0/datasources/customers_ev')
    const { json } = await service.call('POST', '/v0/tokens?name=customers_app&scope=PIPES:READ:customers_top')
    const { token } = json as { readonly token: string }
    for (const query of ['', '?word=customers', '?word=customers_top'])
      await service.call('GET', `/v0/pipes/customers_top.json${query}`, {
        headers: { authorization: `Bearer ${token}` },
      })
    const asked = `SELECT pipe_name, token_name, url, parameters['word'] FROM tinybird.pipe_stats_rt ORDER BY url`
    t.strictSame(await untilRows(service, asked, ({ length }) => length === 3), [
      ['customers_top', 'customers_app', '/v0/pipes/customers_top.json', ''],
      ['customers_top', 'customers_app', '/v0/pipes/customers_top.json?word=[redacted]', '[redacted]'],
      ['customers_top', 'customers_app', '/v0/pipes/customers_top.json?word=[redacted]', '[redacted]'],
    ])
    const done = 'SELECT event_type, datasource_name, result FROM tinybird.datasources_ops_log ORDER BY ALL'
    t.strictSame(await untilRows(service, done, ({ length }) => length === 4), [
      ['append', 'customers_ev', 'ok'],
      ['create', '[redacted]', 'error'],
      ['create', 'customers_ev', 'ok'],
      ['delete', 'customers_ev', 'ok'],
    ])
    const named = "SELECT token_name FROM tinybird.tokens_log WHERE event_type = 'created'"
    t.ok((await untilRows(service, named)).flat().includes('customers_app'))
  },
)

t.test('a name that is no name is cut', async (t) => {
  const service = await openTestService(t, writingRows)
  await service.call('POST', `/v0/datasources?mode=create&schema=n+UInt8&name=${'word+'.repeat(10_000)}`)
  const query = "SELECT max(length(datasource_name)) FROM tinybird.datasources_ops_log WHERE result = 'error'"
  const [row] = await untilRows(service, query, ([found]) => Number(found?.[0]) > 0)
  t.ok(Number(row?.[0]) <= 310)
  const name = 'n'.repeat(256)
  await service.create(name, 'n UInt8')
  await untilRows(service, `SELECT 1 FROM tinybird.datasources_ops_log WHERE datasource_name = '${name}'`)
})

/** A request for each place of one. */
async function askWith(service: TestService, secret: string): Promise<void> {
  const text = encodeURIComponent(secret)
  const named = JSON.stringify({
    name: secret,
    nodes: [{ name: secret, sql: `SELECT 1 AS "${secret}" FROM "${secret}"` }],
  })
  const asked: readonly (readonly [string, string, (string | null)?, Record<string, string>?])[] = [
    ['POST', `/v0/events?name=${text}&wait=true`, '{"a":1}'],
    ['POST', `/v0/datasources?mode=create&name=${text}`],
    ['POST', `/v0/datasources?mode=create&schema=n+UInt8&name=${text}`],
    ['POST', `/v0/datasources?mode=append&format=csv&name=${text}`, '1\n'],
    ['POST', `/v0/datasources?mode=create&name=plain&schema=${text}`],
    ['POST', `/v0/datasources?mode=create&name=plain&schema=n+UInt8&engine=${text}`],
    ['PUT', `/v0/datasources/${text}?name=other`],
    ['DELETE', `/v0/datasources/${text}`],
    ['POST', `/v0/datasources/${text}/truncate`],
    ['POST', `/v0/datasources/${text}/delete`, `delete_condition=${text}`],
    ['GET', `/v0/pipes/${text}.json`],
    ['GET', `/v0/pipes/one.json?${text}=1`],
    ['GET', `/v0/pipes/one.json?word=${text}`],
    ['GET', `/v0/pipes/one.json?n=${text}`],
    ['GET', '/v0/pipes/one.json', null, { 'user-agent': secret, 'x-request-id': secret.slice(0, 60), referer: secret }],
    ['POST', '/v0/pipes', named],
    ['POST', `/v0/tokens?name=${text}&scope=PIPES:CREATE`],
    ['POST', `/v0/tokens?name=of+${text}&scope=DATASOURCES:READ:${text}`],
    ['POST', '/v0/sql', `SELECT 1 AS "${secret}" FROM "${secret}"`],
    ['GET', `/v0/sql?q=${text}`],
    ['GET', `/v0/jobs/${text}`],
    ['GET', `/${text}`],
    ['POST', '/v0/variables', JSON.stringify({ name: secret, value: secret })],
  ]
  for (const [method, path, body = null, headers = {}] of asked)
    await service.call(method, path, { headers, ...(body === null ? {} : { body }) })
}

/** As the service writes it. */
function logOf(service: TestService): string {
  const output = new PassThrough()
  const logger = createLogger({ level: 'debug', output, secrets: new LogSecrets() })
  for (const { fields, message } of service.log.entries) logger.warn(fields, message)
  return String(output.read() ?? '')
}
