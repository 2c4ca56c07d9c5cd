// Functions that the engine computes from parts of a column: what stands beside them in a SELECT must not change by that.

import t from 'tap'
import { openTestService } from '../support/api/test-service.ts'

const paths = "['p0','p1','p2','p3','p4','q.r']"
const answers: readonly (readonly [sql: string, row: readonly string[]])[] = [
  ['SELECT distinctJSONPaths(js), uniqExact(name), count(), sum(k) FROM parts', [paths, '3', '30', '435']],
  ['SELECT sum(k), distinctJSONPaths(js) FROM parts', ['435', paths]],
  ['SELECT sum(k), length(distinctJSONPathsAndTypes(js)) FROM parts', ['435', '6']],
  ['SELECT count(), x FROM (SELECT sum(k) AS c, distinctJSONPaths(js) AS x FROM parts) GROUP BY x', ['1', paths]],
]

t.test('paths of a JSON column beside other aggregates', async (t) => {
  const service = await openTestService(t)
  const schema = 'k UInt32 `json:$.k`, name LowCardinality(String) `json:$.name`, js JSON `json:$.js`'
  t.match(await service.create('parts', schema), { status: 200 })
  const lines = Array.from({ length: 30 }, (_, k) =>
    JSON.stringify({ k, name: `n${k % 3}`, js: { [`p${k % 5}`]: k, q: { r: k } } }),
  )
  t.match(await service.append('parts', 'ndjson', lines.join('\n')), { status: 200 })
  for (const [sql, row] of answers) t.same(await service.rows(sql), [row], sql)
})
