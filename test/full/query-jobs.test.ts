import { readdir, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { endedJob, jobIdOf } from '../support/api/job-calls.ts'
import { askForJob, endless, fillVisits, resultOf, strongToken, tokenOf } from '../support/api/query-job-calls.ts'
import { openTestService } from '../support/api/test-service.ts'

t.test('a query as a job leaves its answer', async (t) => {
  const service = await openTestService(t)
  await fillVisits(service)
  const answer = await askForJob(service, 'SELECT id, user FROM visits WHERE id < 3 ORDER BY id FORMAT CSVWithNames')
  const id = jobIdOf(answer)
  t.match(answer.json, {
    id,
    job_id: id,
    job_url: `${service.address}/v0/jobs/${id}`,
    status: 'waiting',
    job: { kind: 'query', id, status: 'waiting' },
  })
  const job = await endedJob(service, id)
  t.match(job, { status: 'done', statistics: { row_count: 3, bytes: 33 }, is_cancellable: false })
  const result = await resultOf(service, id)
  t.equal(result.status, 200)
  t.equal(result.text, '"id","user"\n0,"u0"\n1,"u1"\n2,"u2"\n')
  t.match(result.headers.get('content-type'), /^text\/csv/)
  const path = join(service.dataDir, 'job-results', id)
  t.equal((await stat(path)).mode & 0o777, 0o600)
  t.equal((await stat(join(service.dataDir, 'job-results'))).mode & 0o777, 0o700)
  t.equal((await service.call('POST', `/v0/jobs/${id}/cancel`)).status, 400)
})

t.test('formats, parameters and templates are those of a query', async (t) => {
  const service = await openTestService(t)
  await fillVisits(service)
  const cases = [
    ['SELECT count() AS n FROM visits', {}, 1, '"n": 100'],
    ['SELECT id FROM visits LIMIT 7', { format: 'ndjson' }, 7, '{"id":0}'],
    ['% SELECT id FROM visits WHERE user = {{String(user)}} FORMAT TSV', { user: 'u3' }, 10, '3\n13'],
    ["SELECT 'a\\nb' AS text, '\"' AS quote FROM numbers(4) FORMAT CSV", {}, 4, '"a'],
    ['SELECT id FROM visits FORMAT Parquet', {}, null, 'PAR1'],
  ] as const
  for (const [sql, more, rowCount, part] of cases) {
    const id = jobIdOf(await askForJob(service, sql, more))
    t.match(await endedJob(service, id), { status: 'done', statistics: { row_count: rowCount } }, sql)
    const { text } = await resultOf(service, id)
    t.ok(text.includes(part), sql)
  }
})

t.test('a query that is wrong makes no job, and one that fails later ends in error', async (t) => {
  const service = await openTestService(t)
  await fillVisits(service)
  t.equal((await askForJob(service, 'SELECT wrong FROM')).status, 400)
  t.match((await askForJob(service, 'SELECT * FROM absent')).json, { error: /absent/ })
  t.equal((await askForJob(service, 'SELECT 1 FORMAT Odd')).status, 400)
  t.equal((await service.call('GET', '/v0/sql?q=SELECT+1&job=true')).status, 400)
  t.match((await service.call('GET', '/v0/jobs')).json, { jobs: [] })
  const id = jobIdOf(await askForJob(service, "SELECT throwIf(id = 5, 'no fives') FROM visits"))
  t.match(await endedJob(service, id), { status: 'error', error: /no fives/ })
  const { status, text } = await resultOf(service, id)
  t.equal(status, 404)
  t.match(JSON.parse(text), { error: /has no result: its status is "error"/ })
})

t.test('a job has a longer time than a query, and an end', async (t) => {
  const service = await openTestService(t, { queryTimeMaxMs: 500, queryJobTimeMaxMs: 5_000 })
  const sql = endless
  t.equal((await service.call('POST', '/v0/sql', { body: sql })).status, 408)
  const id = jobIdOf(await askForJob(service, sql))
  const job = await endedJob(service, id)
  t.match(job, { status: 'error', error: /5000 ms|5 s/ })
})

t.test('a filtered token reads its rows alone, by what it may read when the job runs', async (t) => {
  const service = await openTestService(t)
  await fillVisits(service)
  const filtered = await tokenOf(service, 'filtered', "DATASOURCES:READ:visits:user = 'u1'")
  const other = await tokenOf(service, 'other', 'DATASOURCES:READ:visits')
  const sql = 'SELECT count() AS n FROM visits FORMAT TSV'
  const id = jobIdOf(await askForJob(service, sql, {}, { token: filtered }))
  t.equal((await endedJob(service, id, { token: filtered })).status, 'done')
  t.equal((await resultOf(service, id, { token: filtered })).text, '10\n')
  t.equal((await resultOf(service, id)).text, '10\n', 'ADMIN may read it')
  t.equal((await resultOf(service, id, { token: other })).status, 403)
  t.equal((await service.call('GET', `/v0/jobs/${id}`, { token: other })).status, 403)
  t.equal((await askForJob(service, 'SELECT * FROM absent', {}, { token: filtered })).status, 403)
  const narrowed = new URLSearchParams({ scope: "DATASOURCES:READ:visits:user = 'u2'" })
  await service.call('PUT', `/v0/tokens/filtered?${narrowed}`)
  t.equal((await resultOf(service, id, { token: filtered })).status, 403, 'its rights have changed')
})

t.test('a token that goes before its job runs takes the right along', async (t) => {
  // One session is for queries that somebody waits for, so no place is left for other tokens.
  const service = await openTestService(t, { readSessions: 2, queryJobTimeMaxMs: 3_000 })
  await fillVisits(service)
  const busy = jobIdOf(await askForJob(service, endless))
  const ids: string[] = []
  for (const name of ['dropped', 'refreshed', 'narrowed', 'kept']) {
    const token = await tokenOf(service, name, 'DATASOURCES:READ:visits')
    ids.push(jobIdOf(await askForJob(service, 'SELECT count() FROM visits FORMAT TSV', {}, { token })))
  }
  t.equal((await service.call('DELETE', '/v0/tokens/dropped')).status, 200)
  t.equal((await service.call('POST', '/v0/tokens/refreshed/refresh')).status, 200)
  const narrowed = new URLSearchParams({ scope: 'DATASOURCES:READ:visits:id < 5' })
  t.equal((await service.call('PUT', `/v0/tokens/narrowed?${narrowed}`)).status, 200)
  await endedJob(service, busy)
  const jobs = await Promise.all(ids.map((id) => endedJob(service, id)))
  t.match(jobs[0], { status: 'error', error: /token that the job was made with is not valid any more/ })
  t.match(jobs[1], { status: 'error', error: /token that the job was made with is not valid any more/ })
  t.equal((await resultOf(service, ids[2] ?? '')).text, '5\n')
  t.equal((await resultOf(service, ids[3] ?? '')).text, '100\n')
})

t.test('a JWT reads through its filter, and its own results', async (t) => {
  const service = await openTestService(t, { adminToken: strongToken })
  const admin = { token: strongToken }
  await fillVisits(service, admin)
  const sign = async (name: string): Promise<string> => {
    const scopes = [{ type: 'DATASOURCES:READ', resource: 'visits', filter: "user = 'u4'" }]
    const expiration_time = String(Math.floor(Date.now() / 1_000) + 3_600)
    const { json } = await service.call('POST', `/v0/tokens?${new URLSearchParams({ expiration_time })}`, {
      body: JSON.stringify({ name, scopes }),
      ...admin,
    })
    return (json as { readonly token: string }).token
  }
  const jwt = { token: await sign('one') }
  const id = jobIdOf(await askForJob(service, 'SELECT groupUniqArray(user) FROM visits FORMAT TSV', {}, jwt))
  t.equal((await endedJob(service, id, jwt)).status, 'done')
  t.equal((await resultOf(service, id, jwt)).text, "['u4']\n")
  t.equal((await resultOf(service, id, { token: await sign('two') })).status, 403)
  const kept = await readFile(join(service.dataDir, 'catalog.lmdb'), 'latin1')
  t.notOk(kept.includes(jwt.token), 'the token is not kept')
})

t.test('results have so many bytes together', async (t) => {
  const service = await openTestService(t, { jobResultsBytesMax: 1024 * 1024 })
  const sql = "SELECT repeat('x', 1000) FROM numbers(600) FORMAT TSV"
  const first = jobIdOf(await askForJob(service, sql))
  t.equal((await endedJob(service, first)).status, 'done')
  const second = jobIdOf(await askForJob(service, sql))
  t.match(await endedJob(service, second), { status: 'error', error: /results of jobs have 1048576 bytes together/ })
  t.same(await readdir(join(service.dataDir, 'job-results')), [first], 'nothing is left of the second')
  t.equal((await resultOf(service, first)).text.length, 600 * 1_001)
})
