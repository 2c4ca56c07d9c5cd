// What is told of a data source that is held for what is no replace of it.

import t from 'tap'
import { endedJob, jobIdOf } from '../support/api/job-calls.ts'
import { type Answer, openTestService } from '../support/api/test-service.ts'
import { ViewCalls } from '../support/api/view-calls.ts'

const service = await openTestService(t)
const views = new ViewCalls(service)

/** An import whose body stands still until `end`: a hold waits for it. */
function standing(name: string): { readonly end: () => Promise<Answer> } {
  let close = (): void => undefined
  const body = new ReadableStream({
    start(controller) {
      controller.enqueue(Buffer.from('{"n":1}\n'.repeat(10_000)))
      close = () => controller.close()
    },
  })
  const append = service.append(name, 'ndjson', body)
  return {
    end: () => {
      close()
      return append
    },
  }
}

/** What an import is refused with, once it is. */
async function untilRefused(name: string): Promise<string> {
  for (;;) {
    const { status, text } = await service.append(name, 'ndjson', '{"n":2}\n')
    if (status !== 200) return text
  }
}

t.test('a data source that is held for a populate is not said to be replaced', async (t) => {
  await service.create('flows', 'n UInt32 `json:$.n`')
  await views.fill('summed', 'SELECT n, count() AS rows FROM flows GROUP BY n', { datasource: 'sums' })
  const { end } = standing('flows')
  const populate = await service.call('POST', '/v0/pipes/summed/nodes/summed_view/population')
  const told = 'Data Source \\"flows\\" is being held for a Materialized View; nothing was changed, repeat it later'
  t.match(await untilRefused('flows'), told)
  t.match(await service.call('POST', '/v0/datasources/flows/truncate'), { status: 409, text: told })
  const replace = '/v0/datasources?mode=replace&name=flows&format=ndjson'
  t.match(await service.call('POST', replace, { body: '{"n":3}\n' }), { status: 409, text: told })
  t.match(await service.call('DELETE', '/v0/datasources/sums?force=true'), {
    status: 409,
    text: told.replace('flows', 'sums'),
  })
  t.match(await end(), { status: 200 })
  t.match(await endedJob(service, jobIdOf(populate)), { status: 'done' })
})
