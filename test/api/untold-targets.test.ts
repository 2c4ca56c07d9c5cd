// Whoever may add rows to a data source and not read it hears neither how it is defined nor what it has, by making views that fill it; and
// nobody learns from a populate how many rows a hidden source has.

import t from 'tap'
import { endedJob, jobIdOf } from '../support/api/job-calls.ts'
import { openTestService } from '../support/api/test-service.ts'
import { ViewCalls } from '../support/api/view-calls.ts'

const service = await openTestService(t)
const views = new ViewCalls(service)

async function tokenOf(name: string, scopes: readonly string[]): Promise<string> {
  const query = new URLSearchParams({ name })
  for (const scope of scopes) query.append('scope', scope)
  const { json } = await service.call('POST', `/v0/tokens?${query}`)
  // The shape of the answer is what other tests check.
  return (json as { readonly token: string }).token
}

const partitioned = { engine: 'MergeTree', engine_partition_key: 'k', engine_sorting_key: 'k' }
await service.call(
  'POST',
  `/v0/datasources?${new URLSearchParams({ name: 'hidden', schema: 'k UInt8', ...partitioned })}`,
)
const ttl = {
  engine: 'MergeTree',
  engine_sorting_key: 'hush',
  engine_ttl: "toDate('2999-01-01') + toIntervalDay(hush)",
}
const schema = 'k UInt8, hush UInt16 DEFAULT 0'
await service.call('POST', `/v0/datasources?${new URLSearchParams({ name: 'target', schema, ...ttl })}`)
await views.send('hidden', [{ k: 1 }, { k: 2 }, { k: 3 }, { k: 4 }, { k: 5 }])
await views.fill('filling', 'SELECT k FROM hidden', { datasource: 'target' })
await views.send('hidden', [{ k: 6 }])
await service.untilStored('hidden')
const population = '/v0/pipes/filling/nodes/filling_view/population'
const blind = await tokenOf('blind', ['PIPES:CREATE', 'DATASOURCES:APPEND:target', 'DATASOURCES:APPEND:hidden'])
const copier = await tokenOf('copier', ['PIPES:CREATE', 'DATASOURCES:APPEND:target', 'DATASOURCES:READ:hidden'])
const reader = await tokenOf('reader', [
  ...['PIPES:CREATE', 'DATASOURCES:APPEND:target'],
  ...['DATASOURCES:READ:target', 'DATASOURCES:READ:hidden'],
])

t.test('an analysis and a misfit tell the definition of a target to its readers alone', async (t) => {
  await service.call('POST', '/v0/pipes?name=plain', { body: 'SELECT 1 AS one' })
  await service.call('POST', '/v0/datasources?name=own&schema=k%20UInt32')
  const both = ['DATASOURCES:READ:own', 'DATASOURCES:APPEND:own']
  const asker = await tokenOf('asker', ['PIPES:CREATE', 'DATASOURCES:APPEND:target', ...both])
  const knower = await tokenOf('knower', [
    ...['PIPES:CREATE', 'DATASOURCES:APPEND:target', 'DATASOURCES:READ:target'],
    ...both,
  ])
  const node = '/v0/pipes/plain/nodes?name=misfit&type=materialized&datasource=target'
  const sql = 'SELECT toString(k) AS k FROM own'
  const untold = await service.call('POST', node, { token: asker, body: sql })
  t.equal(untold.status, 400, untold.text)
  t.notMatch(untold.text, /UInt8|hush/)
  const told = await service.call('POST', node, { token: knower, body: sql })
  t.equal(told.status, 400)
  t.match(told.text, /UInt8/)
  await service.call('POST', '/v0/pipes/plain/nodes?name=fits', { body: 'SELECT toUInt8(k) AS k FROM own' })
  const analysis = '/v0/pipes/plain/nodes/fits/analysis?datasource=target'
  const refused = await service.call('POST', analysis, { token: asker })
  t.equal(refused.status, 403, refused.text)
  t.notMatch(refused.text, /hush|MergeTree/)
  const analysed = await service.call('POST', analysis, { token: knower })
  t.equal(analysed.status, 200, analysed.text)
  t.match(analysed.text, /hush/)
  const made = await service.call('POST', '/v0/pipes/plain/nodes/fits/materialization?datasource=target', {
    token: asker,
  })
  t.equal(made.status, 200, made.text)
  t.notMatch(made.text, /hush/)
})

t.test('a populate tells what its source and its target have to who may read them alone', async (t) => {
  const asked = await service.call('POST', population, { token: copier })
  t.equal(asked.status, 200, asked.text)
  t.notMatch(asked.text, /has rows already/)
  const id = jobIdOf(asked)
  const own = await endedJob(service, id, { token: copier })
  t.match(own, { status: 'done', queries: [{ status: 'done' }], progress_percentage: 100 })
  t.equal(own.queries?.length, 1)
  t.notMatch(JSON.stringify(own), /rows_total|has rows already/)
  const known = await endedJob(service, id)
  t.equal(known.queries?.length, 6)
  t.match(known, { rows_total: 6, warnings: [/has rows already/] })
  const again = await service.call('POST', population, { token: reader })
  t.match(again.text, /has rows already/)
  await endedJob(service, jobIdOf(again))
})

t.test('who may not read the source is told so by the name of the node', async (t) => {
  const { status, text } = await service.call('POST', `${population}?dry_run=true`, { token: blind })
  t.equal(status, 403)
  t.match(text, /filling_view/)
  t.notMatch(text, /\bt_[0-9a-f]{8}/)
  const refused = await service.call('POST', population, { token: blind })
  t.equal(refused.status, 403)
  t.notMatch(refused.text, /\bt_[0-9a-f]{8}/)
})
