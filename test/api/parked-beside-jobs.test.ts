// What other requests do to views that are parked, and what a failing block does to jobs that fill.

import t from 'tap'
import { endedJob, jobIdOf, jobOf } from '../support/api/job-calls.ts'
import { errorOf } from '../support/api/pipe-service.ts'
import { openTestService } from '../support/api/test-service.ts'
import { ViewCalls } from '../support/api/view-calls.ts'

const parked = 'A Materialized View does not take a block: it is parked, and the others go on.'

const service = await openTestService(t, { populateChunkRowsMax: 1_000, jobSliceMs: 60_000 })
const views = new ViewCalls(service)

interface Behind {
  readonly state: string
  readonly blocks?: number
}

async function behind(name: string, call = {}): Promise<readonly Behind[]> {
  const { json } = await service.call('GET', `/v0/datasources/${name}`, call)
  // The shape of the answer is what other tests check.
  return (json as { readonly views_behind?: readonly Behind[] }).views_behind ?? []
}

async function tokenOf(name: string, scopes: readonly string[]): Promise<string> {
  const query = new URLSearchParams({ name })
  for (const scope of scopes) query.append('scope', scope)
  const { json } = await service.call('POST', `/v0/tokens?${query}`)
  // As above.
  return (json as { readonly token: string }).token
}

/** A data source with a view that takes all words, and one that takes numbers alone; a word has come. */
async function parkedSource(name: string): Promise<void> {
  await service.create(name, 'word String')
  await views.fill(`${name}_sound`, `SELECT word FROM ${name}`, { datasource: `${name}_words` })
  await views.fill(`${name}_risky`, `SELECT toUInt32(word) AS n FROM ${name}`, { datasource: `${name}_numbers` })
  await service.events(name, '{"word":"1"}', { wait: 'true' })
  await service.events(name, '{"word":"none"}')
  await service.log.until(parked, ({ node }) => node === `${name}_risky.${name}_risky_view`)
  await service.untilStored(name)
}

t.test('who only looks takes nothing from a view that is parked', async (t) => {
  await parkedSource('seen')
  const before = await behind('seen')
  t.match(before, [{ state: 'parked', blocks: 1 }])
  const node = '/v0/pipes/seen_sound/nodes/seen_sound_view'
  const token = await tokenOf('looker', [
    'PIPES:READ:seen_sound',
    'DATASOURCES:READ:seen',
    'DATASOURCES:READ:seen_words',
  ])
  const verified = await service.call('GET', `${node}/verify`, { token })
  t.match(verified, { status: 200, json: { equal: true } }, verified.text)
  const dry = await service.call('POST', `${node}/repair?dry_run=true`)
  t.match(await endedJob(service, jobIdOf(dry)), { status: 'done' })
  t.match(await behind('seen'), [{ state: 'parked', blocks: 1 }])
})

t.test('what a view lacks is told to who may read its source', async (t) => {
  await parkedSource('told')
  const filling = ['PIPES:CREATE', 'DATASOURCES:APPEND:told_numbers']
  const blind = await tokenOf('blind', filling)
  const filtered = await tokenOf('filtered', [...filling, "DATASOURCES:READ:told:word = '1'"])
  const reader = await tokenOf('reader', [...filling, 'DATASOURCES:READ:told'])
  const catchUp = '/v0/pipes/told_risky/nodes/told_risky_view/catch_up'
  for (const token of [blind, filtered]) {
    const answer = await service.call('POST', catchUp, { token })
    t.equal(answer.status, 200, answer.text)
    t.match(answer.json, { behind: { state: 'parked' } })
    t.notMatch(answer.text, /"(?:blocks|bytes|since|error)"/)
  }
  t.match((await service.call('POST', catchUp, { token: reader })).json, { behind: { blocks: 1 } })
})

t.test('a row that a populate does not take ends the populate, and not the events', async (t) => {
  for (const [round, ask] of ['population?truncate=true', 'repair?force=true'].entries()) {
    const name = `busy_${round}`
    await service.create(name, 'word String')
    await views.fill(`${name}_risky`, `SELECT toUInt32(word) AS n FROM ${name}`, { datasource: `${name}_numbers` })
    const rows = Array.from({ length: 60_000 }, (_, row) => `{"word":"${row}"}`).join('\n')
    await service.append(name, 'ndjson', rows)
    // A repair fills where something differs.
    await service.events(`${name}_numbers`, '{"n":7}', { wait: 'true' })
    const id = jobIdOf(await service.call('POST', `/v0/pipes/${name}_risky/nodes/${name}_risky_view/${ask}`))
    while ((await jobOf(service, id)).status === 'waiting');
    const answer = await service.events(name, '{"word":"none"}', { wait: 'true' })
    t.ok([200, 422].includes(answer.status), answer.text)
    t.match(await endedJob(service, id), { status: /^(?:done|error)$/ })
    await service.untilStored(name)
    t.match(await service.events(name, '{"word":"5"}', { wait: 'true' }), { status: 200 })
  }
})

t.test('FINAL, SAMPLE and PREWHERE are refused in words', async (t) => {
  await service.create('plain', 'k UInt32, n UInt32', { engine: 'ReplacingMergeTree', engine_sorting_key: 'k' })
  for (const sql of ['SELECT k FROM plain FINAL', 'SELECT k FROM plain PREWHERE n > 1']) {
    const answer = await views.tryFill(`final_${sql.length}`, sql, { datasource: 'made_of_plain' })
    t.equal(answer.status, 400, answer.text)
    t.match(errorOf(answer), /FINAL|PREWHERE/)
    t.equal((await service.call('GET', '/v0/datasources/made_of_plain')).status, 404)
  }
})
