import t from 'tap'
import { openTestService } from '../support/api/test-service.ts'
import { parquetSaying, type SaidGroup } from '../support/parquet-footers.ts'

const service = await openTestService(t)

/** As BODY_CORRUPT is told. */
const refused = { status: 400, json: { error: /The body is not valid Parquet file/ } }

async function load(name: string, groups: readonly SaidGroup[]) {
  const parameters = new URLSearchParams({ name, mode: 'create', format: 'parquet', schema: 'n Int64' })
  return await service.call('POST', `/v0/datasources?${parameters}`, { body: parquetSaying(groups) })
}

t.test('a file of 120 bytes that says rows without end is refused, and nothing is made for it', async (t) => {
  for (const rowCount of [1e11, 1e12, 1e14, 2 ** 53]) {
    t.match(await load('lies', [{ rowCount }]), refused, `${rowCount} rows`)
  }
  const fewer = await load('lies', [{ rowCount: 5_000_000, valueCount: 1 }])
  t.match(fewer, refused)
  t.equal((await service.call('GET', '/v0/datasources/lies')).status, 404)
})

t.test('a file of many row groups is taken', async (t) => {
  const answer = await load(
    'groups',
    Array.from({ length: 5000 }, () => ({ rowCount: 1 })),
  )
  t.match(answer, { status: 200, json: { imported_rows: 5000 } })
  t.same(await service.rows('SELECT count(), sum(n) FROM groups'), [['5000', '35000']])
})
