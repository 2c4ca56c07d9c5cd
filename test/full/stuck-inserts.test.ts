// INSERTs that the engine cannot stop and that do not end by themselves, in as many data sources as there are sessions for
// INSERTs: what the service tells meanwhile, and that it takes events and gives answers.

import process from 'node:process'
import t from 'tap'
import { openTestService, type TestService } from '../support/api/test-service.ts'
import { findEnginePid, untilEngine } from '../support/store/engine-pid.ts'

/** Minutes within one row whose `n` is 1,500, on any machine, and a hundred megabytes. */
const endless =
  "id UInt32 `json:$.id`, n UInt64 `json:$.n`, d UInt64 DEFAULT arraySum(i -> length(replaceRegexpAll(concat(repeat('abc', 30000), toString(i)), '((a|b|c){0,300}?)(c)', 'x')), range(n))"
const restarted = 'The engine ended unexpectedly; it is started again.'

t.test(
  'while INSERTs that cannot be stopped hold all sessions it is not ready and says why, and it is when they have ended',
  async (t) => {
    // Five sessions: one that is common, and four for the slow.
    const service = await openTestService(t, { insertTimeMaxMs: 1_000, insertsInFlightMax: 1, eventsFlushIdleMs: 5 })
    const ready = () => service.call('GET', '/health/ready', { token: null })
    await sendEndless(service, ['a', 'b', 'c', 'd'])
    // The first restart comes at once. Then their rows are tried alone, two data sources at a time.
    await service.log.until(restarted)
    const engine = await untilEngine(process.pid)
    while ((await ready()).status !== 200);

    await sendEndless(service, ['e', 'f', 'g'])
    let told = await ready()
    while (told.status === 200) told = await ready()
    t.equal(told.status, 503)
    t.match(told.json, { error: /INSERTs that cannot be stopped hold all of its sessions for INSERTs/ })
    t.match(await service.events('g', '{"id":2,"n":0}'), { status: 202 })
    t.equal(await service.sql('SELECT 1 FORMAT TSV'), '1\n')
    // The next restart comes by itself, minutes later.
    t.equal(findEnginePid(process.pid), engine)
    process.kill(engine, 'SIGKILL')
    await untilEngine(process.pid, engine)
    while ((await ready()).status !== 200);
  },
)

t.test('a data source says while its block takes long since when it does, and why it is tried in pieces', async (t) => {
  const service = await openTestService(t, { insertTimeMaxMs: 8_000, eventsFlushIdleMs: 5 })
  await sendEndless(service, ['slow'])
  const told = async (pattern: RegExp): Promise<unknown> => {
    for (;;) {
      const { json } = await service.call('GET', '/v0/datasources/slow')
      // Its shape is what is looked at.
      const { events } = json as { readonly events: { readonly error: string | null } }
      if (events.error !== null && pattern.test(events.error)) return events
    }
  }
  const since = /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d/
  t.match(await told(/storing a block of events since \d{4}-\d\d-\d\d .*; the events after it wait$/), {
    waiting_rows: 2,
    failed_since: since,
    retry_at: null,
  })
  t.match(await told(/so its rows are tried in smaller pieces: \S/), { waiting_rows: 2, failed_since: since })
})

async function sendEndless(service: TestService, names: readonly string[]): Promise<void> {
  for (const name of names) t.match(await service.create(name, endless), { status: 200 })
  for (const name of names) t.match(await service.events(name, '{"id":1,"n":1500}\n{"id":0,"n":0}'), { status: 202 })
}
