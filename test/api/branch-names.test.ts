// No drop and no rename takes away what a branch of a template reads, however the name is written there: random templates, each
// of which is run with its branch taken, so that the engine has read the table, and then is to keep it.

import t from 'tap'
import { errorOf, openPipeService } from '../support/api/pipe-service.ts'
import { SeededRandom, testSeed } from '../support/seeded-random.ts'
import { branchCase } from '../support/spelled-names.ts'
import { byTier } from '../support/tier.ts'

const pipes = await openPipeService(t)
const { call, service } = pipes

t.test('what a branch reads is kept, however its name is written', async (t) => {
  const seed = testSeed()
  const random = new SeededRandom(seed)
  t.comment(`SEED=${seed}`)
  const columns = { engine: 'MergeTree', engine_sorting_key: 'a' }
  await service.create('grd_sales', 'a UInt64', columns)
  await service.append('grd_sales', 'csv', '42\n')
  await service.create('grd_join', 'k UInt64, v UInt64', {
    engine: 'Join',
    engine_join_strictness: 'ANY',
    engine_join_type: 'LEFT',
    engine_key_columns: 'k',
  })
  await service.append('grd_join', 'csv', '1,42\n')
  // The shape of an answer is what its tests check.
  const { id } = (await call('GET', '/v0/datasources/grd_sales')).json as { readonly id: string }
  const rounds = byTier({ quick: 80, full: 120, soak: 5_000 })
  const unreal: string[] = []
  for (let round = 0; round < rounds; round += 1) {
    const { sql, values, source, isById } = branchCase(random, id)
    const nodes = [{ name: 'e', sql, type: 'endpoint' }]
    const made = await call('POST', '/v0/pipes', { body: JSON.stringify({ name: `reads_${round}`, nodes }) })
    const answer = await call('GET', `/v0/pipes/reads_${round}.json?${values}`)
    // The shape of an answer is what its tests check.
    const data =
      answer.status === 200 ? (answer.json as { readonly data: readonly { readonly c: unknown }[] }).data : []
    if (made.status !== 200 || Number(data[0]?.c) !== 1) {
      unreal.push(`${sql} ${values}: ${made.text.slice(0, 200)} ${answer.text.slice(0, 200)}`)
      await call('DELETE', `/v0/pipes/reads_${round}`)
      continue
    }
    const dropped = await call('DELETE', `/v0/datasources/${source}`)
    t.match([dropped.status, errorOf(dropped)], [409, new RegExp(`is used by reads_${round}\\b`)], sql)
    if (dropped.status !== 409) return
    const isRenamed = round % 4 === 0 && !isById
    const renamed = isRenamed ? await call('PUT', `/v0/datasources/${source}?name=other`) : null
    if (renamed !== null) t.match([renamed.status, errorOf(renamed)], [409, new RegExp(`reads_${round}\\b`)], sql)
    if (renamed !== null && renamed.status !== 409) return
    await call('DELETE', `/v0/pipes/reads_${round}`)
  }
  t.ok(unreal.length <= rounds / 20, `${unreal.length} of ${rounds} read nothing: ${unreal.slice(0, 10).join('\n')}`)
})
