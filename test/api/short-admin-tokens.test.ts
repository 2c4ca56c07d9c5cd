import { createHmac } from 'node:crypto'
import t from 'tap'
import { startText } from '../../src/start-text.ts'
import { openTestService, type TestService } from '../support/api/test-service.ts'

async function jwtOf(service: TestService, key: string): Promise<string> {
  const { json } = await service.call('GET', '/v0/workspace', { token: key })
  // The shape is what other tests check.
  const { id } = json as { readonly id: string }
  const scopes = [{ type: 'PIPES:READ', resource: 'one' }]
  const payload = { workspace_id: id, name: 'visitor', exp: Math.floor(Date.now() / 1_000) + 600, scopes }
  const encode = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url')
  const signed = `${encode({ alg: 'HS256', typ: 'JWT' })}.${encode(payload)}`
  return `${signed}.${createHmac('sha256', key).update(signed).digest('base64url')}`
}

t.test('the start says on its output that an admin token is too short', async (t) => {
  for (const isSigning of [false, true]) {
    const fields = {
      version: '1',
      address: 'http://localhost',
      isTokenShown: false,
      tokenVariable: 'MILLRACE_ADMIN_TOKEN',
    }
    const adminToken = { text: 'k'.repeat(31), origin: 'given', path: null, isSigning } as const
    const said = startText({ ...fields, adminToken, lostSecretCount: 0 })
    t.equal(/It is too short to sign JWTs: give at least 32 characters/.test(said), !isSigning)
  }
})

const tooShort =
  'The admin token that was given is too short to sign JWTs, because it could be guessed: give a longer one.'

for (const [byteCount, isSigning] of [
  [8, false],
  [31, false],
  [32, true],
] as const) {
  t.test(`an admin token of ${byteCount} bytes that is given ${isSigning ? 'signs' : 'signs no'} JWTs`, async (t) => {
    const adminToken = 'k'.repeat(byteCount)
    const service = await openTestService(t, { adminToken })
    const admin = { token: adminToken }
    const warning = service.log.entries.find(({ message }) => message === tooShort)
    t.same(warning?.fields, isSigning ? undefined : { bytesMin: 32 }, 'the start says it')
    const nodes = [{ name: 'n0', type: 'endpoint', sql: 'SELECT 1 AS one' }]
    const body = JSON.stringify({ name: 'one', nodes })
    t.equal((await service.call('POST', '/v0/pipes', { ...admin, body })).status, 200, 'it does all else')
    const token = await jwtOf(service, adminToken)
    const read = await service.call('GET', '/v0/pipes/one.json', { token })
    t.equal(read.status, isSigning ? 200 : 403)
    const events = await service.events('hits', '{"n":1}', {}, { token })
    t.equal(events.status, 403, 'nor is it told of another workspace')
    const expires = Math.floor(Date.now() / 1_000) + 600
    const order = JSON.stringify({ name: 'made', scopes: [{ type: 'PIPES:READ', resource: 'one' }] })
    const made = await service.call('POST', `/v0/tokens?expiration_time=${expires}`, { ...admin, body: order })
    t.equal(made.status, isSigning ? 200 : 409, made.text)
    const name = encodeURIComponent('workspace admin token')
    for (const path of [name, adminToken]) {
      t.equal((await service.call('POST', `/v0/tokens/${path}/refresh`, admin)).status, 409, 'it is not refreshed')
    }
    t.equal((await service.call('GET', '/v0/tokens', admin)).status, 200, 'and stays what it was')
  })
}
