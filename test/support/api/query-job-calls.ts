import type { Answer, Call, TestService } from './test-service.ts'

/** Runs longer than any test. */
export const endless = 'SELECT count() FROM numbers(100000000000) WHERE sipHash64(number) = 1'
/** An admin token that is long enough to sign with. */
export const strongToken = `p.test.${'x'.repeat(40)}`

/** Makes `visits` with 100 rows. */
export async function fillVisits(service: TestService, call: Call = {}): Promise<void> {
  await service.call(
    'POST',
    `/v0/datasources?${new URLSearchParams({ name: 'visits', schema: 'id UInt32, user String' })}`,
    call,
  )
  const rows = Array.from({ length: 100 }, (_, id) => JSON.stringify({ id, user: `u${id % 10}` }))
  const { status } = await service.append('visits', 'ndjson', rows.join('\n'), call)
  if (status !== 200) throw new Error('the rows were not taken')
}

/** Asks for a query as a job. */
export function askForJob(
  service: TestService,
  sql: string,
  more: Readonly<Record<string, string>> = {},
  call: Call = {},
): Promise<Answer> {
  return service.call('POST', `/v0/sql?${new URLSearchParams({ job: 'true', ...more })}`, { body: sql, ...call })
}

export function resultOf(service: TestService, id: string, call: Call = {}): Promise<Answer> {
  return service.call('GET', `/v0/jobs/${id}/result`, call)
}

/** Makes a token with one scope. */
export async function tokenOf(service: TestService, name: string, scope: string): Promise<string> {
  const { json } = await service.call('POST', `/v0/tokens?${new URLSearchParams({ name, scope })}`)
  // The shape of the answer is what other tests check.
  return (json as { readonly token: string }).token
}
