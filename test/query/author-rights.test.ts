// What may be saved by an author who may not read everything: a node that is stored runs for others, and is not judged again.

import t from 'tap'
import { adminScope } from '../../src/access/admin-scope.ts'
import { createReadScope } from '../../src/access/read-scope.ts'
import type { ReadRules } from '../../src/sql/read-scope.types.ts'
import { openFilteredQuery } from '../support/query/filtered-query.ts'
import { idOf } from '../support/query/test-workspace.ts'

const { store, workspace, query } = await openFilteredQuery(t)
for (const name of ['events', 'partly', 'hidden']) {
  const { id } = workspace.addDataSource(name, 'id UInt64, tenant String')
  await store.command(`CREATE TABLE ws_0001.${id} (id UInt64, tenant String) ENGINE = MergeTree ORDER BY id`)
}
workspace.addPipe('shown', { all: 'SELECT * FROM hidden' })
workspace.addPipe('cut', { all: 'SELECT * FROM hidden' })
workspace.addPipe('fixed', { all: "% SELECT * FROM hidden WHERE tenant = {{String(t, 'x')}}" })
workspace.addPipe('unseen', { all: 'SELECT 1 AS id' })
const mine = workspace.addPipe('mine', {
  open: 'SELECT * FROM events',
  secret: 'SELECT * FROM hidden',
  over: 'SELECT * FROM secret',
  branch: '% {% if defined(x) %} SELECT * FROM hidden {% else %} SELECT * FROM events {% end %}',
  token: "% SELECT * FROM events WHERE tenant = {{tb_secret('key')}}",
})

const readable = new Set(['events', 'partly', 'shown', 'cut', 'fixed', 'mine'].map((name) => idOf(name)))
const author = (rules: Partial<ReadRules> = {}) =>
  createReadScope({
    ...adminScope,
    signature: 'author',
    seesAll: false,
    isFiltered: true,
    mayRead: (id) => readable.has(id),
    filterOf: (id) => (id === idOf('partly') ? "tenant = 'a'" : null),
    outputFilterOf: (id) => (id === idOf('cut') ? "tenant = 'a'" : null),
    fixedParametersOf: (id) => (id === idOf('fixed') ? new Map([['t', 'a']]) : null),
    mayUseSecrets: false,
    ...rules,
  })
const check = (sql: string, readScope = author()) =>
  query.checkNode(mine, { name: 'new', sql }, mine.nodes.length, readScope)

t.test('what its author may read is saved', async (t) => {
  for (const sql of [
    'SELECT * FROM events',
    'SELECT * FROM shown',
    'SELECT * FROM events_quarantine'.replace('_quarantine', ''),
    'SELECT * FROM open AS o JOIN shown AS s ON o.id = s.id WHERE o.id IN events'.replace(
      'IN events',
      'IN (SELECT id FROM events)',
    ),
    'WITH hidden AS (SELECT 1 AS id) SELECT * FROM hidden',
    "% SELECT * FROM events WHERE id IN {{Array(ids, 'Int32', '1')}} ORDER BY {{column(by, 'id')}} LIMIT {{Int32(n, 3)}}",
    '% SELECT * FROM {% if defined(x) %} events {% else %} shown {% end %}',
    "% SELECT {{columns(c, 'id')}} FROM {{table('events')}}",
    '% {{max_threads(2)}} SELECT count() FROM events WHERE tenant = {{String(t)}} {% if defined(y) %} AND id > {{Int64(y)}} {% end %}',
    "% SELECT id FROM events WHERE {{sql_and(tenant=String(t), id__in=Array(ids, 'UInt64'))}}",
    '% SELECT 1 FROM numbers(3)',
  ]) {
    await t.resolves(check(sql), sql)
  }
})

t.test('what its author may not read, or not all of, is not', async (t) => {
  for (const sql of [
    'SELECT * FROM hidden',
    'SELECT * FROM unseen',
    'SELECT * FROM nosuch',
    `SELECT * FROM ${idOf('hidden')}`,
    'SELECT * FROM hidden_quarantine',
    'SELECT * FROM tinybird.pipe_stats_rt',
    'SELECT * FROM partly',
    'SELECT * FROM cut',
    'SELECT * FROM fixed',
    'SELECT * FROM secret',
    'SELECT * FROM over',
    'SELECT * FROM branch',
    'SELECT (SELECT count() FROM over)',
    "SELECT joinGet('hidden', 'tenant', 1)",
    '% {% if defined(x) %} SELECT * FROM hidden {% else %} SELECT * FROM events {% end %}',
    '% {% if defined(x) %} SELECT * FROM nosuch {% else %} SELECT * FROM events {% end %}',
    '% {% if defined(x) %} SELECT * FROM over {% else %} SELECT * FROM events {% end %}',
    '% SELECT * FROM events {% if defined(x) %} WHERE id IN hidden {% end %}',
    '% SELECT * FROM events {% if defined(x) %} UNION ALL SELECT * FROM partly {% end %}',
    '% SELECT * FROM {{table(x)}}',
    "% SELECT * FROM {{table(x, 'events')}}",
    "% SELECT * FROM {{symbol(x, 'events')}}",
    "% SELECT * FROM {{column(x, 'events')}}",
    "% SELECT * FROM hid{{symbol(x, 'den')}}",
    '% SELECT * FROM `hid{{String(x)}}`',
    '% {% set y = x %} SELECT * FROM {{table(y)}}',
    "% {% set y = 'hid' + 'den' %} {% if defined(x) %} SELECT * FROM {{table(y)}} {% else %} SELECT 1 {% end %}",
    "% {% for y in ['events', 'hidden'] %} SELECT * FROM {{table(y)}} {% break %} {% end %}",
    "% SELECT * FROM events WHERE id IN {{symbol(x, 'events')}}",
    "% SELECT joinGet({{String(x, 'events')}}, 'id', 1)",
    "% SELECT * FROM events WHERE tenant = {{tb_secret('key')}}",
    "% SELECT * FROM events {% if defined(x) %} WHERE tenant = {{ tb_var('nosuch') }} {% end %}",
    '% {% set s = tb_secret(x) %} SELECT * FROM events WHERE tenant = {{s}}',
  ]) {
    await t.rejects(check(sql), { code: 'READ_DENIED', status: 403 }, sql)
  }
  const blind = author({ seesAll: true, mayRead: () => true })
  await t.rejects(check('SELECT * FROM partly', blind), { code: 'READ_DENIED' }, 'who sees all, through a filter')
  await t.rejects(check("% SELECT {{tb_secret('key')}} = 'x' AS a", blind), { code: 'READ_DENIED' })
  await t.resolves(check('SELECT * FROM over', blind))
  await t.rejects(check('% SELECT * FROM {{table(x)}}', blind), { code: 'READ_DENIED' })
  await t.resolves(
    check('% SELECT * FROM {{table(x)}}', author({ seesAll: true, isFiltered: false, mayRead: () => true })),
  )
  await t.rejects(check('SELECT * FROM nosuch', blind), { code: 'SQL_INVALID', message: /'nosuch' not found/ })
  await t.resolves(check('% SELECT * FROM {{table(x)}}', adminScope))
  await t.resolves(check("% SELECT * FROM events WHERE tenant = {{tb_secret('key')}}", adminScope))
})

t.test('a stored node answers for its pipe only for whom its author may let it', async (t) => {
  const judge = (position: number, readScope = author()) => query.checkAuthor(mine, position, readScope)
  t.doesNotThrow(() => judge(0))
  for (const position of [1, 2, 3, 4]) {
    t.throws(() => judge(position), { code: 'READ_DENIED' }, String(position))
    t.doesNotThrow(() => judge(position, adminScope))
  }
})
