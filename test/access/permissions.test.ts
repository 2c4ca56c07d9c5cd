import t from 'tap'
import type { Grant, ResourceLookup } from '../../src/access/grant.types.ts'
import { Permissions } from '../../src/access/permissions.ts'
import { coversAll } from '../../src/access/strength.ts'

const kinds = { t_events: 'datasource', t_orders: 'datasource', t_pipe: 'pipe' } as const

const lookup: ResourceLookup = {
  kindOf: (id) => (Object.hasOwn(kinds, id) ? kinds[id as keyof typeof kinds] : undefined),
  find: (_kind, name) => ({ name, id: `t_${name}`, isQuarantine: false }),
}

function grant(type: Grant['type'], resource: string | null = null, filter: string | null = null): Grant {
  return { type, resource, filter, fixedParameters: null }
}

function permissions(...grants: readonly Grant[]): Permissions {
  return new Permissions(grants, lookup)
}

const named = (name: string) => ({ name, id: `t_${name}`, isQuarantine: false })
const events = named('events')
const orders = named('orders')

t.test('a token may do what a scope gives, to what the scope names', async (t) => {
  const one = permissions(grant('DATASOURCES:APPEND', 't_events'))
  t.equal(one.allows('datasource:append', events), true)
  t.equal(one.allows('datasource:append', orders), false)
  t.equal(one.allows('datasource:append', null), false)
  t.equal(one.allows('datasource:replace', events), false)
  t.equal(one.allows('datasource:list', null), false)
  t.equal(permissions().allows('sql:read', null), false)
  const all = permissions(grant('DATASOURCES:CREATE'))
  t.equal(all.allows('datasource:append', orders), true)
  t.equal(all.allows('datasource:create', null), true)
  t.equal(all.allows('datasource:drop', orders), false)
})

t.test('a scope for what does not exist yet goes by its name', async (t) => {
  const one = permissions(grant('DATASOURCES:CREATE', 'new'))
  t.equal(one.allows('datasource:create', { name: 'new', id: undefined, isQuarantine: false }), true)
  t.equal(one.allows('datasource:append', { name: 'new', id: 't_7', isQuarantine: false }), true)
  t.equal(one.allows('datasource:append', { name: 'other', id: 't_7', isQuarantine: false }), false)
})

t.test('READ covers the quarantine, unless rows are filtered', async (t) => {
  const quarantine = { ...events, name: 'events_quarantine', isQuarantine: true }
  t.equal(permissions(grant('DATASOURCES:READ', 't_events')).allows('datasource:describe', quarantine), true)
  const filtered = permissions(grant('DATASOURCES:READ', 't_events', 'a = 1'))
  t.equal(filtered.allows('datasource:describe', events), true)
  t.equal(filtered.allows('datasource:describe', quarantine), false)
  t.equal(filtered.allows('quarantine:read', events), false)
  const both = permissions(grant('DATASOURCES:READ'), grant('DATASOURCES:READ', 't_events', 'a = 1'))
  t.equal(both.allows('quarantine:read', events), false)
  t.equal(both.allows('quarantine:read', orders), true)
})

t.test('every filter of a resource holds, whatever another scope gives', async (t) => {
  const { readScope } = permissions(
    grant('DATASOURCES:READ'),
    grant('DATASOURCES:READ', 't_events', 'a = 1 -- x'),
    grant('DATASOURCES:READ', 't_events', 'b = 2'),
  )
  t.equal(readScope.filterOf('t_events'), '(a = 1) AND (b = 2)')
  t.equal(readScope.filterOf('t_orders'), null)
  t.equal(readScope.isFiltered, true)
  const broken = permissions(
    grant('DATASOURCES:READ', 't_events', 'a = 1) OR (1 = 1'),
    grant('DATASOURCES:READ', 't_events', 'b = 2'),
  )
  t.equal(
    broken.readScope.filterOf('t_events'),
    'a = 1) OR (1 = 1',
    'which is no condition, and fails where it is read',
  )
})

t.test('queries read what scopes of reading name, and nothing else', async (t) => {
  const { readScope } = permissions(grant('PIPES:READ'), grant('DATASOURCES:APPEND', 't_events'))
  t.equal(readScope.mayRead('t_pipe'), true)
  for (const id of ['t_events', 't_node', 'tinybird.pipe_stats', '']) t.equal(readScope.mayRead(id), false, id)
  t.equal(readScope.seesAll, false)
  t.equal(readScope.mayUseSecrets, false)
  const all = permissions(grant('WORKSPACE:READ_ALL')).readScope
  t.equal(all.mayRead('t_node'), true)
  t.equal(all.seesAll, true)
  t.equal(all.mayUseSecrets, false)
})

t.test('two tokens have one signature only when they read the same', async (t) => {
  const signatures = [
    permissions(grant('DATASOURCES:READ', 't_events')),
    permissions(grant('DATASOURCES:READ', 't_events', 'a = 1')),
    permissions({ ...grant('PIPES:READ', 't_pipe'), fixedParameters: new Map([['tenant', 1]]) }),
    permissions({ ...grant('PIPES:READ', 't_pipe'), fixedParameters: new Map([['tenant', '1']]) }),
    permissions(grant('ADMIN')),
    permissions(grant('WORKSPACE:READ_ALL')),
  ].map(({ readScope }) => readScope.signature)
  t.equal(new Set(signatures).size, signatures.length)
})

t.test('a token gives away what it has, and no more', async (t) => {
  const tokens = permissions(
    grant('TOKENS'),
    grant('DATASOURCES:CREATE', 't_events'),
    grant('DATASOURCES:READ', 't_events', 'a = 1'),
  )
  t.equal(coversAll(tokens, [grant('DATASOURCES:APPEND', 't_events')]), true)
  t.equal(coversAll(tokens, [grant('DATASOURCES:READ', 't_events', 'a = 1')]), true)
  for (const more of [
    grant('ADMIN'),
    grant('WORKSPACE:READ_ALL'),
    grant('IMPORT'),
    grant('DATASOURCES:APPEND'),
    grant('DATASOURCES:APPEND', 't_orders'),
    grant('DATASOURCES:READ', 't_events'),
    grant('DATASOURCES:READ', 't_events', 'a = 2'),
    grant('DATASOURCES:DROP', 't_events'),
    grant('ORG_DATASOURCES:READ'),
  ]) {
    t.equal(coversAll(tokens, [more]), false, JSON.stringify(more))
  }
  t.equal(coversAll(permissions(grant('ADMIN')), [grant('ADMIN')]), true)
  const reader = permissions(grant('DATASOURCES:READ'), grant('DATASOURCES:READ', 't_events', 'a = 1'))
  t.equal(coversAll(reader, [grant('DATASOURCES:READ')]), false, 'the filter is lost')
  t.equal(coversAll(reader, [grant('DATASOURCES:READ', 't_orders')]), true)
})
