import t from 'tap'
import { filterOfA, openTokenService, shownIn } from '../support/api/token-service.ts'

const inAnHour = () => String(Math.floor(Date.now() / 1_000) + 3_600)

t.test('a TOKENS token with a filter makes no token that reads through pipes without it', async (t) => {
  const { as, make, valueWith } = await openTokenService(t)
  const makers = [
    ['of a pipe', ['TOKENS', 'PIPES:READ:p1', 'PIPES:CREATE:p1', filterOfA], ['PIPES:READ:p1']],
    ['with PIPES:CREATE', ['TOKENS', 'PIPES:CREATE', filterOfA], ['PIPES:CREATE']],
    ['of a pipe below', ['TOKENS', 'PIPES:READ:p2', "PIPES:READ:p1:tenant = 'a'"], ['PIPES:READ:p2']],
    ['of all pipes', ['TOKENS', 'PIPES:READ', filterOfA], ['PIPES:READ:pagg']],
    ['of everything', ['TOKENS', 'WORKSPACE:READ_ALL', filterOfA], ['PIPES:READ:p1']],
    ['of everything, for all', ['TOKENS', 'WORKSPACE:READ_ALL', filterOfA], ['WORKSPACE:READ_ALL']],
    ['of all data sources', ['TOKENS', 'DATASOURCES:READ', filterOfA], ['DATASOURCES:READ']],
  ] as const
  for (const [label, own, given] of makers) {
    const maker = as(await valueWith(`maker ${label}`, ...own))
    t.equal((await make(`child ${label}`, given, maker)).status, 403, label)
    const kept = own.filter((scope) => scope.includes("'a'"))
    const child = await make(`filtered child ${label}`, [...given, ...kept], maker)
    t.equal(child.status, 200, `${label}: ${child.text}`)
    const answer = await as(shownIn(child).token)('GET', '/v0/pipes/p1.json')
    t.notMatch(answer.text, /CANARY/, label)
  }
})

t.test('a TOKENS token with a filter makes no JWT without it', async (t) => {
  const { as, valueWith } = await openTokenService(t)
  const maker = as(await valueWith('maker', 'TOKENS', 'PIPES:READ:p1', filterOfA))
  const jwt = (...scopes: readonly object[]) =>
    maker('POST', `/v0/tokens?expiration_time=${inAnHour()}`, JSON.stringify({ name: 'jwt', scopes }))
  const ofPipe = { type: 'PIPES:READ', resource: 'p1' }
  t.equal((await jwt(ofPipe)).status, 403)
  const filtered = await jwt(ofPipe, { type: 'DATASOURCES:READ', resource: 'ev', filter: "tenant = 'a'" })
  const answer = await as(shownIn(filtered).token)('GET', '/v0/pipes/p1.json')
  t.match(answer, { status: 200, json: { data: [{ id: 1, tenant: 'a' }] } })
  t.equal((answer.json as { readonly rows: number }).rows, 1)
})

t.test('a TOKENS token with a filter is not told of tokens without it, and does not change them', async (t) => {
  const { admin, as, valueWith } = await openTokenService(t)
  const value = await valueWith('justpipe', 'PIPES:READ:p1')
  const maker = as(await valueWith('maker', 'TOKENS', 'PIPES:READ:p1', 'PIPES:CREATE:p1', filterOfA))
  const tries = [
    ['GET', '/v0/tokens/justpipe'],
    ['GET', '/v0/tokens/justpipe/access?resource=p1'],
    ['GET', `/v0/tokens/${value}`],
    ['POST', '/v0/tokens/justpipe/refresh'],
    ['PUT', '/v0/tokens/justpipe?name=mine'],
    ['PUT', '/v0/tokens/maker?scope=TOKENS&scope=PIPES:READ:p1&scope=PIPES:CREATE:p1'],
    ['DELETE', '/v0/tokens/justpipe'],
    ['GET', '/v0/tokens'],
    ['POST', '/v0/pipes/p1/nodes/p1_0/endpoint'],
  ] as const
  for (const [method, path] of tries) {
    const answer = await maker(method, path)
    t.notMatch(answer.text, value, `${method} ${path}`)
    const isOpen = path === '/v0/tokens' || path.endsWith('/endpoint')
    t.equal(answer.status, isOpen ? 200 : 403, `${method} ${path} ${answer.text}`)
  }
  t.equal((await admin('GET', '/v0/tokens/justpipe')).status, 200)
})

t.test('what a filter takes from its token besides rows is not given to another', async (t) => {
  const { as, make, valueWith } = await openTokenService(t)
  const maker = as(await valueWith('maker', 'TOKENS', 'DATASOURCES:CREATE:ev', 'DATASOURCES:DROP:ev', filterOfA))
  t.equal((await maker('POST', '/v0/datasources/ev/alter?dry=true', 'description=x')).status, 403)
  for (const scope of ['DATASOURCES:CREATE:ev', 'DATASOURCES:DROP:ev']) {
    t.equal((await make(`child of ${scope}`, [scope], maker)).status, 403, scope)
  }
  const child = await make('child', ['DATASOURCES:CREATE:ev', filterOfA], maker)
  const alter = await as(shownIn(child).token)('POST', '/v0/datasources/ev/alter?dry=true', 'description=x')
  t.equal(alter.status, 403)
})

t.test('a token that expires makes, sees and refreshes none that lives longer', async (t) => {
  const { admin, as, make, valueWith } = await openTokenService(t)
  const end = Number(inAnHour())
  const scopes = '&scope=TOKENS&scope=PIPES:READ:p1'
  const maker = as(shownIn(await admin('POST', `/v0/tokens?name=maker&expires_at=${end}${scopes}`)).token)
  const refused = { status: 403, json: { error: 'The token cannot give more than it may do itself' } }
  t.match(await make('child', ['PIPES:READ:p1'], maker), refused)
  t.match(await maker('POST', `/v0/tokens?name=child&expires_at=${end + 1}&scope=PIPES:READ:p1`), refused)
  t.equal((await maker('POST', `/v0/tokens?name=child&expires_at=${end}&scope=PIPES:READ:p1`)).status, 200)
  const body = JSON.stringify({ name: 'jwt', scopes: [{ type: 'PIPES:READ', resource: 'p1' }] })
  t.match(await maker('POST', `/v0/tokens?expiration_time=${end + 1}`, body), refused)
  t.equal((await maker('POST', `/v0/tokens?expiration_time=${end}`, body)).status, 200)
  const value = await valueWith('for ever', 'PIPES:READ:p1')
  t.equal((await maker('GET', '/v0/tokens/for%20ever')).status, 403)
  t.notMatch((await maker('GET', '/v0/tokens')).text, value)
  t.equal((await maker('POST', '/v0/tokens/for%20ever/refresh')).status, 403)
  t.equal((await maker('POST', '/v0/tokens/maker/refresh')).status, 200, 'its own end stays')
  const ofAdmin = as(shownIn(await admin('POST', `/v0/tokens?name=root&expires_at=${end}&scope=ADMIN`)).token)
  t.match(await make('root for ever', ['ADMIN'], ofAdmin), refused)
})

t.test('a token with APPEND beside a filtered READ appends', async (t) => {
  const { service, as, valueWith } = await openTokenService(t)
  const token = await valueWith('writer', 'DATASOURCES:APPEND:ev', filterOfA)
  const rows = '{"id":3,"tenant":"b","secret":"x"}'
  t.equal((await service.events('ev', rows, {}, { token })).status, 202)
  const answer = await service.append('ev', 'ndjson', rows, { token })
  t.match(answer, { status: 200, json: { error: false, datasource: { statistics: { row_count: null } } } })
  t.match(await as(token)('GET', '/v0/tokens'), { status: 403, json: { error: /it needs TOKENS or ADMIN/ } })
  const refused = await as(token)('POST', '/v0/sql?q=SELECT+*+FROM+ev_quarantine')
  t.equal(refused.status, 403)
  const creator = as(await valueWith('creator', 'DATASOURCES:CREATE:ev', filterOfA))
  t.match(await creator('POST', '/v0/datasources/ev/truncate'), {
    status: 403,
    json: { error: /to "ev": a filter hides rows from it/ },
  })
})

t.test(
  'a token whose filtered data source is dropped and made again does not read the new one through pipes',
  async (t) => {
    const { admin, as, service, valueWith } = await openTokenService(t)
    const paths = [
      '/v0/pipes/p1.json',
      '/v0/sql?q=SELECT+*+FROM+ev+FORMAT+JSON',
      '/v0/sql?q=SELECT+*+FROM+p1+FORMAT+JSON',
    ]
    const readers = {
      pipe: as(await valueWith('pipe', 'PIPES:READ:p1', filterOfA)),
      everything: as(await valueWith('everything', 'WORKSPACE:READ_ALL', filterOfA)),
      sources: as(await valueWith('sources', 'DATASOURCES:READ', 'PIPES:READ', filterOfA)),
    }
    await admin('POST', `/v0/datasources?name=other&schema=${encodeURIComponent('tenant String')}`)
    const scopes = [
      { type: 'PIPES:READ', resource: 'p1' },
      { type: 'DATASOURCES:READ', resource: 'other', filter: "tenant = 'a'" },
    ]
    const jwtBody = JSON.stringify({ name: 'jwt', scopes })
    const jwt = as(shownIn(await admin('POST', `/v0/tokens?expiration_time=${inAnHour()}`, jwtBody)).token)
    t.equal((await jwt('GET', '/v0/pipes/p1.json')).status, 200)
    t.equal((await admin('PUT', '/v0/datasources/other?name=another')).status, 200)
    t.equal((await jwt('GET', '/v0/pipes/p1.json')).status, 200, 'the filter holds under the new name')
    t.equal((await admin('DELETE', '/v0/datasources/another')).status, 204)
    t.match(await jwt('GET', '/v0/pipes/p1.json'), { status: 403, json: { error: /is not there any more/ } })
    t.equal((await admin('DELETE', '/v0/datasources/ev?force=true')).status, 204)
    await service.call(
      'POST',
      `/v0/datasources?name=ev&schema=${encodeURIComponent('id UInt32, tenant String, secret String')}`,
      {
        token: 'p.tokens.0123456789abcdef0123456789abcdef',
      },
    )
    await admin('POST', '/v0/events?name=ev&wait=true', '{"id":2,"tenant":"b","secret":"HIDDENCANARY"}')
    for (const [name, reader] of Object.entries(readers)) {
      for (const path of paths) {
        const answer = await reader('GET', path)
        t.equal(answer.status, 403, `${name} ${path} ${answer.text}`)
        t.notMatch(answer.text, /CANARY/, `${name} ${path}`)
      }
      t.match(await reader('GET', '/v0/pipes/p1.json'), { json: { error: /is not there any more/ } }, name)
    }
    t.match(await admin('GET', '/v0/tokens/pipe'), {
      json: { scopes: [{ resource: 'p1' }, { filter: "tenant = 'a'" }] },
    })
    t.equal((await admin('PUT', '/v0/tokens/pipe?description=kept')).status, 200)
    t.equal((await readers.pipe('GET', '/v0/pipes/p1.json')).status, 403, 'a change of something else keeps the filter')
    t.equal((await admin('PUT', '/v0/tokens/pipe?scope=PIPES:READ:p1')).status, 200)
    t.equal((await readers.pipe('GET', '/v0/pipes/p1.json')).status, 200)
  },
)
