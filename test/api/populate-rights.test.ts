// Whoever may fill a data source gets no rows that way which it may not read.

import t, { type Test } from 'tap'
import { endedJob, jobIdOf } from '../support/api/job-calls.ts'
import { errorOf, openPipeService } from '../support/api/pipe-service.ts'
import type { Answer } from '../support/api/test-service.ts'
import { ViewCalls } from '../support/api/view-calls.ts'

const { service, call } = await openPipeService(t)
const views = new ViewCalls(service)
await service.create('hidden', 'id UInt32, secret String')
await service.create('beside', 'id UInt32')
await service.create('copies', 'id UInt32, secret String')
await views.send('hidden', [{ id: 1, secret: 'CANARY' }])
await call('POST', '/v0/pipes', {
  body: JSON.stringify({ name: 'inner', nodes: [{ name: 'inner_0', sql: 'SELECT id, secret FROM hidden' }] }),
})
const queries = {
  plain: 'SELECT id, secret FROM hidden',
  joined: "SELECT id, ifNull((SELECT any(secret) FROM hidden), '') AS secret FROM beside",
  united: "SELECT id, '' AS secret FROM beside UNION ALL SELECT id, secret FROM hidden",
  deep: 'SELECT id, secret FROM inner',
}
const pipes = Object.keys(queries)
for (const [pipe, sql] of Object.entries(queries)) await views.fill(pipe, sql, { datasource: 'copies' })

const own = ['DATASOURCES:APPEND:copies', 'DATASOURCES:READ:copies', 'DATASOURCES:CREATE:copies']
const common = [...own, 'DATASOURCES:READ:beside', ...pipes.map((pipe) => `PIPES:CREATE:${pipe}`)]

async function tokenOf(name: string, ...scopes: readonly string[]): Promise<string> {
  const query = new URLSearchParams({ name })
  for (const scope of [...common, ...scopes]) query.append('scope', scope)
  // The shape of the answer is what other tests check.
  return ((await call('POST', `/v0/tokens?${query}`)).json as { readonly token: string }).token
}

function ask(pipe: string, path: string, token: string): Promise<Answer> {
  return call('POST', `/v0/pipes/${pipe}/nodes/${pipe}_view/${path}`, { token })
}

async function refuseEach(t: Test, token: string, nodes: readonly string[] = pipes): Promise<void> {
  const ways = [
    'population',
    'population?populate_subset=0.05',
    'population?dry_run=true',
    'repair',
    'repair?force=true',
  ]
  for (const pipe of nodes) {
    for (const way of [...ways, 'population?populate_condition=id%3D1']) {
      const refused = await ask(pipe, way, token)
      t.equal(refused.status, 403, `${pipe} ${way}: ${refused.text}`)
      t.notMatch(errorOf(refused), /t_[0-9a-f]{32}/)
    }
  }
  t.equal(await service.count('copies'), 0)
}

t.test('without the right to read the source', async (t) => {
  const token = await tokenOf('none')
  await refuseEach(t, token)
  const { text } = await call('GET', '/v0/pipes/plain/nodes/plain_view/verify', { token })
  t.notMatch(text, /t_[0-9a-f]{32}|hidden/)
})

t.test('with a filter of its rows', async (t) => {
  await refuseEach(t, await tokenOf('filtered', 'DATASOURCES:READ:hidden:id = 1'))
  await refuseEach(t, await tokenOf('filtered pipe', 'PIPES:READ:inner:id = 1'))
})

t.test('with the right to read a pipe in its place', async (t) => {
  const token = await tokenOf('of pipes', 'PIPES:READ:inner')
  await refuseEach(t, token, ['plain', 'joined', 'united'])
  const answer = await ask('deep', 'population', token)
  t.equal(answer.status, 200, answer.text)
  t.equal((await endedJob(service, jobIdOf(answer))).status, 'done')
  t.equal(await service.count('copies'), 1)
  await call('POST', '/v0/datasources/copies/truncate')
})

t.test('a view that a populate has unlinked, and that is linked again', async (t) => {
  await service.create('failing', 'id UInt32, secret String')
  await views.send('failing', [{ id: 7, secret: 'CANARY' }])
  const sql = 'SELECT toUInt32(id + throwIf(id = 7)) AS id, secret FROM failing'
  const made = await views.tryFill('late', sql, { datasource: 'copies', populate: 'true' })
  // As above.
  const { job } = made.json as { readonly job: { readonly id: string } }
  t.equal((await endedJob(service, job.id)).status, 'error')
  const writer = ['PIPES:CREATE:late', 'DATASOURCES:APPEND:failing']
  for (const read of [[], ['DATASOURCES:READ:failing:id = 1']]) {
    const token = await tokenOf(`late ${read}`, ...writer, ...read)
    for (const way of ['relink?populate=true', 'relink', 'materialization?datasource=copies&populate=true']) {
      const refused = await ask('late', way, token)
      t.equal(refused.status, 403, `${way}: ${refused.text}`)
    }
  }
})

t.test('with the right to read all of it', async (t) => {
  const token = await tokenOf('all', 'DATASOURCES:READ:hidden')
  for (const pipe of pipes.slice(0, 3)) {
    const answer = await ask(pipe, 'population', token)
    t.equal(answer.status, 200, answer.text)
    t.equal((await endedJob(service, jobIdOf(answer))).status, 'done')
  }
})

t.test('with truncate a node needs the right to make its target anew, as rows go', async (t) => {
  const body = new URLSearchParams({ name: 'appends' })
  const scopes = ['PIPES:CREATE:truncating', 'DATASOURCES:READ:beside', 'DATASOURCES:APPEND:beside']
  for (const scope of [...scopes, 'DATASOURCES:APPEND:copies', 'DATASOURCES:READ:copies']) body.append('scope', scope)
  // As above.
  const { token } = (await call('POST', '/v0/tokens', { body: body.toString() })).json as { readonly token: string }
  const sql = "SELECT id, '' AS secret FROM beside"
  const node = { name: 'v', sql, type: 'materialized', datasource: 'copies', populate: 'true', truncate: 'true' }
  const made = await call('POST', '/v0/pipes', { token, body: JSON.stringify({ name: 'truncating', nodes: [node] }) })
  t.match([made.status, errorOf(made)], [403, /DATASOURCES:CREATE:copies/])
})
