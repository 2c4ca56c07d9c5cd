// Values of tokens and secrets are nowhere but where they were asked for: after a run of everything, of requests that are right
// and wrong, of crashes of the engine and of the service, all that it wrote is searched for every value that ever was.

import { randomBytes } from 'node:crypto'
import { mkdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { signedText } from '../support/access/jwt-text.ts'
import { freePort } from '../support/free-port.ts'
import { openRawClient } from '../support/raw-client.ts'
import { type KeptAnswer, SearchedService } from '../support/secret-search/searched-service.ts'
import { filesBelow, type HiddenValue, ValueSearch } from '../support/secret-search/value-forms.ts'
import { findEnginePid, untilEngine, untilGone } from '../support/store/engine-pid.ts'
import { createTestDirectory } from '../support/store/test-store.ts'

t.setTimeout(1_200_000)

const place = await createTestDirectory()
const dataDir = join(place.path, 'the data')
const logDir = join(place.path, 'logs')
for (const folder of [dataDir, logDir]) mkdirSync(folder)
const service = new SearchedService({ dataDir, logDir, port: await freePort() })
t.teardown(async () => {
  await service.end('SIGKILL')
  await place.remove()
})

let firstAdminToken = ''
const values: HiddenValue[] = []
function keep(label: string, value: string): string {
  values.push({ label, value })
  return value
}

/** Nobody else has it, and it has characters that URLs, forms, JSON and SQL write in another way. */
function newSecret(label: string): string {
  return keep(label, `hid/${randomBytes(9).toString('base64')}+ä"'\\ %${randomBytes(6).toString('hex')}`)
}

/** A value of the form of tokens that no token has. */
function wrongToken(label: string): string {
  const payload = Buffer.from('{"u":"x","id":"y","host":"z"}').toString('base64url')
  return keep(label, `p.${payload}.${randomBytes(24).toString('base64url')}`)
}

const json = { 'content-type': 'application/json' }
const form = { 'content-type': 'application/x-www-form-urlencoded' }
const fields = (given: Readonly<Record<string, string>>): string => new URLSearchParams(given).toString()

async function good(answer: Promise<KeptAnswer>): Promise<KeptAnswer> {
  const { what, status, text } = await answer
  if (status >= 300) throw new Error(`${what} answered ${status}: ${text}`)
  return await answer
}

async function createToken(name: string, ...scopes: readonly string[]): Promise<string> {
  const body = `${fields({ name })}${scopes.map((scope) => `&${fields({ scope })}`).join('')}`
  const answer = await good(service.call('POST', '/v0/tokens', { body, headers: form, asksForValues: true }))
  return keep(name, tokenIn(answer))
}

function tokenIn({ json: told }: KeptAnswer): string {
  // The shape is what the tests of tokens check.
  return (told as { readonly token: string }).token
}

async function createData(): Promise<void> {
  const schema = 'a Int32 `json:$.a`, s String `json:$.s`'
  await good(service.call('POST', `/v0/datasources?${fields({ name: 'things', schema })}`))
  await good(service.call('POST', '/v0/events?name=things&wait=true', { body: '{"a":1,"s":"x"}\n{"a":"y","s":"z"}' }))
  const guarded = "% SELECT count() AS n FROM things WHERE {{tb_secret('held')}} = {{String(key, '')}}"
  const failing = "% SELECT a FROM things WHERE toInt32(concat('x', {{tb_secret('held')}})) = a"
  const slow =
    "% SELECT count() AS n FROM numbers(100000000000) WHERE NOT ignore({{tb_secret('held')}}, sipHash64(number))"
  const raising = "% {{error(tb_secret('held'))}} SELECT 1 AS n"
  for (const [name, sql] of Object.entries({ guarded, failing, slow, raising })) {
    const body = JSON.stringify({ name, nodes: [{ name: 'n0', type: 'endpoint', sql }] })
    const answer = await service.call('POST', '/v0/pipes', { body, headers: json })
    if (name !== 'raising') await good(Promise.resolve(answer))
  }
}

async function useVariables(): Promise<void> {
  const held = newSecret('variable held')
  await good(
    service.call('POST', '/v0/variables', {
      body: fields({ name: 'held', value: newSecret('held, first') }),
      headers: form,
    }),
  )
  await good(service.call('PUT', '/v0/variables/held', { body: fields({ value: held }), headers: form }))
  await good(service.call('POST', `/v0/variables?${fields({ name: 'gone', value: newSecret('variable gone') })}`))
  await good(service.call('DELETE', '/v0/variables/gone'))
  await service.call('POST', '/v0/variables', {
    body: JSON.stringify({ name: 'as json', value: newSecret('in JSON') }),
    headers: json,
  })
  await service.call('POST', '/v0/variables', {
    body: fields({ name: 'no name!', value: newSecret('refused') }),
    headers: form,
  })
  await service.call('POST', '/v0/variables', {
    body: `{"name":"broken","value":"${wrongToken('in broken JSON')}`,
    headers: json,
  })
  await service.call('PUT', '/v0/variables/missing', { body: fields({ value: newSecret('of none') }), headers: form })
  await service.call('GET', '/v0/variables')
  await service.call('GET', '/v0/variables/held')
  await createData()
  const rightKey = fields({ key: held })
  await good(service.call('GET', `/v0/pipes/guarded.json?${rightKey}`))
  await good(service.call('POST', '/v0/pipes/guarded.json', { body: rightKey, headers: form }))
  for (const pipe of ['failing', 'raising']) await service.call('GET', `/v0/pipes/${pipe}.json`)
  for (const sql of [
    "% SELECT toInt8({{tb_secret('held')}})",
    "% SELECT {{tb_secret('held')}} FROM nosuch",
    "% SELECT {{Int32(tb_secret('held'))}}",
    "% SELECT {{columns(tb_secret('held'))}}",
    "% SELECT {{tb_secret('held')}}(",
    "% SELECT throwIf(1, {{tb_secret('held')}})",
  ]) {
    await service.call('POST', '/v0/sql', { body: sql })
    await service.call('GET', `/v0/pipes/guarded.json?${fields({ q: sql })}`)
  }
  await service.call('GET', '/v0/pipes/guarded/explain')
  await service.call('GET', '/v0/pipes/guarded')
}

/** Each way in which a request can carry a token. */
async function sendEverywhere(token: string): Promise<void> {
  const sql = '/v0/sql?q=SELECT+1'
  await service.call('GET', sql, { token })
  await service.call('GET', `${sql}&${fields({ token })}`, { token: null })
  await service.call('GET', `${sql}&token=x&token=${token}`, { token: null })
  await service.call('POST', '/v0/sql', { token: null, headers: form, body: fields({ q: 'SELECT 1', token }) })
  await service.call('POST', '/v0/sql', { token: null, headers: json, body: JSON.stringify({ q: 'SELECT 1', token }) })
  await service.call('POST', `/v0/events?${fields({ name: 'things', token })}`, {
    token: null,
    body: '{"a":2,"s":"x"}',
  })
  await service.call('GET', `/v0/pipes/guarded.json?${fields({ token, key: 'x' })}`, { token: null })
  await service.call('GET', '/v0/datasources', {
    token: null,
    headers: { authorization: `Basic ${token}`, cookie: `token=${token}` },
  })
  await service.call('GET', `/v0/datasources?token=${token}#${token}`, {
    token: null,
    headers: { referer: `http://x/?token=${token}` },
  })
  await service.call('GET', `/v0/tokens/${token}/access?resource=things`, { token, asksForValues: true })
  await service.call('GET', `/v0/tokens/${token}/nosuch?q=${token}`)
  await service.call('GET', `/v0/nosuch/${token}`)
  await service.call('GET', `/${token}`)
  await service.call('PATCH', `/v0/tokens/${token}`)
  await service.call('GET', `/v0/pipes/${token}.json`)
  await service.call('GET', `/v0/datasources/${token}`)
  await service.call(
    'POST',
    `/v0/datasources?mode=append&name=things&format=csv&${fields({ url: `http://127.0.0.1:1/x?token=${token}` })}`,
  )
  await service.call('POST', '/v0/tokens', { body: 'x'.repeat(20_000) + token, headers: form })
  await service.call('GET', `/v0/sql?q=SELECT+1&token=${token}&format=${token}`)
  const raw = await openRawClient(service.port)
  raw.send(
    `GET /v0/sql?token=${token} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nauthorization : Bearer ${token}\r\n\r\n`,
  )
  await raw.end()
  raw.socket.destroy()
  const large = await openRawClient(service.port)
  large.send(
    `GET /v0/sql HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer ${token}\r\nX-Long: ${'x'.repeat(40_000)}\r\n\r\n`,
  )
  await large.end()
  large.socket.destroy()
}

async function useTokens(): Promise<void> {
  const reader = await createToken(
    'reader',
    'DATASOURCES:READ:things',
    'DATASOURCES:APPEND:things',
    'PIPES:READ:guarded',
  )
  await createToken('filtered', "DATASOURCES:READ:things:s = 'x'")
  const byJson = { name: 'by json', scopes: [{ type: 'PIPES:READ', resource: 'guarded' }] }
  const made = await good(
    service.call('POST', '/v0/tokens', { body: JSON.stringify(byJson), headers: json, asksForValues: true }),
  )
  keep('by json', tokenIn(made))
  const refreshed = await good(service.call('POST', '/v0/tokens/reader/refresh', { asksForValues: true }))
  const second = keep('reader, second', tokenIn(refreshed))
  await good(service.call('PUT', `/v0/tokens/${second}?scope=DATASOURCES:READ:things`))
  await good(service.call('PUT', '/v0/tokens/reader?scope=DATASOURCES:READ:things&scope=PIPES:READ:guarded'))
  await service.call('POST', '/v0/tokens', { body: fields({ name: 'reader' }), headers: form })
  await service.call('POST', '/v0/tokens?name=odd&scope=NOSUCH:things')
  await service.call('POST', '/v0/tokens?name=odd&scope=DATASOURCES:READ:things:nosuch = 1')
  await good(service.call('GET', '/v0/tokens', { asksForValues: true }))
  await good(service.call('POST', `/v0/pipes/guarded/nodes/n0/endpoint`, { asksForValues: true }))
  const doomed = await createToken('doomed', 'DATASOURCES:APPEND:things')
  await good(service.call('DELETE', `/v0/tokens/${doomed}`))
  for (const token of [reader, second, doomed, wrongToken('never made')]) await sendEverywhere(token)
}

async function useJwts(): Promise<readonly string[]> {
  const { json: workspace } = await good(service.call('GET', '/v0/workspace'))
  // The shape is what its tests check.
  const { id } = workspace as { readonly id: string }
  const exp = Math.floor(Date.now() / 1_000) + 3_600
  const scopes = [
    { type: 'PIPES:READ', resource: 'guarded', fixed_params: { key: newSecret('a fixed parameter') } },
    { type: 'DATASOURCES:READ', resource: 'things' },
    { type: 'DATASOURCES:APPEND', resource: 'things' },
  ]
  const sent = { body: JSON.stringify({ name: 'visitor', scopes }), headers: json, asksForValues: true }
  const byApi = keep(
    'JWT by the API',
    tokenIn(await good(service.call('POST', `/v0/tokens?expiration_time=${exp}`, sent))),
  )
  const sign = (label: string, more: object, header?: object): string =>
    keep(label, signedText({ workspace_id: id, name: 'visitor', exp, scopes, ...more }, header, service.adminToken))
  const own = sign('JWT of our own', {})
  for (const token of [
    byApi,
    own,
    sign('JWT that is over', { exp: 1_700_000_000 }),
    sign('JWT of another workspace', { workspace_id: 'another' }),
    sign('JWT with a filter', { scopes: [{ type: 'DATASOURCES:READ', resource: 'things', filter: 'nosuch = 1' }] }),
    sign('JWT of another algorithm', {}, { alg: 'HS512', typ: 'JWT' }),
    sign('JWT that is limited', { limits: { rps: 1 } }),
  ]) {
    await sendEverywhere(token)
  }
  return [byApi, own]
}

/** The engine ends by a signal while it computes something of the secret. */
async function crashEngine(signal: NodeJS.Signals, token: string): Promise<void> {
  const endCount = (): number => service.log().split('The engine ended unexpectedly').length
  const before = endCount()
  // What was running at the end of an engine is told by its shape, and another one is not suspected of it.
  const q = `SELECT n AS n_${signal} FROM _`
  const asAdmin = { token: service.adminToken, q }
  const running = [
    service.call('GET', `/v0/pipes/slow.json?${fields(asAdmin)}`, { token: null }),
    service.call('POST', '/v0/pipes/slow.json', { body: fields(asAdmin), headers: form }),
  ]
  // Sessions are lent in the order of the requests.
  await service.call('GET', '/v0/sql?q=SELECT+1', { token })
  const engine = await untilEngine(service.pid)
  process.kill(engine, signal)
  await untilGone(engine)
  for (const { status } of await Promise.all(running)) t.equal(status, 503, `a query that ran during ${signal}`)
  await untilEngine(service.pid, engine)
  await service.untilReady()
  t.ok(endCount() > before, 'and the log tells of it')
}

/** All that the service wrote but for the file of the admin token, and the line of the start that makes it. */
function search(when: string): void {
  const found = new ValueSearch(values)
  const adminFile = join(dataDir, 'admin-token')
  const keyFile = join(dataDir, 'secret-key')
  t.same(found.below(dataDir, [adminFile, keyFile]), [], `the data directory ${when}`)
  for (const path of [adminFile, keyFile]) t.equal(statSync(path).mode & 0o777, 0o600, path)
  const logs = filesBelow(logDir).flatMap((path) => {
    const written = readFileSync(path, 'utf8')
    // The start that makes the token shows it to whoever starts it.
    const text = path === join(logDir, 'out-1') ? written.replaceAll(firstAdminToken, '') : written
    return found.in(text).map((one) => `${path.slice(logDir.length + 1)}: ${one}`)
  })
  t.same(logs, [], `the logs ${when}`)
  const told = service.answers.flatMap(({ what, status, text }) =>
    found.in(text).map((one) => `${what} ${status}: ${one}`),
  )
  t.same(told, [], `the answers ${when}`)
}

t.test('the search finds a value in each of its forms', async (t) => {
  const value = 'geheim/+"wert ä'
  const found = new ValueSearch([{ label: 'it', value }])
  for (const before of ['', 'a', 'ab', 'abc']) {
    const text = Buffer.from(`${before}${value}, and more`)
    for (const form of ['base64', 'base64url', 'hex'] as const) t.not(found.in(text.toString(form)).length, 0, form)
    for (const form of [
      text,
      JSON.stringify({ text: String(text) }),
      encodeURIComponent(String(text)),
      fields({ value }),
    ]) {
      t.not(found.in(form).length, 0, String(form))
    }
  }
  t.same(found.in('p.eyJ1.geheim'), [])
  const ofToken = new ValueSearch([{ label: 'token', value: 'p.eyJ1IjoidyJ9.0123456789abcdef' }])
  t.same(ofToken.in('…0123456789abcdef…').length, 1)
})

t.test('no value of a token or secret is in logs, files, errors or the words of a crash', async (t) => {
  await service.start('json')
  firstAdminToken = keep('the admin token of the start', service.adminToken)
  for (const line of readFileSync(join(dataDir, 'secret-key'), 'utf8').match(/[\w+/=-]{32,}/g) ?? [])
    keep('a key', line)
  await useVariables()
  await useTokens()
  const jwts = await useJwts()
  search('while it runs')
  for (const [index, signal] of (['SIGSEGV', 'SIGABRT', 'SIGBUS'] as const).entries()) {
    await crashEngine(signal, jwts[index % jwts.length] ?? '')
  }
  const running = service.call('GET', '/v0/pipes/slow.json').catch((error: unknown) => error)
  await service.call('GET', '/v0/sql?q=SELECT+1')
  await service.end('SIGABRT')
  await running
  search('after a crash of the service')

  await service.start('text')
  const workspaceToken = encodeURIComponent('workspace admin token')
  const refreshed = await good(service.call('POST', `/v0/tokens/${workspaceToken}/refresh`, { asksForValues: true }))
  keep('the admin token, refreshed', tokenIn(refreshed))
  t.equal(service.adminToken, tokenIn(refreshed))
  for (const token of jwts) await sendEverywhere(token)
  await useVariablesAgain()
  const engine = findEnginePid(service.pid)
  if (engine !== null) process.kill(engine, 'SIGSEGV')
  await service.end('SIGKILL')
  search('after kill -9')

  await service.start('json')
  await sendEverywhere(await createToken('the last', 'DATASOURCES:READ:things'))
  await service.end('SIGTERM')
  search('after the end')
  const { needleCount } = new ValueSearch(values)
  const bytes = [...filesBelow(dataDir), ...filesBelow(logDir)].reduce((sum, path) => sum + statSync(path).size, 0)
  t.comment(
    JSON.stringify({
      values: values.length,
      needles: needleCount,
      answers: service.answers.length,
      bytes,
      statuses: [...service.statuses].sort(),
    }),
  )
  for (const status of [200, 400, 403, 404, 405, 413, 429])
    t.ok(service.statuses.has(status), `some were answered ${status}`)
  t.ok(values.length > 20, `${values.length} values`)
})

async function useVariablesAgain(): Promise<void> {
  await good(
    service.call('PUT', '/v0/variables/held', { body: fields({ value: newSecret('held, last') }), headers: form }),
  )
  await service.call('GET', '/v0/pipes/failing.json')
}
