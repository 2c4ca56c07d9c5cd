import t from 'tap'
import { ask } from '../../support/http/fake-deps.ts'
import { listen } from '../../support/http/listening-app.ts'
import { openJobsApp } from '../../support/jobs/jobs-app.ts'
import { startTestJobs } from '../../support/jobs/open-test-jobs.ts'
import { newJob, TestKind, untilStatus } from '../../support/jobs/test-kind.ts'

const tokens = { admin: [['ADMIN']], stranger: [] } as const
const headers = { authorization: 'Bearer admin' }

function linesOf(text: string): readonly Readonly<Record<string, unknown>>[] {
  return text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line))
}

t.test('progress=true tells a job in lines of JSON until its end', async (t) => {
  const kind = new TestKind()
  const { jobs } = await startTestJobs(t, { kinds: [kind] })
  const { app } = openJobsApp(t, jobs, tokens)
  const { id } = await jobs.add(newJob())
  const held = await kind.begun(0)
  const answering = ask(app, { url: `/v0/jobs/${id}?progress=true`, headers })
  await untilWatched(jobs, id)
  held.job.tell({ progressPercentage: 10 })
  held.job.tell({ progressPercentage: 90 })
  held.succeed()
  const { statusCode, headers: told, body } = await answering
  t.equal(statusCode, 200)
  t.equal(told['content-type'], 'application/x-ndjson')
  t.match(linesOf(body), [
    { job_id: id, status: 'working' },
    { progress_percentage: 10 },
    { progress_percentage: 90 },
    { status: 'done', progress_percentage: 90 },
  ])
})

/** The watch of a request is older than one that begins behind it: this one comes a turn of the loop later. */
async function untilWatched(jobs: Parameters<typeof untilStatus>[0], id: string): Promise<void> {
  for (let turn = 0; turn < 50; turn += 1) await new Promise((resolve) => setImmediate(resolve))
  await untilStatus(jobs, id, 'working')
}

t.test('a job that has ended is one line', async (t) => {
  const kind = new TestKind()
  const { jobs } = await startTestJobs(t, { kinds: [kind] })
  const { app } = openJobsApp(t, jobs, tokens)
  const { id } = await jobs.add(newJob())
  ;(await kind.begun(0)).succeed()
  await untilStatus(jobs, id, 'done')
  const { body } = await ask(app, { url: `/v0/jobs/${id}?progress=true`, headers })
  t.match(linesOf(body), [{ status: 'done' }])
  t.equal(linesOf(body).length, 1)
})

t.test('progress is for those who may read the job', async (t) => {
  const kind = new TestKind()
  const { jobs } = await startTestJobs(t, { kinds: [kind] })
  const { app } = openJobsApp(t, jobs, tokens)
  const { id } = await jobs.add(newJob())
  const answer = await ask(app, { url: `/v0/jobs/${id}?progress=true`, headers: { authorization: 'Bearer stranger' } })
  t.equal(answer.statusCode, 403)
})

t.test('as many follow jobs as may, and a client that leaves makes room', async (t) => {
  const kind = new TestKind()
  const { jobs } = await startTestJobs(t, { kinds: [kind], options: { watchesMax: 1 } })
  const { app } = openJobsApp(t, jobs, tokens)
  const connect = await listen(t, app)
  const { id } = await jobs.add(newJob())
  await kind.begun(0)
  const url = `/v0/jobs/${id}?progress=true`
  const client = await connect()
  client.send(`GET ${url} HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer admin\r\n\r\n`)
  await client.until((text) => text.includes('"working"'))
  const refused = await ask(app, { url, headers })
  t.match(refused.json(), { error: /1 requests follow jobs already/ })
  t.equal(refused.statusCode, 429)
  t.equal(refused.headers['retry-after'], '5')
  client.socket.destroy()
  // The server hears of it in its own time.
  for (;;) {
    try {
      jobs.watch(id, () => undefined)()
      break
    } catch {
      await new Promise((resolve) => setImmediate(resolve))
    }
  }
})

t.test('a close ends the lines of a job that goes on', async (t) => {
  const kind = new TestKind()
  const { jobs } = await startTestJobs(t, { kinds: [kind] })
  const { app } = openJobsApp(t, jobs, tokens, { closeTimeoutMs: 100 })
  const { id } = await jobs.add(newJob())
  await kind.begun(0)
  const client = await (await listen(t, app))()
  client.send(`GET /v0/jobs/${id}?progress=true HTTP/1.0\r\nHost: h\r\nAuthorization: Bearer admin\r\n\r\n`)
  await client.until((text) => text.endsWith('\n'))
  await app.close()
  const [, body = ''] = (await client.until(() => false)).split('\r\n\r\n')
  t.match(linesOf(body), [{ status: 'working' }])
  t.equal(linesOf(body).length, 1)
})
