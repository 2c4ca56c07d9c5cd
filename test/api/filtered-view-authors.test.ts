// Whoever sees filtered rows alone makes no view that stores the others, and no node that gives them to others, however deep it reads them:
// their readers have no filter that would hold.

import t from 'tap'
import type { Answer } from '../support/api/test-service.ts'
import { openTestService } from '../support/api/test-service.ts'

const service = await openTestService(t)
const json = { 'content-type': 'application/json' }

async function made(path: string, body?: object | string): Promise<Answer> {
  const sent =
    typeof body === 'string' ? { body } : body === undefined ? {} : { body: JSON.stringify(body), headers: json }
  const answer = await service.call('POST', path, sent)
  if (answer.status !== 200) throw new Error(answer.text)
  return answer
}

async function tokenOf(name: string, scopes: readonly string[]): Promise<string> {
  const query = new URLSearchParams({ name })
  for (const scope of scopes) query.append('scope', scope)
  const { json: told } = await made(`/v0/tokens?${query}`)
  // The shape of the answer is what other tests check.
  return (told as { readonly token: string }).token
}

for (const [name, schema] of [
  ['rows', 'id UInt32, who String, secret String'],
  ['names', 'who String, label String'],
  ['trigger', 'k UInt32'],
  ['loot', 'v String'],
] as const) {
  await made(`/v0/datasources?${new URLSearchParams({ name, schema })}`)
}
await made('/v0/pipes', { name: 'inner', nodes: [{ name: 'inner_0', sql: 'SELECT id, who, secret FROM rows' }] })
await made('/v0/pipes', { name: 'outer', nodes: [{ name: 'outer_0', sql: 'SELECT id, who, secret FROM inner' }] })

const common = ['PIPES:CREATE', 'DATASOURCES:READ:trigger', 'DATASOURCES:APPEND:trigger', 'DATASOURCES:APPEND:loot']
const filters = {
  'of the data source': ["DATASOURCES:READ:rows:who = 'a'", 'PIPES:READ:inner', 'PIPES:READ:outer'],
  'of the data source, reading all else': ["DATASOURCES:READ:rows:who = 'a'", 'WORKSPACE:READ_ALL'],
  'of the pipe below': ["PIPES:READ:inner:who = 'a'", 'PIPES:READ:outer'],
}
const queries = {
  direct: 'SELECT secret AS v FROM rows',
  'through a pipe': 'SELECT secret AS v FROM inner',
  'through two pipes': 'SELECT secret AS v FROM outer',
  'in a subquery': 'SELECT toString((SELECT groupArray(secret) FROM outer)) AS v FROM trigger',
  'behind IN': 'SELECT toString(k) AS v FROM trigger WHERE k IN (SELECT id FROM outer)',
  'by a join': 'SELECT secret AS v FROM trigger JOIN outer ON k = id',
}

let count = 0
for (const [whose, scopes] of Object.entries(filters)) {
  t.test(`a filter ${whose}`, async (t) => {
    const token = await tokenOf(whose, [...common, ...scopes])
    for (const [way, sql] of Object.entries(queries)) {
      count += 1
      const name = `try_${count}`
      const node = { name: `${name}_view`, sql, type: 'materialized', datasource: 'loot' }
      const body = JSON.stringify({ name, nodes: [node] })
      const asked = { token, headers: json }
      t.equal((await service.call('POST', '/v0/pipes', { ...asked, body })).status, 403, `${way}, with the pipe`)
      const plain = JSON.stringify({ name, nodes: [{ name: 'one', sql: 'SELECT 1 AS one' }] })
      t.equal((await service.call('POST', '/v0/pipes', { ...asked, body: plain })).status, 200)
      const added = `/v0/pipes/${name}/nodes?${new URLSearchParams({ name: 'v', type: 'materialized', datasource: 'loot' })}`
      t.equal((await service.call('POST', added, { token, body: sql })).status, 403, `${way}, as a node`)
      const stored = await service.call('POST', `/v0/pipes/${name}/nodes?name=w&type=endpoint`, { token, body: sql })
      t.equal(stored.status, 403, `${way}, as an endpoint: ${stored.text}`)
      const branch = `% {% if defined(other) %} ${sql} {% else %} SELECT toString(k) AS v FROM trigger {% end %}`
      const hidden = await service.call('POST', `/v0/pipes/${name}/nodes?name=x`, { token, body: branch })
      t.equal(hidden.status, 403, `${way}, in a branch: ${hidden.text}`)
      await made(`/v0/pipes/${name}/nodes?name=y`, sql)
      for (const path of ['materialization', 'analysis']) {
        const at = `/v0/pipes/${name}/nodes/y/${path}?datasource=loot`
        t.equal((await service.call('POST', at, { token })).status, 403, `${way}, ${path}`)
      }
    }
    t.match((await service.call('GET', '/v0/graph')).json, { edges: [] }, 'nothing was made')
  })
}

t.test('a pipe below whose branch has the rows that a filter hides is not passed on either', async (t) => {
  const branched = "% {% if defined(all) %} SELECT secret AS v FROM rows {% else %} SELECT 'none' AS v {% end %}"
  await made('/v0/pipes', { name: 'branched', nodes: [{ name: 'branched_0', sql: branched }] })
  const token = await tokenOf('below', [...common, "DATASOURCES:READ:rows:who = 'a'", 'PIPES:READ:branched'])
  const body = JSON.stringify({ name: 'over_branched', nodes: [{ name: 'o', sql: 'SELECT v FROM branched' }] })
  t.equal((await service.call('POST', '/v0/pipes', { token, headers: json, body })).status, 403)
  const whole = await tokenOf('whole', [...common, 'PIPES:READ:branched'])
  t.equal((await service.call('POST', '/v0/pipes', { token: whole, headers: json, body })).status, 200)
})

t.test('what has no filter is stored by the same tokens', async (t) => {
  const token = await tokenOf('free', [...common, ...filters['of the data source'], 'DATASOURCES:READ:names'])
  const sql = 'SELECT toString(k) AS v FROM trigger WHERE k IN (SELECT length(label) FROM names)'
  const nodes = [{ name: 'free_view', sql, type: 'materialized', datasource: 'loot' }]
  const body = JSON.stringify({ name: 'free', nodes })
  t.match(await service.call('POST', '/v0/pipes', { token, headers: json, body }), { status: 200 })
})

t.test('whoever may not write to a data source makes no view that could stop its rows', async (t) => {
  const reader = ['PIPES:CREATE', 'DATASOURCES:READ:names', 'DATASOURCES:APPEND:loot', 'PIPES:READ:over_names']
  await made('/v0/pipes', { name: 'over_names', nodes: [{ name: 'over_0', sql: 'SELECT label FROM names' }] })
  const token = await tokenOf('reader', reader)
  const asker = await tokenOf(
    'asker',
    reader.filter((scope) => scope !== 'DATASOURCES:READ:names'),
  )
  const writer = await tokenOf('writer', [...reader, 'DATASOURCES:APPEND:names'])
  const ask = (name: string, sql: string, by: string): Promise<Answer> => {
    const nodes = [{ name: `${name}_view`, sql, type: 'materialized', datasource: 'loot' }]
    return service.call('POST', '/v0/pipes', { token: by, headers: json, body: JSON.stringify({ name, nodes }) })
  }
  const failing = 'SELECT throwIf(1)::String AS v FROM names'
  const denied = await ask('stopping', failing, token)
  t.equal(denied.status, 403)
  t.match(denied.json, { error: /the token may not write to the Data Source whose rows it would see/ })
  const through = await ask('through', 'SELECT label AS v FROM over_names', asker)
  t.equal(through.status, 403)
  t.notMatch(through.text, /'names'|"names"/, 'a hidden name is not told')
  t.equal((await service.events('names', '{"who":"a","label":"b"}', { wait: 'true' })).status, 200)
  t.equal((await ask('written', 'SELECT label AS v FROM names', writer)).status, 200)
})

t.test('a condition of a populate, and its counts, are for readers of all rows', async (t) => {
  await service.append('rows', 'ndjson', '{"id":1,"who":"a","secret":"public"}\n{"id":2,"who":"b","secret":"CANARY"}')
  await made(`/v0/datasources?${new URLSearchParams({ name: 'daily', schema: 'who String, n UInt64' })}`)
  const sql = 'SELECT who, count() AS n FROM rows GROUP BY who'
  const nodes = [{ name: 'agg_v', sql, type: 'materialized', datasource: 'daily' }]
  await made('/v0/pipes', { name: 'agg', nodes })
  await made('/v0/pipes', { name: 'ids', nodes: [{ name: 'ids_0', sql: 'SELECT id FROM rows' }] })
  const writing = ['PIPES:CREATE', 'DATASOURCES:APPEND:rows', 'DATASOURCES:APPEND:loot', 'DATASOURCES:APPEND:daily']
  const askers = {
    'without the right to read': [...writing, 'PIPES:READ:ids'],
    'with a filter': [...writing, 'PIPES:READ:ids', "DATASOURCES:READ:rows:who = 'a'"],
  }
  const hit = "toUInt32(if(secret LIKE 'C%', 'x', '1')) = 2"
  const miss = hit.replace('C%', 'D%')
  for (const [who, scopes] of Object.entries(askers)) {
    const token = await tokenOf(`asker ${who}`, scopes)
    await made('/v0/pipes', {
      name: `own_${scopes.length}`,
      nodes: [{ name: `own_${scopes.length}_0`, sql: 'SELECT toString(id) AS v FROM ids' }],
    })
    const target = { datasource: 'loot', type: 'materialized', populate: 'true', name: 'w' }
    for (const condition of [hit, miss, 'id = 1']) {
      const more = new URLSearchParams({ ...target, populate_condition: condition })
      const asked = { token, body: 'SELECT toString(id) AS v FROM ids' }
      const ways = [
        service.call('POST', `/v0/pipes/agg/nodes/agg_v/population?${more}`, { token }),
        service.call('POST', `/v0/pipes/own_${scopes.length}/nodes?${more}`, asked),
        service.call('POST', `/v0/pipes/own_${scopes.length}/nodes/own_${scopes.length}_0/materialization?${more}`, {
          token,
        }),
      ]
      for (const answer of await Promise.all(ways)) t.equal(answer.status, 403, `${who}, ${condition}: ${answer.text}`)
    }
    t.equal((await service.call('POST', '/v0/pipes/agg/nodes/agg_v/population?dry_run=true', { token })).status, 403)
  }
  const failing = new URLSearchParams({ dry_run: 'true', populate_condition: 'toUInt32(secret) > 0' })
  const told = await service.call('POST', `/v0/pipes/agg/nodes/agg_v/population?${failing}`)
  t.equal(told.status, 400, told.text)
  t.equal(await service.count('loot'), 0)
})
