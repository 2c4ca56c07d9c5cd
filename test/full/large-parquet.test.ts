import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { openTestService } from '../support/api/test-service.ts'
import { repositoryRoot } from '../support/repository-root.ts'

const service = await openTestService(t, { sampleBytesMax: 262_144 })

interface Counts {
  readonly imported_rows: number
  readonly quarantine_rows: number
}

t.test(
  'a Parquet file that another program wrote is taken whole, and means the same in narrower columns',
  async (t) => {
    const body = readFileSync(join(repositoryRoot, 'node_modules/vega-datasets/data/flights-3m.parquet'))
    const analyzed = await service.call('POST', '/v0/analyze', { body })
    const { schema } = (analyzed.json as { readonly analysis: { readonly schema: string } }).analysis // As in other tests.
    const narrow =
      'date DateTime, delay Int16, distance UInt16, origin LowCardinality(String), destination FixedString(3)'
    const sums =
      'count(), sum(delay), sum(distance), uniqExact(origin, destination), min(date)::DateTime, max(date)::DateTime'
    const found: unknown[] = []
    for (const columns of [schema, narrow]) {
      const path = `/v0/datasources?${new URLSearchParams({ name: 'flights', schema: columns })}`
      const { json, text } = await service.call('POST', path, { body })
      const counts = json as Counts // Looked at next.
      t.same([counts.imported_rows, counts.quarantine_rows], [3_000_000, 0], text)
      found.push(...(await service.rows(`SELECT ${sums} FROM flights`)))
      await service.call('DELETE', '/v0/datasources/flights')
    }
    t.same(found[0], found[1])
    t.equal((found[0] as readonly string[])[0], '3000000')
  },
)
