// Views that are made and dropped while rows come: each block of rows is seen by a view wholly or not at all.

import t from 'tap'
import { openTestService } from '../support/api/test-service.ts'
import { ViewCalls } from '../support/api/view-calls.ts'
import { byTier } from '../support/tier.ts'

const blockRows = 500

t.test('a view that is made while events and imports come has whole blocks alone', { timeout: 600_000 }, async (t) => {
  const service = await openTestService(t)
  const views = new ViewCalls(service)
  await service.create('stream', 'block UInt32, n UInt32')
  const viewCount = byTier({ quick: 6, full: 8, soak: 400 })
  const bodyOf = (block: number): string =>
    Array.from({ length: blockRows }, (_, n) => JSON.stringify({ block, n })).join('\n')
  let block = 0
  let isOver = false
  const send = async (isImport: boolean): Promise<void> => {
    while (!isOver) {
      block += 1
      const body = bodyOf(block)
      const { status, text } = isImport
        ? await service.append('stream', 'ndjson', body)
        : await service.events('stream', body, { wait: 'true' })
      if (status !== 200) throw new Error(text)
    }
  }
  const senders = [send(false), send(true), send(false)]
  for (let index = 0; index < viewCount; index += 1) {
    await views.fill(`late_${index}`, 'SELECT block, n FROM stream', { datasource: `late_rows_${index}` })
    const whole = await views.fill(`late_sum_${index}`, 'SELECT block, countState() AS c FROM stream GROUP BY block', {
      datasource: `late_sums_${index}`,
    })
    t.ok(whole.materialized)
    if (index % 2 === 1) {
      const path = `/v0/pipes/late_${index}/nodes/late_${index}_view`
      t.equal((await service.call('DELETE', path)).status, 204)
    }
  }
  isOver = true
  await Promise.all(senders)
  for (let index = 0; index < viewCount; index += 1) {
    const broken = await service.rows(
      `SELECT block, count() AS c FROM late_rows_${index} GROUP BY block HAVING c != ${blockRows} LIMIT 3`,
    )
    t.same(broken, [], `blocks of view ${index}`)
    const brokenSums = await service.rows(
      `SELECT block, countMerge(c) AS rows FROM late_sums_${index} GROUP BY block HAVING rows != ${blockRows} LIMIT 3`,
    )
    t.same(brokenSums, [], `sums of view ${index}`)
  }
  const last = await service.count('late_sums_0')
  t.ok(last > 0, `${last} groups of the first view`)
  t.comment(`${block} blocks, ${viewCount * 2} views`)
})
