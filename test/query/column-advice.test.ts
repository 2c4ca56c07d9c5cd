// What a hint tells of columns, to a reader who may not read everything.

import t from 'tap'
import { adminScope } from '../../src/access/admin-scope.ts'
import { ApiError } from '../../src/shared/errors/errors.ts'
import type { ReadScope } from '../../src/sql/read-scope.types.ts'
import { openFilteredQuery } from '../support/query/filtered-query.ts'

const { store, workspace, query } = await openFilteredQuery(t)
const hiddenSchema = 'id UInt64, secret_salary String'
const shownSchema = 'id UInt64, tenant String'
const hidden = workspace.addDataSource('hidden', hiddenSchema)
const shown = workspace.addDataSource('shown', shownSchema)
await store.command(`CREATE TABLE ws_0001.${hidden.id} (${hiddenSchema}) ENGINE = MergeTree ORDER BY id`)
await store.command(`CREATE TABLE ws_0001.${shown.id} (${shownSchema}) ENGINE = MergeTree ORDER BY id`)
const odd = workspace.addPipe('odd', { hidden: 'SELECT id, tenant FROM shown', e: 'SELECT id FROM hidden' }, 'e')
const salaries = workspace.addPipe('salaries', { n: 'SELECT secret_salary AS pay, id FROM hidden' }, 'n')
const readable = new Set<string>([shown.id, odd.id, salaries.id, ...odd.nodes.map(({ id }) => id)])
const restricted: ReadScope = { ...adminScope, signature: 'r', mayRead: (id) => readable.has(id) }

async function hintOf(sql: string, pipeline: string | null, readScope: ReadScope): Promise<string | undefined> {
  const { signal } = new AbortController()
  const request = { sql, pipeline, format: null, parameters: new Map(), settings: {}, readScope, signal }
  try {
    const { body } = await query.run(request)
    for await (const _ of body);
  } catch (thrown) {
    if (thrown instanceof ApiError) return thrown.hint
    throw thrown
  }
  return 'no error'
}

t.test('a hint tells no column of a data source that a node or a common table hides', async (t) => {
  const secret = "Did you mean 'secret_salary'?"
  t.equal(await hintOf('SELECT secret_salarz FROM hidden', null, adminScope), secret)
  t.equal(await hintOf('SELECT secret_salarz FROM hidden', 'odd', restricted), undefined)
  t.equal(await hintOf('SELECT secret_salarz FROM hidden', 'odd', adminScope), undefined, 'it is none of that table')
  t.equal(await hintOf(`SELECT secret_salarz FROM ${hidden.id}`, 'odd', adminScope), secret, 'an id is the data source')
  t.equal(await hintOf('SELECT tenan FROM hidden', 'odd', restricted), "Did you mean 'tenant'?")
  t.equal(await hintOf('SELECT secret_salarz FROM _', 'odd', restricted), undefined)
  t.equal(await hintOf('SELECT secret_salarz FROM shown AS hidden', 'odd', restricted), undefined)
  t.equal(await hintOf('SELECT secret_salarz FROM shown, hidden', 'odd', restricted), undefined)
  t.equal(await hintOf('SELECT secret_salarz FROM salaries', null, restricted), undefined)
  const common = 'WITH hidden AS (SELECT id FROM shown) SELECT secret_salarz FROM hidden'
  t.equal(await hintOf(common, null, restricted), undefined)
  t.match(await hintOf('SELECT hidden.secret_salarz FROM hidden', null, restricted), undefined, 'not readable at all')
})
