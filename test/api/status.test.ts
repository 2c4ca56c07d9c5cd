import t from 'tap'
import { openTestService } from '../support/api/test-service.ts'

t.test('the status of a service that runs has its real numbers', async (t) => {
  const service = await openTestService(t)
  await service.create('visits', 'a Int32 `json:$.a`')
  await service.events('visits', '{"a":1}', { wait: 'true' })
  const page = await service.call('GET', '/health/status', { token: null })
  t.equal(page.status, 200)
  t.match(page.text, /^status {4}ready$/m)
  t.match(page.text, /^log {7}\d+ bytes of 1\.0 GiB, 0 rows wait, 0 data sources cannot be stored$/m)
  t.match(page.text, /^engine {4}0 restarts, [\d.]+ MiB of 2\.0 GiB$/m)
  t.match(page.text, /^sessions {2}insert: 0 of \d busy, 0 statements wait$/m)
  t.notMatch(page.text, /visits|objects/)
  const own = await service.call('GET', '/health/status', { headers: { accept: 'application/json' } })
  t.match(own.json, { status: 'ready', data_sources: 1, pipes: 0, jobs: [], waiting: [] })
})
