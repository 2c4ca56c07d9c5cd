// Views that fail at several blocks which are under way together, while others of their blocks are repeated: whoever is told to have caught up has
// all of them.

import t from 'tap'
import { type Answer, openTestService } from '../support/api/test-service.ts'
import { ViewCalls } from '../support/api/view-calls.ts'
import { SeededRandom, testSeed } from '../support/seeded-random.ts'
import { byTier } from '../support/tier.ts'

const seed = testSeed()
const roundCount = byTier({ quick: 1, full: 6, soak: 60 })
const stepCount = byTier({ quick: 60, full: 150, soak: 300 })
const service = await openTestService(t)
const views = new ViewCalls(service)
const random = new SeededRandom(seed)
const gated = ['one', 'two']
let nextId = 1

await service.create('source', 'id UInt64, w UInt32')
for (const name of gated) {
  await service.create(`${name}_gate`, 'k UInt64')
  const sql = `SELECT id, w FROM source WHERE throwIf(id % 10 IN (SELECT k FROM ${name}_gate)) = 0`
  await views.fill(name, sql, { datasource: `${name}_rows` })
}
const slow = 'SELECT id, length(arrayFilter(x -> sipHash64(x, id) % 7 = 1, range(w))) AS n FROM source WHERE w > 0'
await views.fill('slow', slow, { datasource: 'slow_rows' })

function rowsOf(count: number, w = 0): string {
  const from = nextId
  nextId += count
  return Array.from({ length: count }, (_, row) => JSON.stringify({ id: from + row, w: row < 8 ? w : 0 })).join('\n')
}

function catchUp(name: string): Promise<Answer> {
  return service.call('POST', `/v0/pipes/${name}/nodes/${name}_view/catch_up`)
}

async function truncateGates(): Promise<void> {
  for (const name of gated) await service.call('POST', `/v0/datasources/${name}_gate/truncate`)
}

async function changeGate(): Promise<void> {
  const gate = `${random.pick(['one', 'two'])}_gate`
  if (random.below(2) === 0) await service.call('POST', `/v0/datasources/${gate}/truncate`)
  else await service.events(gate, Array.from({ length: 10 }, (_, k) => JSON.stringify({ k })).join('\n'))
}

async function runBeside(): Promise<void> {
  let left = stepCount
  const lane = async (step: () => Promise<unknown>): Promise<void> => {
    for (; left > 0; left -= 1) await step()
  }
  const send = (): Promise<Answer> => service.append('source', 'ndjson', rowsOf(random.pick([5, 30, 500]), wOf()))
  await Promise.all([
    ...[1, 2, 3, 4].map(() => lane(send)),
    lane(() => service.events('source', rowsOf(5), random.below(3) === 0 ? { wait: 'true' } : {})),
    lane(changeGate),
    lane(() => catchUp(random.pick(['one', 'two']))),
  ])
}

/** How long the slow view takes with a row. */
function wOf(): number {
  return random.below(3) === 0 ? random.pick([20_000, 200_000]) : 0
}

t.test('nothing is lost in silence', async (t) => {
  t.comment(`SEED=${seed}`)
  for (let round = 0; round < roundCount; round += 1) {
    await runBeside()
    await truncateGates()
    await service.untilStored('source')
    for (const name of gated) {
      while ((await catchUp(name)).text !== '{"behind":null}') await service.untilStored('source')
      const [lacking] = await service.rows(
        `SELECT count(), groupArray(10)(id) FROM source WHERE id NOT IN (SELECT id FROM ${name}_rows)`,
      )
      t.same(lacking, ['0', '[]'], `SEED=${seed}, round ${round}: ${name}`)
      const counts = `SELECT count(), uniqExact(id) FROM`
      t.same(await service.rows(`${counts} ${name}_rows`), await service.rows(`${counts} source`))
    }
    const shown = await service.call('GET', '/v0/datasources/source')
    t.notMatch(shown.json, { views_behind: [{}] })
  }
})
