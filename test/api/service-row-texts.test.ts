// Texts of callers that are cut in the middle of a character: the engine must take the rows that have them, and those of others with them.

import t from 'tap'
import { endedJob, jobIdOf } from '../support/api/job-calls.ts'
import { untilRows, writingRows } from '../support/api/service-rows.ts'
import { openTestService } from '../support/api/test-service.ts'

/** Whichever way it is cut, some of these are cut within a character. */
function textsAround(charCount: number): readonly string[] {
  return [0, 1].map((more) => `${'x'.repeat(charCount + more)}${'😀'.repeat(20)}`)
}

t.test('texts that are cut within a character cost no rows, neither their own nor those of others', async (t) => {
  const service = await openTestService(t, writingRows)
  await service.create('visits', 'page String')
  const nodes = [{ name: 'n', sql: "% SELECT {{String(word, '')}} AS word, {{Int32(n, 1)}} AS n", type: 'endpoint' }]
  await service.call('POST', '/v0/pipes', { body: JSON.stringify({ name: 'one', nodes }) })

  t.test('values and names of parameters, and errors', async (t) => {
    const asked = [
      ...textsAround(980).map((word) => new URLSearchParams({ word })),
      ...textsAround(180).map((name) => new URLSearchParams({ [name]: 'x' })),
      ...textsAround(1_980).map((n) => new URLSearchParams({ n })),
      new URLSearchParams({ word: 'of another caller', n: 'none' }),
    ]
    await Promise.all(asked.map((parameters) => service.call('GET', `/v0/pipes/one.json?${parameters}`)))
    const requests = "SELECT count() FROM tinybird.pipe_stats_rt WHERE pipe_name = 'one'"
    await untilRows(service, requests, ([row]) => Number(row?.[0]) === asked.length)
    await untilRows(service, 'SELECT count() FROM tinybird.endpoint_errors', ([row]) => Number(row?.[0]) === 3)
    const told = "SELECT count() FROM tinybird.pipe_stats_rt WHERE parameters['word'] = 'of another caller'"
    t.strictSame(await service.rows(told), [['1']])
  })

  t.test('scopes of tokens', async (t) => {
    const lengths = [139, 140, 197, 198]
    for (const length of lengths) {
      const scope = `DATASOURCES:READ:visits:page = '${'x'.repeat(length)}${'😀'.repeat(40)}'`
      const { status } = await service.call(
        'POST',
        `/v0/tokens?${new URLSearchParams({ name: `long ${length}`, scope })}`,
      )
      t.equal(status, 200)
    }
    await service.call('POST', '/v0/tokens?name=of another&scope=PIPES:CREATE')
    const names = await untilRows(
      service,
      'SELECT token_name FROM tinybird.tokens_log ORDER BY token_name',
      (rows) => rows.length === lengths.length + 1,
    )
    t.strictSame(names.flat(), [...lengths.map((length) => `long ${length}`), 'of another'])
  })

  t.test('ends of jobs', async (t) => {
    const ids: string[] = []
    for (const text of textsAround(1_980)) {
      const job = await service.call('POST', '/v0/sql?job=true', { body: `SELECT throwIf(1, '${text}')` })
      ids.push(jobIdOf(job))
    }
    for (const id of ids) t.match(await endedJob(service, id), { status: 'error' })
    const ended = `SELECT count() FROM tinybird.jobs_log WHERE status = 'error'`
    await untilRows(service, ended, ([row]) => Number(row?.[0]) === ids.length)
  })

  t.strictSame(
    service.log.entries.filter(({ message }) => message.startsWith('Rows of ')),
    [],
    'no row was dropped',
  )
})
