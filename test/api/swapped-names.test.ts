// A name is judged, and then something is done by it: what stands for the name by then must be what was judged.

import t, { type Test } from 'tap'
import { openTokenService } from '../support/api/token-service.ts'

const { admin, as, service, valueWith } = await openTokenService(t)
const canary = /HIDDENCANARY/
const schema = encodeURIComponent('m String `json:$.m`')

async function done(method: string, path: string, body?: string): Promise<void> {
  const { status, text } = await admin(method, path, body)
  if (status >= 300) throw new Error(`${method} ${path}: ${text}`)
}

/** A data source with one row. */
async function dataSource(name: string, row: string): Promise<void> {
  await done('POST', `/v0/datasources?name=${name}&schema=${schema}`)
  await done('POST', `/v0/events?name=${name}&wait=true`, JSON.stringify({ m: row }))
}

async function pipe(name: string, ...nodes: readonly { readonly name: string; readonly sql: string }[]): Promise<void> {
  const typed = nodes.map((node, index) => (index === nodes.length - 1 ? { ...node, type: 'endpoint' } : node))
  await done('POST', '/v0/pipes', JSON.stringify({ name, nodes: typed }))
}

const rename = (kind: string, from: string, to: string): Promise<void> =>
  done('PUT', `/v0/${kind}/${from}?name=${to}&force=true`)

/** Sends the head of a request, has `meanwhile` done once it is judged, sends the body and gives the status. */
async function slowly(
  t: Test,
  { token, method, path, body }: { readonly [name in 'body' | 'method' | 'path' | 'token']: string },
  meanwhile: () => Promise<void>,
): Promise<number> {
  const client = await service.openRaw()
  t.teardown(() => client.socket.destroy())
  const lines = [`${method} ${path} HTTP/1.1`, 'Host: localhost', `Authorization: Bearer ${token}`]
  client.send(`${[...lines, 'Expect: 100-continue', `Content-Length: ${body.length}`].join('\r\n')}\r\n\r\n`)
  await client.until((text) => text.includes('100 Continue'))
  await meanwhile()
  client.send(body)
  const text = await client.until((all) => /HTTP\/1\.1 [2-5]\d\d/.test(all))
  return Number(/HTTP\/1\.1 ([2-5]\d\d)/.exec(text)?.[1])
}

t.test('what a body takes its time for is done to what was judged, or to nothing', async (t) => {
  await dataSource('mine', 'own')
  await dataSource('theirs', 'HIDDENCANARY')
  await pipe('my_pipe', { name: 'n', sql: 'SELECT 1 AS one' })
  await pipe('their_pipe', { name: 'n', sql: 'SELECT 2 AS two' })
  const scopes = ['DATASOURCES:CREATE:mine', 'DATASOURCES:DROP:mine', 'PIPES:CREATE:my_pipe', 'PIPES:DROP:my_pipe']
  const token = await valueWith('slow', ...scopes, 'DATASOURCES:READ:mine', 'PIPES:READ:my_pipe')
  const swaps = { datasources: ['mine', 'theirs'], pipes: ['my_pipe', 'their_pipe'] } as const
  const swap = async (kind: keyof typeof swaps): Promise<void> => {
    const [own, other] = swaps[kind]
    await rename(kind, own, `${own}_away`)
    await rename(kind, other, own)
  }
  const back = async (kind: keyof typeof swaps): Promise<void> => {
    const [own, other] = swaps[kind]
    await rename(kind, own, other)
    await rename(kind, `${own}_away`, own)
  }
  for (const [kind, method, path, body] of [
    ['datasources', 'DELETE', '', 'force=true'],
    ['datasources', 'PUT', '', 'description=changed'],
    ['datasources', 'POST', '/alter', `schema=${schema}, n Int32 DEFAULT 0`],
    ['datasources', 'POST', '/truncate', 'any=thing'],
    ['datasources', 'POST', '/delete', 'delete_condition=1=1'],
    ['datasources', 'POST', '/quarantine/replay', 'any=thing'],
    ['pipes', 'DELETE', '', 'force=true'],
    ['pipes', 'PUT', '', 'description=changed'],
    ['pipes', 'PUT', '/nodes/n', 'SELECT 3'],
    ['pipes', 'POST', '/nodes', 'SELECT 3'],
    ['pipes', 'DELETE', '/nodes/n/endpoint', 'any=thing'],
    ['pipes', 'POST', '/nodes/n/materialization', 'datasource=made'],
    ['pipes', 'POST', '/nodes/n/materialization', 'datasource=mine'],
    ['pipes', 'POST', '/nodes?type=materialized&datasource=mine', 'SELECT m FROM mine'],
  ] as const) {
    const order = { token, method, path: `/v0/${kind}/${swaps[kind][0]}${path}`, body }
    t.equal(await slowly(t, order, () => swap(kind)), 403, `${method} ${kind}${path}`)
    await back(kind)
  }
  t.match((await admin('GET', '/v0/sql?q=SELECT+*+FROM+theirs')).text, canary)
  t.match((await admin('GET', '/v0/datasources/theirs')).json, {
    description: '',
    schema: { columns: [{ name: 'm' }] },
  })
  t.match((await admin('GET', '/v0/pipes/their_pipe')).json, { description: null, nodes: [{ sql: 'SELECT 2 AS two' }] })
  const order = { token, method: 'DELETE', path: '/v0/datasources/mine', body: 'force=true' }
  t.equal(await slowly(t, order, () => dataSource('unrelated', 'x')), 204, 'changes of others disturb nothing')
})

t.test('rows go to what was judged, however long their beginning takes', async (t) => {
  await dataSource('inlet', 'own')
  await dataSource('other_inlet', 'HIDDENCANARY')
  const token = await valueWith('sender', 'DATASOURCES:CREATE:inlet')
  for (const mode of ['append', 'replace']) {
    const path = `/v0/datasources?mode=${mode}&name=inlet&format=ndjson`
    await slowly(t, { token, method: 'POST', path, body: '{"m":"sent"}\n' }, async () => {
      await rename('datasources', 'inlet', 'inlet_away')
      await rename('datasources', 'other_inlet', 'inlet')
    })
    await rename('datasources', 'inlet', 'other_inlet')
    await rename('datasources', 'inlet_away', 'inlet')
  }
  const { json } = await admin('GET', '/v0/sql?q=SELECT+m+FROM+other_inlet+FORMAT+JSON')
  t.match(json, { data: [{ m: 'HIDDENCANARY' }], rows: 1 })
})

t.test('a node reads what its author was judged for, also where names change meanwhile', async (t) => {
  await dataSource('swapped', 'own')
  const racer = as(await valueWith('racer', 'DATASOURCES:CREATE', 'PIPES:CREATE', 'DATASOURCES:READ:swapped'))
  const own = await valueWith('swapper', 'DATASOURCES:CREATE', 'DATASOURCES:READ:swapped')
  await dataSource('hidden', 'HIDDENCANARY')
  // The more there is to look at, the longer it takes.
  const sql = `SELECT * FROM swapped WHERE 1 ${' AND 1=1'.repeat(400)}`
  const swap = async (): Promise<void> => {
    const swapper = as(own)
    await swapper('PUT', '/v0/datasources/swapped?name=swapped_away&force=true')
    await swapper('PUT', '/v0/datasources/hidden?name=swapped&force=true')
  }
  const acts = {
    edit: (name: string) => racer('PUT', `/v0/pipes/${name}/nodes/n`, sql),
    append: (name: string) => racer('POST', `/v0/pipes/${name}/nodes?type=endpoint`, sql),
    replace: (name: string) =>
      racer('POST', '/v0/pipes?force=true', JSON.stringify({ name, nodes: [{ name: 'n', sql, type: 'endpoint' }] })),
    create: (name: string) =>
      racer(
        'POST',
        '/v0/pipes',
        JSON.stringify({ name: `${name}_new`, nodes: [{ name: 'n', sql, type: 'endpoint' }] }),
      ),
    fill: (name: string) =>
      racer('POST', `/v0/pipes/${name}/nodes?type=materialized&datasource=filled_${name}&populate=true`, sql),
  }
  for (const [name, act] of Object.entries(acts)) {
    for (let round = 0; round < 3; round += 1) {
      const made = `${name}_${round}`
      await pipe(made, { name: 'n', sql: 'SELECT 1 AS m' })
      await Promise.all([act(made), swap()])
      for (const read of [`pipes/${made}.json`, `pipes/${made}_new.json`, `sql?q=SELECT+*+FROM+filled_${made}`]) {
        t.notMatch((await admin('GET', `/v0/${read}`)).text, canary, `${made} ${read}`)
      }
      for (const gone of [made, `${made}_new`]) await admin('DELETE', `/v0/pipes/${gone}?force=true`)
      await admin('DELETE', `/v0/datasources/filled_${made}?force=true`)
      for (const [from, to] of [
        ['swapped', 'hidden'],
        ['swapped_away', 'swapped'],
      ]) {
        if ((await admin('GET', '/v0/datasources/swapped_away')).status === 200)
          await rename('datasources', from ?? '', to ?? '')
      }
    }
  }
})

t.test('a node is removed or renamed by those alone who read what its name is made for behind it', async (t) => {
  await dataSource('hid1', 'HIDDENCANARY')
  for (const name of ['hid2', 'got2']) await dataSource(name, 'shown')
  const made = "% SELECT * FROM {{table('hid' + String(x, '2'))}}"
  await pipe('hiding', { name: 'hid1', sql: "SELECT 'none' AS m" }, { name: 'out', sql: made })
  await pipe('inside', { name: 'inner', sql: 'SELECT * FROM hid1' }, { name: 'out', sql: made.replace('hid', 'got') })
  const outsider = as(
    await valueWith('outsider', 'IMPORT', 'PIPES:CREATE:inside', 'PIPES:READ:hiding', 'PIPES:READ:inside'),
  )
  t.match(await outsider('DELETE', '/v0/pipes/hiding/nodes/hid1?force=true'), { status: 403, text: /hid1/ })
  t.notMatch((await outsider('GET', '/v0/pipes/hiding.json?x=1')).text, canary)
  t.match(await outsider('PUT', '/v0/pipes/inside/nodes/inner?name=got9'), { status: 403 })
  t.notMatch((await outsider('GET', '/v0/pipes/inside.json?x=9')).text, canary)
  t.match(
    await outsider('PUT', '/v0/pipes/inside/nodes/inner?name=other'),
    { status: 200 },
    'a name that nothing makes',
  )
  const shapes = [
    "{% if x and x.startswith('h') %}{{table(x)}}{% else %}hid2{% end %}",
    "{% if x and x.startswith('h') %}{{table(x.replace('Q', ''))}}{% else %}hid2{% end %}",
    "{% set names = {'a': x} %}{% if x and x.startswith('h') %}{{table(names['a'])}}{% else %}hid2{% end %}",
    "{% for n in Array(x, 'String', 'hid2') %}{% if n.startswith('h') %}{{table(n)}}{% end %}{% end %}",
    "hid2 AS one JOIN {{table(String(y, 'hid2'))}} AS two USING m",
  ]
  for (const [index, shape] of shapes.entries()) {
    const name = `guarded_${index}`
    const out = { name: 'out', sql: `% SELECT m FROM ${shape}` }
    await pipe(name, { name: 'hid1', sql: "SELECT 'none' AS m" }, out)
    const guest = as(
      await valueWith(`guest_${index}`, 'IMPORT', 'DATASOURCES:CREATE', `PIPES:CREATE:${name}`, `PIPES:READ:${name}`),
    )
    t.match(await guest('DELETE', `/v0/pipes/${name}/nodes/hid1?force=true`), { status: 403 }, shape)
    t.match(await guest('PUT', `/v0/pipes/${name}/nodes/hid1?name=other&force=true`), { status: 403 }, shape)
    t.match(await guest('PUT', '/v0/datasources/hid1?name=hid9&force=true'), { status: 403 }, shape)
  }
  const reader = as(await valueWith('insider', 'IMPORT', 'DATASOURCES:READ:hid1', 'PIPES:READ:hiding'))
  t.equal((await reader('DELETE', '/v0/pipes/hiding/nodes/hid1?force=true')).status, 204)
})

t.test('an answer that one token may have is none for another', async (t) => {
  const ask = 'SELECT count() AS n FROM organization.pipe_stats_rt'
  const without = as(await valueWith('no_organization', 'DATASOURCES:READ:ev'))
  const having = as(await valueWith('organization', 'DATASOURCES:READ:ev', 'ORG_DATASOURCES:READ'))
  for (const [caller, status] of [
    [without, 403],
    [having, 200],
    [without, 403],
  ] as const) {
    t.equal((await caller('POST', '/v0/sql', ask)).status, status)
  }
})

t.test('a filter whose data source is gone shows no service data sources', async (t) => {
  await dataSource('filtered', 'own')
  const caller = as(
    await valueWith('lost', 'DATASOURCES:READ:tinybird.pipe_stats_rt', "DATASOURCES:READ:filtered:m = 'own'"),
  )
  const ask = '/v0/sql?q=SELECT+count()+FROM+tinybird.pipe_stats_rt'
  t.equal((await caller('GET', ask)).status, 403)
  await done('DELETE', '/v0/datasources/filtered?force=true')
  t.equal((await caller('GET', ask)).status, 403)
})

t.test('a token that is gone, or has less rights, by the time the body has come does nothing', async (t) => {
  await dataSource('kept_on', 'own')
  await pipe('kept_pipe', { name: 'n', sql: 'SELECT 1 AS one' })
  const scopes = ['DATASOURCES:CREATE', 'DATASOURCES:READ:kept_on', 'DATASOURCES:DROP:kept_on', 'TOKENS'] as const
  const ends = {
    removed: (name: string) => done('DELETE', `/v0/tokens/${name}`),
    refreshed: (name: string) => done('POST', `/v0/tokens/${name}/refresh`),
    reduced: (name: string) => done('PUT', `/v0/tokens/${name}?scope=PIPES:READ:kept_pipe`),
  }
  let count = 0
  for (const [how, end] of Object.entries(ends)) {
    for (const [method, path, body] of [
      ['DELETE', '/v0/datasources/kept_on', 'force=true'],
      ['PUT', '/v0/datasources/kept_on', 'description=changed'],
      ['POST', '/v0/datasources', `name=made_${count}&schema=n Int32`],
      ['POST', '/v0/sql', 'SELECT * FROM kept_on'],
      ['POST', '/v0/sql?job=true', 'SELECT * FROM kept_on'],
      ['POST', '/v0/tokens', 'name=minted&scope=DATASOURCES:READ:kept_on'],
      [
        'POST',
        '/v0/tokens?name=jwt&expiration_time=2000000000',
        '{"scopes":[{"type":"PIPES:READ","resource":"kept_pipe"}]}',
      ],
    ] as const) {
      count += 1
      const name = `ends_${count}`
      const token = await valueWith(name, ...scopes, 'PIPES:READ:kept_pipe')
      const status = await slowly(t, { token, method, path, body }, () => end(name))
      t.equal(status, 403, `${how}: ${method} ${path}`)
    }
  }
  for (const [how, end] of Object.entries(ends)) {
    for (const [way, path] of [
      ['events', '/v0/events?name=kept_on&wait=true'],
      ['replace', '/v0/datasources?mode=replace&name=kept_on&format=ndjson'],
      ['create', `/v0/datasources?name=made_of_rows&format=ndjson`],
    ] as const) {
      const name = `${how}_${way}`
      const token = await valueWith(name, 'DATASOURCES:CREATE')
      t.equal(await slowly(t, { token, method: 'POST', path, body: '{"m":"late"}\n' }, () => end(name)), 403, name)
    }
  }
  t.match(await admin('GET', '/v0/sql?q=SELECT+m+FROM+kept_on+FORMAT+JSON'), {
    json: { data: [{ m: 'own' }], rows: 1 },
  })
  t.equal((await admin('GET', '/v0/datasources/made_of_rows')).status, 404)
  const refresher = await valueWith('refresher', 'TOKENS', 'DATASOURCES:READ:kept_on')
  t.match(await as(refresher)('POST', '/v0/tokens/refresher/refresh'), { status: 200 }, 'one that ends itself is told')
})

t.test('a filter that was lost while the body came shows no rows of what has the name then', async (t) => {
  await dataSource('narrow', 'own')
  const token = await valueWith('narrowed', "DATASOURCES:READ:narrow:m = 'own'")
  const order = { token, method: 'POST', path: '/v0/sql', body: 'SELECT * FROM narrow' }
  const status = await slowly(t, order, async () => {
    await done('DELETE', '/v0/datasources/narrow?force=true')
    await dataSource('narrow', 'HIDDENCANARY')
  })
  t.equal(status, 403)
})
