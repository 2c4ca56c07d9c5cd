// Jobs of several tokens beside each other: shares of places and room, results, and who may ask for what.

import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { rotateSecretKey } from '../../src/rotate-secret-key.ts'
import { endedJob, jobIdOf, jobOf } from '../support/api/job-calls.ts'
import { askForJob, endless, resultOf, strongToken, tokenOf } from '../support/api/query-job-calls.ts'
import { type Call, openTestService, testOptions } from '../support/api/test-service.ts'
import { filesWith } from '../support/bytes-below.ts'
import { temporaryDirectory } from '../support/catalog/test-catalog.ts'
import {
  csvOf,
  heldFile,
  openUrlService,
  reopen,
  storedSumOf,
  sumOf,
  testRows,
  testSchema,
} from '../support/imports/url-imports.ts'
import { answerFile } from '../support/remote-server.ts'
import { silentLogger } from '../support/store/test-store.ts'

t.test('a result is removed before its time by its maker and by ADMIN, and by nobody else', async (t) => {
  const service = await openTestService(t)
  const maker = { token: await tokenOf(service, 'maker', 'WORKSPACE:READ_ALL') }
  const other = { token: await tokenOf(service, 'other', 'WORKSPACE:READ_ALL') }
  const remove = (id: string, call: Call = {}) => service.call('DELETE', `/v0/jobs/${id}/result`, call)
  for (const call of [maker, {}]) {
    const id = jobIdOf(await askForJob(service, 'SELECT 1 FORMAT CSV', {}, maker))
    t.match(await endedJob(service, id), { status: 'done', result_until: String })
    t.equal((await remove(id, other)).status, 403)
    t.equal((await resultOf(service, id, maker)).text, '1\n')
    const { status, text } = await remove(id, call)
    t.same([status, text], [204, ''])
    t.same(await readdir(join(service.dataDir, 'job-results')), [])
    for (const answer of [await resultOf(service, id, maker), await remove(id, maker)]) {
      t.match(answer, { status: 404, json: { error: /has no result: it was removed, or the time is over/ } })
    }
    const { json } = await service.call('GET', `/v0/jobs/${id}`, maker)
    t.match(json, { status: 'done', statistics: { row_count: 1 } })
    t.notOk('result_until' in (json as object))
  }
  t.equal((await remove('none')).status, 404)
  t.equal((await remove('none', maker)).status, 403)
})

t.test('the results of one token have a share of the room, and those of others theirs', async (t) => {
  const service = await openTestService(t, { jobResultsBytesPerTokenMax: 1024 * 1024 })
  const [one, other] = [
    { token: await tokenOf(service, 'one', 'WORKSPACE:READ_ALL') },
    { token: await tokenOf(service, 'other', 'WORKSPACE:READ_ALL') },
  ]
  const run = async (call: Call) => {
    const id = jobIdOf(await askForJob(service, "SELECT repeat('x', 1000) FROM numbers(600) FORMAT TSV", {}, call))
    return await endedJob(service, id, call)
  }
  const first = await run(one)
  t.equal(first.status, 'done')
  t.match(await run(one), { status: 'error', error: /of one token have 1048576 bytes together.* DELETE \/v0\/jobs/ })
  t.equal((await run(other)).status, 'done')
  t.equal((await service.call('DELETE', `/v0/jobs/${first.id}/result`, one)).status, 204)
  t.equal((await run(one)).status, 'done')
})

t.test('the jobs of one token keep those of others out neither of the queue nor of the work', async (t) => {
  const options = { queryJobsWorkingMax: 1, jobsWaitingMax: 3, jobsWaitingPerTokenMax: 2, queryJobTimeMaxMs: 20_000 }
  const service = await openTestService(t, options)
  const busy = { token: await tokenOf(service, 'busy', 'WORKSPACE:READ_ALL') }
  const held = jobIdOf(await askForJob(service, endless, {}, busy))
  while ((await jobOf(service, held)).status !== 'working');
  const waiting = [
    jobIdOf(await askForJob(service, endless, {}, busy)),
    jobIdOf(await askForJob(service, endless, {}, busy)),
  ]
  const refused = await askForJob(service, endless, {}, busy)
  t.match(refused, {
    status: 429,
    json: { error: /^2 jobs of the kind "query" wait already that this token has made/ },
  })
  t.equal(refused.headers.get('retry-after'), '10')
  const other = { token: await tokenOf(service, 'other', 'WORKSPACE:READ_ALL') }
  const id = jobIdOf(await askForJob(service, 'SELECT 1', {}, other))
  t.equal((await endedJob(service, id, other)).status, 'done')
  t.equal((await jobOf(service, held)).status, 'working', 'meanwhile the long one works')
  for (const one of waiting) t.equal((await service.call('POST', `/v0/jobs/${one}/cancel`, busy)).status, 200)
})

t.test('a job with a result is not forgotten for the jobs of others', async (t) => {
  const service = await openTestService(t, { jobsKeptMax: 3 })
  const one = { token: await tokenOf(service, 'one', 'WORKSPACE:READ_ALL') }
  const id = jobIdOf(await askForJob(service, 'SELECT 7 FORMAT CSV', {}, one))
  t.equal((await endedJob(service, id, one)).status, 'done')
  for (let count = 0; count < 5; count += 1) {
    const failing = jobIdOf(await askForJob(service, "SELECT throwIf(1, 'no')"))
    t.equal((await endedJob(service, failing)).status, 'error')
  }
  const { json } = await service.call('GET', '/v0/jobs')
  t.ok((json as { readonly total: number }).total <= 4)
  t.equal((await resultOf(service, id, one)).text, '7\n')
})

t.test('what a query asks is sealed on disk, and is asked still with another key', async (t) => {
  const dataDir = temporaryDirectory(t)
  const options = { dataDir, adminToken: strongToken, queryJobsWorkingMax: 1 }
  const admin = { token: strongToken }
  const service = await openTestService(t, options)
  jobIdOf(await askForJob(service, endless, {}, admin))
  const sql = '% SELECT {{String(which)}} AS it FORMAT CSV'
  const id = jobIdOf(await askForJob(service, sql, { which: 'SECRETVALUE' }, admin))
  t.same(filesWith(dataDir, 'SECRETVALUE'), [])
  await service.close()
  await rotateSecretKey(testOptions(options), silentLogger)
  const again = await openTestService(t, options)
  t.equal((await endedJob(again, id, admin)).status, 'done')
  t.equal((await resultOf(again, id, admin)).text, '"SECRETVALUE"\n')
})

t.test('a word for "job" that is neither true nor false is told', async (t) => {
  const service = await openTestService(t)
  const answer = await service.call('POST', '/v0/sql?job=yes', { body: 'SELECT 1 FORMAT CSV' })
  t.equal(answer.text, '1\n')
  t.match(answer.headers.get('x-warning'), /Parameter 'job' is neither true nor false/)
  t.notOk((await service.call('POST', '/v0/sql?job=false', { body: 'SELECT 1' })).headers.get('x-warning'))
})

t.test(
  'imports of two tokens that hold all places let those of a third have its turn, and go on behind it',
  async (t) => {
    const options = { urlImportsMax: 1, jobSliceMs: 100, frameBytes: 65_536, insertRowsMax: 2_000 }
    const opened = await openUrlService(t, options)
    const { service, server, files } = opened
    const gate = { isOpen: false }
    const rows = testRows(20_000)
    const csv = csvOf(rows)
    files.set('/held.csv', heldFile(csv, 300_000, gate))
    files.set('/small.csv', answerFile({ content: csvOf(testRows(100)) }))
    const start = async (name: string, path: string): Promise<{ readonly id: string; readonly token: string }> => {
      await service.create(name, testSchema)
      const token = await tokenOf(service, `of ${name}`, `DATASOURCES:APPEND:${name}`)
      const query = new URLSearchParams({ name, mode: 'append', url: `${server.origin}${path}` })
      return { id: jobIdOf(await service.call('POST', `/v0/datasources?${query}`, { token })), token }
    }
    const held = [await start('one', '/held.csv'), await start('two', '/held.csv')]
    for (const { id } of held) while ((await jobOf(service, id)).status !== 'working');
    const third = await start('three', '/small.csv')
    t.match(await endedJob(service, third.id), { status: 'done', imported_rows: 100 })
    for (const { id } of held) t.equal((await jobOf(service, id)).status, 'working')
    await service.log.until('A job stops for others, and goes on in its turn.')
    gate.isOpen = true
    // What was asked for while the gate was shut is never answered.
    const again = await reopen(t, opened, options)
    for (const [index, { id }] of held.entries()) {
      t.match(await endedJob(again, id), { status: 'done', imported_rows: rows.length, rows_read: rows.length })
      t.same(await storedSumOf(again, index === 0 ? 'one' : 'two'), sumOf(rows))
    }
  },
)
