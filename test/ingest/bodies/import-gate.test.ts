import t from 'tap'
import { ImportGate } from '../../../src/ingest/bodies/import-gate.ts'
import { testDataSource } from '../../support/ingest/fake-store.ts'

const [one, other] = [testDataSource('n UInt8'), testDataSource('n UInt8')]

/** Work that ends when the test says so. */
function held(): { readonly work: () => Promise<string>; readonly end: () => void } {
  let end = (): void => undefined
  const ended = new Promise<void>((resolve) => {
    end = resolve
  })
  return { work: () => ended.then(() => 'ended'), end }
}

t.test('a change waits for the imports that run, and lets none begin until it has ended', async (t) => {
  const gate = new ImportGate()
  const first = held()
  const change = held()
  const order: string[] = []
  const importing = gate.pass(one, first.work).then(() => order.push('import'))
  const changing = gate.whileClosed([other, one], { reason: 'changed', timeMaxMs: 60_000 }, () => {
    order.push('change')
    return change.work()
  })
  await t.rejects(
    gate.pass(one, async () => 1),
    { code: 'DATASOURCE_BUSY', status: 409, message: /is being changed/ },
  )
  t.same(order, [])
  first.end()
  await importing
  t.same(order, ['import'])
  await t.rejects(
    gate.pass(other, async () => 1),
    { code: 'DATASOURCE_BUSY' },
  )
  change.end()
  t.equal(await changing, 'ended')
  t.same(order, ['import', 'change'])
  t.equal(await gate.pass(one, async () => 1), 1)
})

t.test('an import that fails is waited for no longer, and one that does not end lets no change begin', async (t) => {
  const gate = new ImportGate()
  await t.rejects(
    gate.pass(one, () => Promise.reject(new Error('cut'))),
    { message: 'cut' },
  )
  t.equal(await gate.whileClosed([one], { reason: 'replaced', timeMaxMs: 60_000 }, async () => 'changed'), 'changed')
  const long = held()
  const importing = gate.pass(one, long.work)
  const refused = gate.whileClosed([one], { reason: 'replaced', timeMaxMs: 1 }, () =>
    Promise.reject(new Error('began')),
  )
  await t.rejects(refused, { code: 'DATASOURCE_BUSY', message: /is being appended to/ })
  t.equal(await gate.pass(one, async () => 2), 2, 'imports go on')
  long.end()
  await importing
})
