import { setImmediate } from 'node:timers/promises'
import t from 'tap'
import { AppendGate } from '../../src/store/append-gate.ts'

const long = 240_000

t.test('INSERTs pass beside one another, and none while the views change', async (t) => {
  const gate = new AppendGate()
  const steps: string[] = []
  const leaves = [await gate.enter('a'), await gate.enter('a')]
  const closed = gate.whileClosed(['a', 'b'], long, async () => {
    steps.push('changed')
  })
  const entered = gate.enter('a').then((leave) => {
    steps.push('entered')
    leave()
  })
  const other = await gate.enter('c')
  other()
  leaves[0]?.()
  await setImmediate()
  t.same(steps, [])
  leaves[1]?.()
  t.equal(await closed, true)
  await entered
  t.same(steps, ['changed', 'entered'])
})

t.test('a change waits for so long, and lets everybody pass when it failed', async (t) => {
  const gate = new AppendGate()
  const leave = await gate.enter('a')
  const runs = async (): Promise<void> => {
    t.fail('it runs beside an INSERT')
  }
  t.equal(await gate.whileClosed(['a'], 1, runs), false)
  leave()
  await t.rejects(
    gate.whileClosed(['a'], long, () => Promise.reject(new Error('no'))),
    { message: 'no' },
  )
  const again = await gate.enter('a')
  again()
})
