import t from 'tap'
import { createDataSourceId } from '../../../src/catalog/data-source-id.ts'
import type { DataSourceStatistics } from '../../../src/datasources/datasources.types.ts'
import { RecentStatistics } from '../../../src/http/routes/recent-statistics.ts'

const sizeOf = (rowCount: number): DataSourceStatistics => ({
  landing: { rowCount, byteCount: 8 * rowCount },
  quarantine: { rowCount: 0, byteCount: 0 },
})

void t.test('those who ask within a second get one answer, also while it is looked for', async (t) => {
  let askedCount = 0
  const recent = new RecentStatistics(() => {
    askedCount += 1
    return Promise.resolve(sizeOf(askedCount))
  })
  const [one, other] = [createDataSourceId(), createDataSourceId()]
  t.strictSame(await Promise.all([recent.of(one), recent.of(one)]), [sizeOf(1), sizeOf(1)])
  t.strictSame(await recent.of(one), sizeOf(1))
  t.strictSame(await recent.of(other), sizeOf(2), 'each data source has its own')
})

void t.test('a failure is told to those who wait, and kept for nobody', async (t) => {
  let isStopped = true
  const recent = new RecentStatistics(() =>
    isStopped ? Promise.reject(new Error('the engine is stopped')) : Promise.resolve(sizeOf(3)),
  )
  const id = createDataSourceId()
  const failed = await Promise.allSettled([recent.of(id), recent.of(id)])
  t.strictSame(
    failed.map(({ status }) => status),
    ['rejected', 'rejected'],
  )
  isStopped = false
  t.strictSame(await recent.of(id), sizeOf(3))
})

void t.test('what is older than a second is looked at again', async (t) => {
  let askedCount = 0
  let timeMs = 5_000
  const ask = (): Promise<DataSourceStatistics> => {
    askedCount += 1
    return Promise.resolve(sizeOf(askedCount))
  }
  const recent = new RecentStatistics(ask, () => timeMs)
  const id = createDataSourceId()
  await recent.of(id)
  timeMs += 999
  t.strictSame(await recent.of(id), sizeOf(1))
  timeMs += 1
  t.strictSame(await recent.of(id), sizeOf(2))
})
