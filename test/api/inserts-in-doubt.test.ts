// An INSERT that fails without a kill of the service, and may be in the data source and not in what views fill of it.

import process from 'node:process'
import t from 'tap'
import { RiskySource } from '../support/api/risky-source.ts'
import { openTestService } from '../support/api/test-service.ts'
import { ViewCalls } from '../support/api/view-calls.ts'
import { writeParquetFiles } from '../support/parquet-files.ts'
import { untilEngine } from '../support/store/engine-pid.ts'

/** Minutes within one row whose `n` is 1,500, on any machine. */
const endless =
  "arraySum(i -> length(replaceRegexpAll(concat(repeat('abc', 30000), toString(i)), '((a|b|c){0,300}?)(c)', 'x')), range(n)) AS d"

const file = (await writeParquetFiles({ one: { sql: 'SELECT toUInt32(1) AS id, toUInt32(1500) AS n' } }))('one')
const bodies = { ndjson: '{"id":1,"n":1500}', parquet: file } as const

for (const format of ['ndjson', 'parquet'] as const) {
  t.test(`the engine ends three times beneath an import of ${format}: who lacks its rows is told`, async (t) => {
    const service = await openTestService(t)
    await service.create('rows', 'id UInt32 `json:$.id`, n UInt32 `json:$.n`')
    const views = new ViewCalls(service)
    await views.fill('sound', 'SELECT id, n FROM rows', { datasource: 'sound_rows' })
    await views.fill('slow', `SELECT id, ${endless} FROM sound_rows`, { datasource: 'slow_rows' })
    const imported = service.call('POST', `/v0/datasources?mode=append&name=rows&format=${format}`, {
      body: bodies[format],
    })
    let engine = await untilEngine(process.pid)
    for (let end = 1; end <= 3; end += 1) {
      // The rows are in the table long before the view has made anything of them.
      while ((await service.count('rows')) === 0);
      process.kill(engine, 'SIGKILL')
      engine = await untilEngine(process.pid, engine)
    }
    const answer = await imported
    t.equal(answer.status, 500, answer.text)
    t.match(answer.json, { imported_rows: 0, warnings: [/^Up to 1 further rows may be stored/] })
    const behind = await new RiskySource(service, 'rows').behind()
    t.same(
      behind.map(({ view, state }) => [view, state]),
      [
        ['sound.sound_view', 'incomplete'],
        ['slow.slow_view', 'incomplete'],
      ],
    )
  })
}
