import t from 'tap'
import { DataSourceList } from '../../../src/http/json/datasource-list.ts'
import { listItem } from '../../../src/http/json/datasource-shape.ts'
import { createFakeDeps } from '../../support/http/fake-deps.ts'

t.test('an item of the list is what its definition, its pipes and its tables say', async (t) => {
  const { dataSources } = createFakeDeps()
  for (const name of ['a', 'b']) {
    await dataSources.create({ name, description: '"quoted"\n', schema: 'id UInt32', engine: null, type: 'csv' })
  }
  const sizes = { landing: { rowCount: 2, byteCount: 100 }, quarantine: { rowCount: 1, byteCount: 50 } }
  const all = [
    { statistics: sizes, usedBy: [{ id: 't_1', name: 'top' }] },
    { statistics: undefined },
    { statistics: { ...sizes, quarantine: { rowCount: 7, byteCount: 8 } }, usedBy: [] },
  ]
  const list = new DataSourceList()
  const lists = [
    undefined,
    '',
    'name',
    'id,name,statistics',
    'columns',
    'used_by, quarantine_rows',
    'nothing,__proto__',
  ]
  for (const derived of all) {
    for (const attrs of lists) {
      const text = await list.text(dataSources.list(), () => derived, attrs)
      const items = dataSources.list().map((source) => listItem(source, derived, attrs))
      t.equal(text, JSON.stringify(items), String(attrs))
    }
  }
})

t.test('a change of a definition shows in the next list', async (t) => {
  const { dataSources } = createFakeDeps()
  const list = new DataSourceList()
  await dataSources.create({ name: 'a', description: '', schema: 'id UInt32', engine: null, type: 'csv' })
  const text = () => list.text(dataSources.list(), () => ({ statistics: undefined }), 'description')
  t.equal(await text(), '[{"description":""}]')
  await dataSources.revise('a', { name: undefined, description: 'told' })
  t.equal(await text(), '[{"description":"told"}]')
  await dataSources.drop('a')
  t.equal(await text(), '[]')
})

t.test('the tables are asked only for what is wanted of them', (t) => {
  const list = new DataSourceList()
  const asked = [undefined, '', 'statistics', 'name,quarantine_rows', 'columns'].map((attrs) =>
    list.needsStatistics(attrs),
  )
  t.strictSame(asked, [true, true, true, true, true])
  t.strictSame([list.needsStatistics('name'), list.needsStatistics('id,engine,used_by')], [false, false])
  t.end()
})
