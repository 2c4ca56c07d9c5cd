import t from 'tap'
import { openPipeService } from '../support/api/pipe-service.ts'

t.test('a name of thousands of letters that is no column is refused as any other', async (t) => {
  const pipes = await openPipeService(t)
  const { service } = pipes
  const long = 'x'.repeat(40_000)
  for (const sql of [`SELECT ${long}`, `SELECT "${long}"`, `SELECT ${long}()`, `SELECT 1 AS a WHERE a.${long} = 1`]) {
    const answer = await service.call('POST', '/v0/sql', { body: sql })
    t.equal(answer.status, 400, `${sql.slice(0, 20)}: ${answer.text.slice(0, 200)}`)
  }
  await pipes.create('chosen', "% SELECT {{column(col, 'page')}} FROM (SELECT 1 AS page)")
  t.equal((await service.call('PUT', '/v0/pipes/chosen/endpoint', { body: 'n0' })).status, 200)
  const body = JSON.stringify({ col: long })
  const answer = await service.call('POST', '/v0/pipes/chosen.json', { body })
  t.equal(answer.status, 400, answer.text.slice(0, 200))
})
