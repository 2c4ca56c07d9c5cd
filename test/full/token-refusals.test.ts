import t from 'tap'
import { openTokenService, shownIn } from '../support/api/token-service.ts'

t.test('what might mean less than it would give makes no token', async (t) => {
  const { admin } = await openTokenService(t)
  const listed = (scopes: string, more = '') => `{"name":"x","scopes":${scopes}${more}}`
  const read = '"type":"DATASOURCES:READ"'
  const cases = [
    ['', 'name=x&scope=DATASOURCES:READ:', /the name of the resource is empty/],
    ['', 'name=x&scope=DATASOURCES:READ:ev:', /the filter is empty/],
    ['', 'name=x&scope=DATASOURCES:READ:ev:%20', /the filter is empty/],
    ['?name=x&scope=ADMIN:', undefined, /takes no name/],
    ['', listed(`[{${read},"resource":""}]`), /the name of the resource is empty/],
    ['', listed(`[{${read},"resource":null}]`), /"resource" of a scope must be a text/],
    ['', listed(`[{${read},"resource":"ev","filter":""}]`), /the filter is empty/],
    ['', listed(`[{${read},"resource":"ev","filter":null}]`), /"filter" of a scope must be a text/],
    ['', listed(`[{${read},"resource":"ev","Filter":"tenant = 'a'"}]`), /a scope has the member "Filter"/],
    ['', listed('[{"type":"TOKENS"}]', ',"scopes":[{"type":"ADMIN"}]'), /has a key twice/],
    ['', listed('[{"type":"TOKENS","type":"ADMIN"}]'), /has a key twice/],
    ['', listed('{"type":"TOKENS"}'), /"scopes" must be a list/],
    ['', listed('null'), /"scopes" must be a list/],
    ['?scope=PIPES:READ:p1', listed('["ADMIN"]'), /send them in one place/],
    ['?expiration_time=', listed('[{"type":"ADMIN"}]'), /expiration_time/],
    ['', listed('[{"type":"ADMIN"}]', ',"expiration_time":null'), /expiration_time/],
    ['', listed('[{"type":"ADMIN"}]', ',"expiration_time":""'), /expiration_time/],
    ['?expires_at=', listed('[{"type":"TOKENS"}]'), /expires_at/],
    ['', 'name=x&scope=TOKENS&expires_at=', /expires_at/],
  ] as const
  for (const [query, body, error] of cases) {
    const answer = await admin('POST', `/v0/tokens${query}`, body)
    t.match(answer, { status: 400, json: { error } }, `${query} ${body} ${answer.text}`)
  }
  t.equal((await admin('GET', '/v0/tokens/x')).status, 403, 'none was made')
})

t.test('DROP:<name> drops what is called so, whatever it is called, and nothing else', async (t) => {
  const { admin, make, as } = await openTokenService(t)
  const schema = encodeURIComponent('n Int32 `json:$.n`')
  t.match((await make('drops all', ['DROP:NAME'])).json, { scopes: [{ type: 'DROP:NAME', resource: undefined }] })
  t.equal((await make('early', ['DROP:name'])).status, 400, 'there is none')
  for (const name of ['name', 'NAME']) {
    await admin('POST', `/v0/datasources?name=${name}&schema=${schema}`)
    const made = await make(`drops ${name}`, [`DROP:${name}`])
    t.match(made.json, { scopes: [{ type: 'DROP:NAME', resource: name }] })
    const caller = as(shownIn(made).token)
    t.equal((await caller('DELETE', '/v0/datasources/ev?force=true')).status, 403)
    t.equal((await caller('DELETE', '/v0/pipes/pagg')).status, 403)
    t.equal((await caller('DELETE', `/v0/datasources/${name}`)).status, 204)
  }
})

t.test('limits of a JWT that are written in other letters are not ignored', async (t) => {
  const { admin } = await openTokenService(t)
  const end = Math.floor(Date.now() / 1_000) + 600
  const make = (limits: string) => {
    const body = `{"name":"x","scopes":[{"type":"PIPES:READ","resource":"p1"}],"limits":${limits}}`
    return admin('POST', `/v0/tokens?expiration_time=${end}`, body)
  }
  t.equal((await make('{"rps":2}')).status, 200)
  for (const limits of ['{"RPS":2}', '{"rps":2,"x":1}']) {
    t.match(await make(limits), { status: 400, json: { error: /limits has a member other than rps/ } }, limits)
  }
})

t.test('the end of a token cannot be changed, and whoever tries is told', async (t) => {
  const { admin, make } = await openTokenService(t)
  await make('x', ['TOKENS'])
  for (const query of ['expires_at=1', 'expires_at=', 'expiration_time=4000000000']) {
    t.match(await admin('PUT', `/v0/tokens/x?${query}`), { status: 400, json: { error: /the end of a token/ } }, query)
  }
  t.equal((await admin('PUT', '/v0/tokens/x?description=y')).status, 200)
})

t.test('what clients send beside what is read makes their tokens as before', async (t) => {
  const { admin } = await openTokenService(t)
  const bodies = [
    ['?from=ts-sdk', '{"name":"a","origin":{"type":"C"},"host":"x","scopes":[{"type":"PIPES:READ","resource":"p1"}]}'],
    ['?name=b&scope=WORKSPACE:READ_ALL', undefined],
    ['', 'name=c&scope=PIPES:READ:p1&scope=DATASOURCES:READ:ev&description=d'],
    ['', '{"name":"d","scope":"TOKENS"}'],
    ['', '{"name":"e","scopes":["TOKENS","PIPES:READ:p1"],"expires_at":null}'],
    ['?name=f', '{"scopes":[]}'],
    ['', 'name=g&scope='],
  ] as const
  for (const [query, body] of bodies) {
    const answer = await admin('POST', `/v0/tokens/${query}`, body)
    t.equal(answer.status, 200, `${query} ${body} ${answer.text}`)
  }
})
