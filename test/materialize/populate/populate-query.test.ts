import t from 'tap'
import type { DataSource } from '../../../src/catalog/data-source.types.ts'
import { mayGroupByKey } from '../../../src/materialize/populate/populate-query.ts'
import type { CheckedQuery } from '../../../src/schema/expressions/checked-text.types.ts'

/** As far as it is looked at. */
function sortedBy(sortingKey: string): Pick<DataSource, 'columns' | 'engine'> {
  const columns = ['ts', 'user', 'path'].map((name) => ({ name }))
  const options = sortingKey === '' ? {} : { sorting_key: sortingKey }
  return { columns, engine: { name: 'MergeTree', options } } as unknown as Pick<DataSource, 'columns' | 'engine'>
}

const byHour = 'SELECT toStartOfHour(ts) AS hour, path, count() FROM ws.t GROUP BY hour, path' as CheckedQuery
const byUser = 'SELECT `user`, count() FROM ws.t GROUP BY `user`' as CheckedQuery

t.test('chunks are cut by the sorting key only where a query reads its first column', async (t) => {
  t.equal(mayGroupByKey(byHour, sortedBy('user, ts')), false)
  t.equal(mayGroupByKey(byUser, sortedBy('user, ts')), true)
  t.equal(mayGroupByKey(byHour, sortedBy('toDate(ts), user')), true, 'in an expression')
  t.equal(mayGroupByKey(byUser, sortedBy('cityHash64(path)')), false)
  t.equal(mayGroupByKey(byUser, sortedBy('')), false, 'nothing is sorted')
})
