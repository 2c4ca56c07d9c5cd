// An INSERT that fails without a kill of the service, and may be in the data source and not in what views fill of it.

import process from 'node:process'
import t from 'tap'
import { RiskySource } from '../support/api/risky-source.ts'
import { openTestService } from '../support/api/test-service.ts'
import { ViewCalls } from '../support/api/view-calls.ts'
import { untilEngine } from '../support/store/engine-pid.ts'

/** Minutes within one row whose `n` is 1,500, on any machine. */
const endless =
  "arraySum(i -> length(replaceRegexpAll(concat(repeat('abc', 30000), toString(i)), '((a|b|c){0,300}?)(c)', 'x')), range(n)) AS d"

t.test(
  'where the engine ends three times beneath an import, the views that may lack its rows are incomplete',
  async (t) => {
    const service = await openTestService(t)
    await service.create('rows', 'id UInt32, n UInt32')
    const views = new ViewCalls(service)
    await views.fill('slow', `SELECT id, ${endless} FROM rows`, { datasource: 'slow_rows' })
    await views.fill('sound', 'SELECT id, n FROM rows', { datasource: 'sound_rows' })
    const imported = service.append('rows', 'ndjson', '{"id":1,"n":1500}')
    let engine = await untilEngine(process.pid)
    for (let end = 1; end <= 3; end += 1) {
      // The rows are in the table long before the view has made anything of them.
      while ((await service.count('rows')) === 0);
      process.kill(engine, 'SIGKILL')
      engine = await untilEngine(process.pid, engine)
    }
    const answer = await imported
    t.equal(answer.status, 500, answer.text)
    const behind = await new RiskySource(service, 'rows').behind()
    t.same(
      behind.map(({ view, state }) => [view, state]),
      [
        ['slow.slow_view', 'incomplete'],
        ['sound.sound_view', 'incomplete'],
      ],
    )
  },
)
