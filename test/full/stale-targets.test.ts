// Requests that make views with targets of their own, while what they read is renamed: each is judged again, and nothing is left of what was made before.

import t from 'tap'
import { openEmbeddedStore } from '../../src/store/embedded/embedded-store.ts'
import { openPipeService } from '../support/api/pipe-service.ts'
import { ViewCalls } from '../support/api/view-calls.ts'
import { silentLogger, testStoreOptions } from '../support/store/test-store.ts'

t.test('a request that is made again leaves one target, and one that is refused none', async (t) => {
  const { service, call } = await openPipeService(t)
  const views = new ViewCalls(service)
  const create = (name: string, sql: string) =>
    call('POST', '/v0/pipes', { body: JSON.stringify({ name, nodes: [{ name: `${name}_0`, sql }] }) })
  t.equal((await create('read_0', 'SELECT user, n FROM events')).status, 200)
  let renames = 0
  const rename = async (): Promise<void> => {
    const { status, text } = await call('PUT', `/v0/pipes/read_${renames}?name=read_${renames + 1}&force=true`)
    if (status !== 200) throw new Error(`a rename answered ${status}: ${text}`)
    renames += 1
  }
  const made: string[] = []
  for (let round = 0; round < 6; round += 1) {
    // Its first node is rewritten by each rename, so a change that was judged before is judged again.
    const pipe = `made_${round}`
    t.equal((await create(pipe, `SELECT user, n FROM read_${renames}`)).status, 200)
    const fill = (datasource: string) => views.tryFill(pipe, `SELECT user, n FROM ${pipe}_0`, { datasource })
    const making = fill(`${pipe}_rows`)
    let isOver = false
    const over = making.finally(() => {
      isOver = true
    })
    // More of them than a change is judged again for, every other time.
    for (let count = 0; !isOver && (round % 2 === 0 || count < 4); count += 1) await rename()
    await over
    const { status, text } = await making
    t.ok([200, 503].includes(status), text)
    const again = status === 200 ? status : (await fill(`${pipe}_rows`)).status
    t.equal(again, 200, 'the same request works once nothing is renamed')
    made.push(`${pipe}_rows`)
  }
  const { json } = await call('GET', '/v0/datasources')
  const { datasources } = json as { readonly datasources: readonly { readonly id: string; readonly name: string }[] }
  t.same(datasources.map(({ name }) => name).sort(), ['events', ...made].sort())
  await service.close()
  const store = await openEmbeddedStore(testStoreOptions(service.dataDir), silentLogger)
  t.teardown(() => store.close())
  const tables = [...(await store.tables.list()).keys()].filter((name) => name.startsWith('t_'))
  const expected = datasources.flatMap(({ id }) => [id, `${id}_quarantine`])
  t.same(tables.sort(), expected.sort(), `behind ${renames} renames`)
})
