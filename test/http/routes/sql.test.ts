import { gzipSync } from 'node:zlib'
import type { InjectOptions } from 'fastify'
import t, { type Test } from 'tap'
import { createApp } from '../../../src/app.ts'
import { ask, createFakeDeps, limits, token } from '../../support/http/fake-deps.ts'

const headers = { authorization: `Bearer ${token}` }

function open(t: Test) {
  const deps = createFakeDeps()
  const app = createApp(deps, limits)
  t.teardown(() => app.close())
  const post = (query: string, payload: string, more: Record<string, string> = headers) => {
    const request: InjectOptions = { method: 'POST', url: `/v0/sql${query}`, headers: more, payload }
    return ask(app, request)
  }
  return { deps, app, post }
}

t.test('a query is found wherever a client puts it', async (t) => {
  const sql = "SELECT 'a=b', '%' FROM t"
  const form = `q=${encodeURIComponent(sql)}`
  const parts = `--b\r\nContent-Disposition: form-data; name="q"\r\n\r\n${sql}\r\n--b--\r\n`
  const cases = [
    [`?${form}`, '', undefined],
    ['', sql, 'text/plain'],
    ['', `\n ${sql} \n`, undefined],
    ['', sql, 'application/x-www-form-urlencoded'],
    ['', form, 'application/x-www-form-urlencoded'],
    ['', form, undefined],
    ['', `from=x&${form}`, 'application/x-www-form-urlencoded'],
    ['', parts, 'multipart/form-data; boundary=b'],
    ['', sql, 'multipart/form-data'],
    ['', JSON.stringify({ q: sql }), 'application/json'],
    ['', JSON.stringify({ q: sql, format: 'json', list: [1] }), undefined],
    ['?from=ts-sdk', sql, 'text/plain'],
  ] as const
  for (const [query, body, type] of cases) {
    const { deps, post } = open(t)
    const answer = await post(query, body, type === undefined ? headers : { ...headers, 'content-type': type })
    t.equal(answer.statusCode, 200, answer.body)
    t.equal(deps.queries[0]?.sql.trim(), sql, `${query} ${body}`)
  }
})

t.test('a URL with an escape of nothing is refused with the name of its parameter', async (t) => {
  const { app } = open(t)
  for (const [query, name] of [
    ['q=SELECT%201%20%zz', 'q'],
    ['q=SELECT%20%27%FF%27', 'q'],
    ["q=SELECT%201%20LIKE%20'%'", 'q'],
    ['q=SELECT%201&from=%', 'from'],
    ['%E0%A4=1&q=SELECT%201', '%E0%A4'],
  ] as const) {
    const answer = await ask(app, { method: 'GET', url: `/v0/sql?${query}`, headers })
    t.equal(answer.statusCode, 400, query)
    t.match(answer.json(), { error: `the parameter '${name}' has an escape` }, query)
  }
  const right = await ask(app, { method: 'GET', url: '/v0/sql?q=SELECT%20%27%25%C3%A4%27', headers })
  t.equal(right.statusCode, 200)
})

t.test('a packed body is unpacked, within the limit', async (t) => {
  const { deps, app } = open(t)
  const send = (payload: Buffer, encoding: string) =>
    ask(app, { method: 'POST', url: '/v0/sql', headers: { ...headers, 'content-encoding': encoding }, payload })
  t.equal((await send(gzipSync('SELECT 1'), 'gzip')).statusCode, 200)
  t.equal(deps.queries.at(-1)?.sql, 'SELECT 1')
  t.match(await send(gzipSync(' '.repeat(limits.formBytesMax + 1)), 'gzip'), { statusCode: 413 })
  t.match(await send(Buffer.from('SELECT 1'), 'gzip'), { statusCode: 400, body: /gzip/ })
  t.match(await send(Buffer.from('SELECT 1'), 'br'), { statusCode: 415, body: /gzip, zstd/ })
})

t.test('the answer is streamed under its own type', async (t) => {
  const { app } = open(t)
  const answer = await ask(app, { url: '/v0/sql?q=SELECT+1', headers })
  t.equal(answer.statusCode, 200)
  t.equal(answer.headers['content-type'], 'application/json; charset=UTF-8')
  t.equal(answer.body, '{"data":[]}\n')
})

t.test('a wrong or missing query is an error before the answer begins', async (t) => {
  const { app, post } = open(t)
  t.match((await ask(app, { url: '/v0/sql?q=SELECT+wrong', headers })).json(), { error: 'Unknown identifier wrong' })
  t.equal((await ask(app, { url: '/v0/sql', headers })).statusCode, 400)
  t.equal((await post('', '  ')).statusCode, 400)
  t.equal((await post('', '{"q": 1')).statusCode, 400)
  t.equal((await post('?q=SELECT+1', 'SELECT 2')).statusCode, 400)
  t.equal((await post('', `SELECT '${'x'.repeat(3000)}'`)).statusCode, 413)
})

t.test('output settings pass as numbers, and others do not', async (t) => {
  const { deps, app } = open(t)
  const url = '/v0/sql?q=SELECT+1&output_format_json_quote_64bit_integers=1&max_execution_time=0&output_format_x=1'
  await ask(app, { url, headers })
  t.strictSame(deps.queries[0]?.settings, {
    output_format_json_quote_64bit_integers: 1,
    output_format_json_quote_denormals: 0,
    output_format_parquet_string_as_string: 0,
  })
  const wrong = await ask(app, { url: '/v0/sql?q=SELECT+1&output_format_json_quote_denormals=2', headers })
  t.equal(wrong.statusCode, 400)
})

t.test('a token in the form is as good as one in the header', async (t) => {
  const { post } = open(t)
  t.equal((await post('', `q=SELECT+1&token=${token}`, {})).statusCode, 200)
  t.equal((await post('', 'q=SELECT+1&token=wrong', {})).statusCode, 403)
  t.equal((await post('', 'SELECT 1', {})).statusCode, 403)
})
