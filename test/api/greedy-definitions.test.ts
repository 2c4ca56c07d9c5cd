import t from 'tap'
import { mebibyte } from '../../src/shared/bytes.ts'
import { openTestService } from '../support/api/test-service.ts'

const plain = 'n Int64 `json:$.n`'
const sorted = { engine: 'MergeTree', engine_sorting_key: 'n' }

t.test('a constant that takes more memory than a query may is the fault of the definition', async (t) => {
  const service = await openTestService(t, { engineMemoryBytesMax: 1024 * mebibyte })
  await service.create('altered', plain)
  // More than the half of the engine's memory that one query may take, and more than all of it.
  for (const count of [180_000_000, 400_000_000]) {
    const greedy = `length(range(${count}))`
    const answers = [
      await service.create('greedy', `${plain}, d Int64 \`json:$.d\` DEFAULT ${greedy}`),
      await service.create('greedy', plain, { ...sorted, engine_partition_key: `n % ${greedy}` }),
      await service.create('greedy', plain, { ...sorted, indexes: `INDEX i n + ${greedy} TYPE minmax` }),
      await service.call('POST', '/v0/datasources/altered/alter', {
        body: new URLSearchParams({ schema: `${plain}, d Int64 \`json:$.d\` DEFAULT ${greedy}` }).toString(),
        headers: { 'content-type': 'application/x-www-form-urlencoded' },
      }),
    ]
    for (const answer of answers) {
      const documentation = 'docs/errors.md#definition_too_costly'
      t.match(
        answer,
        { status: 400, json: { documentation, error: /costs too much .*: it takes more than 512.00 MiB of memory\./ } },
        `${count}`,
      )
    }
  }
  t.match(await service.call('GET', '/v0/datasources/greedy'), { status: 404 })
  t.match(await service.events('altered', '{"n":1}', { wait: 'true' }), { status: 200 })
})
