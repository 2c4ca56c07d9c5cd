// Imports by URL that take too long: they end, say what is stored, and give their place to others.

import t from 'tap'
import {
  csvOf,
  jobIdOf,
  openUrlService,
  storedSumOf,
  sumOf,
  testRows,
  testSchema,
  until,
  untilEnded,
} from '../support/imports/url-imports.ts'
import { type Answer, answerFile } from '../support/remote-server.ts'

const rows = testRows(40_000)
const csv = csvOf(rows)
const small = { frameBytes: 65_536, insertRowsMax: 2_000 }

/** Sends the beginning of a file at once, and what stands behind it so slowly that it never ends. */
function dripping(byteCount: number): Answer {
  return (_, response) => {
    response.writeHead(200, { 'content-length': 30_000_000_000, etag: '"one"' })
    response.write(csv.subarray(0, byteCount))
    let place = byteCount
    const timer = setInterval(() => {
      response.write(csv.subarray(place, place + 64))
      place += 64
    }, 20)
    response.once('close', () => clearInterval(timer))
  }
}

t.test('files that drip give their places to others, and are let be as long as nobody waits', async (t) => {
  const { service, files, start } = await openUrlService(t, {
    ...small,
    urlImportsMax: 2,
    // A drip brings 3,200 bytes in this time, more than the least that keeps a connection.
    urlIdleTimeoutMs: 1_000,
    urlRateMin: 65_536,
  })
  files.set('/drip.csv', dripping(900_000))
  files.set('/rows.csv', answerFile({ content: csv }))
  const ids: string[] = []
  for (const name of ['a', 'b']) {
    ids.push(jobIdOf(await start({ name, schema: testSchema }, '/drip.csv')))
  }
  for (const id of ids) {
    // Longer than the rate is measured over.
    const { bytes_read: first = 0 } = await until(service, id, (job) => (job.imported_rows ?? 0) > 5_000)
    await until(service, id, (job) => (job.bytes_read ?? 0) > first + 2 * 3_200)
  }
  const third = jobIdOf(await start({ name: 'c', schema: testSchema }, '/rows.csv'))
  t.match(await untilEnded(service, third), { status: 'done', imported_rows: rows.length })
  t.same(await storedSumOf(service, 'c'), sumOf(rows))
  const ended = await Promise.all(ids.map((id) => service.call('GET', `/v0/jobs/${id}`)))
  const told = ended.map(
    ({ json }) => json as { status: string; error?: string; imported_rows: number; datasource: { name: string } },
  )
  const failed = told.filter(({ status }) => status === 'error')
  t.ok(failed.length >= 1, 'one of them at least made room')
  for (const { error, imported_rows: stored, datasource } of failed) {
    t.match(error, new RegExp(`/drip\\.csv arrives at .* a second, below 64 KiB .*${stored} rows are stored so far`))
    t.ok(stored > 5_000)
    t.same(await storedSumOf(service, datasource.name), sumOf(rows.slice(0, stored)))
  }
})

t.test('an import has a longest time, and tells the rows that it has stored by then', async (t) => {
  const { service, files, run } = await openUrlService(t, { ...small, urlTimeMaxMs: 3_000 })
  files.set('/drip.csv', dripping(900_000))
  await service.create('b', testSchema)
  await service.append('b', 'csv', csvOf(testRows(7)))
  const job = await run({ name: 'a', schema: testSchema }, '/drip.csv')
  const stored = await service.count('a')
  const error = `The import takes longer than 3 seconds (--url-time-max-ms); ${stored} rows are stored so far`
  t.match(job, { status: 'error', imported_rows: stored })
  t.equal(job.error?.slice(0, error.length), error)
  t.ok(stored > 0)
  t.same(await storedSumOf(service, 'a'), sumOf(rows.slice(0, stored)))
  const replace = await run({ name: 'b', mode: 'replace' }, '/drip.csv')
  t.match(replace, { status: 'error', error: /takes longer than 3 seconds .*nothing was replaced/ })
  t.same(await storedSumOf(service, 'b'), sumOf(testRows(7)), 'the old content stays')
})
