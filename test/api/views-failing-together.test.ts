// Many views that fail at the same rows of an import: the database tells of one at a time.

import t from 'tap'
import { RiskySource } from '../support/api/risky-source.ts'
import { openTestService } from '../support/api/test-service.ts'

t.test('each view that fails at an import is parked with it, and catches up', async (t) => {
  const service = await openTestService(t)
  const source = await new RiskySource(service, 'many').create()
  const pipes = ['many_risky', ...Array.from({ length: 11 }, (_, index) => `also_${index}`)]
  for (const pipe of pipes.slice(1)) await source.addRisky(pipe)
  const refused = await service.append('many', 'ndjson', '{"id":1,"n":13}\n{"id":2,"n":1}')
  t.equal(refused.status, 422, refused.text)
  const behind = await source.behind()
  t.equal(behind.length, pipes.length)
  t.same(new Set(behind.map(({ state }) => state)), new Set(['parked']))
  await source.mend()
  for (const pipe of pipes) {
    t.same((await source.catchUp(pipe)).json, { behind: null }, pipe)
    t.equal(await service.count(`${pipe}_rows`), 2, pipe)
  }
  t.same(await source.faults(2), [])
})
