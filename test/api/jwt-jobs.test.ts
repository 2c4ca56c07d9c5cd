// Jobs that a JWT has made: such a token has no record, and expires soon.

import t, { type Test } from 'tap'
import { endedJob, jobIdOf } from '../support/api/job-calls.ts'
import { askForJob, endless, fillVisits, resultOf, strongToken } from '../support/api/query-job-calls.ts'
import { type Call, openTestService, type TestService } from '../support/api/test-service.ts'

async function signJwt(service: TestService, name: string, seconds: number): Promise<Call> {
  const body = JSON.stringify({ name, scopes: [{ type: 'DATASOURCES:READ', resource: 'visits' }] })
  const expiration_time = String(Math.floor(Date.now() / 1_000) + seconds)
  const path = `/v0/tokens?${new URLSearchParams({ expiration_time })}`
  const { json } = await service.call('POST', path, { body, token: strongToken })
  // The shape of the answer is what other tests check.
  return { token: (json as { readonly token: string }).token }
}

async function untilExpired(t: Test, service: TestService, jwt: Call): Promise<void> {
  for (;;) {
    const { status, json } = await service.call('GET', '/v0/jobs', jwt)
    if (status !== 200) {
      t.match(json, { error: /expired|Invalid token/ })
      return
    }
  }
}

t.test('the jobs of a JWT are for that JWT as long as it is valid, and for ADMIN', async (t) => {
  const service = await openTestService(t, {
    adminToken: strongToken,
    queryJobsWorkingMax: 1,
    queryJobTimeMaxMs: 8_000,
  })
  const admin = { token: strongToken }
  await fillVisits(service, admin)
  const [jwt, namesake] = [await signJwt(service, 'one', 6), await signJwt(service, 'one', 3_600)]
  const sql = 'SELECT count() FROM visits FORMAT TSV'
  const done = jobIdOf(await askForJob(service, sql, {}, jwt))
  t.equal((await endedJob(service, done, admin)).status, 'done')
  const busy = [
    jobIdOf(await askForJob(service, endless, {}, admin)),
    jobIdOf(await askForJob(service, endless, {}, jwt)),
  ]
  const late = jobIdOf(await askForJob(service, sql, {}, jwt))
  t.match((await service.call('GET', '/v0/jobs', namesake)).json, { total: 0 }, 'another JWT of its name sees none')
  for (const [method, path] of [
    ['GET', ''],
    ['GET', '/result'],
    ['GET', '?progress=true'],
    ['POST', '/cancel'],
    ['DELETE', '/result'],
  ] as const) {
    t.equal((await service.call(method, `/v0/jobs/${done}${path}`, namesake)).status, 403, `${method} ${path}`)
  }
  await untilExpired(t, service, jwt)
  t.equal((await resultOf(service, done, jwt)).status, 403)
  t.equal((await resultOf(service, done, admin)).text, '100\n')
  for (const id of busy) await endedJob(service, id, admin)
  t.match(await endedJob(service, late, admin), { status: 'error', error: /expired/ })
  t.equal((await service.call('DELETE', `/v0/jobs/${done}/result`, admin)).status, 204)
})
