import type { InjectOptions } from 'fastify'
import t, { type Test } from 'tap'
import { createApp } from '../../../src/app.ts'
import { ask, createFakeDeps, limits, token } from '../../support/http/fake-deps.ts'
import { multipart } from '../../support/http/test-form.ts'

const authorization = `Bearer ${token}`
const shown = {
  name: 'key',
  type: 'secret',
  created_at: '2026-01-02T03:04:05',
  updated_at: '2026-01-02T03:04:05',
  edited_by: "token: 'admin'",
}

function open(t: Test) {
  const clock = { nowMs: Date.UTC(2026, 0, 2, 3, 4, 5, 678) }
  const deps = { ...createFakeDeps(), now: () => clock.nowMs }
  const app = createApp(deps, { ...limits, formBytesMax: 20_000 })
  t.teardown(() => app.close())
  const call = async (method: 'GET' | 'POST' | 'PUT' | 'DELETE', path = '', more: InjectOptions = {}) => {
    const url = `/v0/variables${path}`
    return await ask(app, { method, url, ...more, headers: { authorization, ...more.headers } })
  }
  return { deps, clock, call }
}

t.test('a variable is made, listed, shown, changed and deleted, and its value is never answered', async (t) => {
  const { call, deps } = open(t)
  const made = await call('POST', '?name=key&value=first&type=secret')
  t.equal(made.statusCode, 200, made.body)
  t.same(made.json(), shown)
  t.same((await call('GET')).json(), { variables: [shown] })
  t.same((await call('GET', '/key')).json(), shown)
  const changed = await call('PUT', '/key', { payload: 'value=second' })
  t.same([changed.statusCode, changed.json()], [200, shown])
  t.equal(deps.variables.secretOf('key'), 'second')
  await call('GET', '/key?value=third')
  t.notMatch(JSON.stringify(deps.entries), /first|second|third/, 'and never logged')
  t.match(deps.entries[0], { fields: { url: '/v0/variables', status: 200 } })
  const deleted = await call('DELETE', '/key')
  t.same([deleted.statusCode, deleted.json()], [200, { ok: true }])
  t.same((await call('GET')).json(), { variables: [] })
})

t.test('name and value come from the query, a form, JSON or all of them', async (t) => {
  const { payload: form, type } = multipart([
    { name: 'name', content: 'key' },
    { name: 'value', content: ' a b ' },
  ])
  for (const [path, payload, contentType] of [
    ['?name=key&value=+a+b+', undefined, undefined],
    ['', 'name=key&value=%20a+b%20&type=secret', 'application/x-www-form-urlencoded'],
    ['', '{"name": "key", "value": " a b "}', 'application/json'],
    ['?name=other', '{"name": "key", "value": " a b ", "type": "secret"}', undefined],
    ['?name=key', 'value= a b ', 'text/plain'],
    ['', form, type],
  ] as const) {
    const { call, deps } = open(t)
    const headers = contentType === undefined ? {} : { 'content-type': contentType }
    const answer = await call('POST', path, payload === undefined ? {} : { payload, headers })
    t.equal(answer.statusCode, 200, answer.body)
    // A form drops the blank at the end of its last line, as all forms do here.
    const expected = path === '?name=key' ? ' a b' : ' a b '
    t.equal(deps.variables.secretOf('key'), expected, `${path} ${String(payload)}`)
  }
  const { call, deps } = open(t)
  t.equal((await call('POST', '', { payload: '{"name": "number", "value": 0}' })).statusCode, 200)
  t.equal((await call('POST', '?name=empty&value=')).statusCode, 200)
  t.same([deps.variables.secretOf('number'), deps.variables.secretOf('empty')], ['0', ''])
})

t.test('what cannot be is refused in the words that clients know', async (t) => {
  const { call } = open(t)
  await call('POST', '?name=key&value=x')
  for (const [method, path, status, error] of [
    ['GET', '/none', 404, 'Not found'],
    ['PUT', '/none?value=x', 404, 'Variable not found'],
    ['PUT', '/none', 404, 'Variable not found'],
    ['DELETE', '/none', 404, 'Variable not found'],
    ['POST', '?name=key&value=y', 409, 'There is already a variable with name "key"'],
    ['POST', '?value=y', 400, 'Parameter "name" is required'],
    ['POST', '?name=new', 400, 'Parameter "value" is required'],
    ['PUT', '/key', 400, 'Parameter "value" is required'],
    [
      'POST',
      '?name=a-b&value=x',
      400,
      '"a-b" is not a valid name: use letters, digits and _, and do not begin with a digit',
    ],
    ['POST', '?name=new&value=x&type=plain', 400, 'Parameter "type" is "plain", but must be secret'],
    ['POST', `?name=new&value=${'x'.repeat(8193)}`, 400, 'The value of variable "new" is larger than 8192 bytes'],
  ] as const) {
    const answer = await call(method, path)
    t.equal(answer.statusCode, status, `${method} ${path.slice(0, 40)}: ${answer.body}`)
    t.equal(answer.json().error, error)
    t.type(answer.json().documentation, 'string')
  }
  t.equal((await call('POST', '', { payload: `name=fits&value=${'x'.repeat(8192)}` })).statusCode, 200)
})
