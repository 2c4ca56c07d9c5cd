import { setImmediate } from 'node:timers/promises'
import t from 'tap'
import { AppendGate } from '../../src/store/append-gate.ts'

const long = 240_000

/** Something that ends when the test says so. */
function openEnd(): { readonly ended: Promise<void>; readonly end: () => void } {
  let end = (): void => undefined
  const ended = new Promise<void>((resolve) => {
    end = resolve
  })
  return { ended, end }
}

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

t.test('of rows that nobody keeps somebody is told before they are inserted', async (t) => {
  const gate = new AppendGate()
  const steps: string[] = []
  const told = openEnd()
  gate.listen((table) => {
    steps.push(`told of ${table}`)
    return table === 'a' ? told.ended : null
  })
  const passed = gate.passUnkept('a', async () => steps.push('inserted a'))
  await gate.passUnkept('b', async () => steps.push('inserted b'))
  t.same(steps, ['told of a', 'told of b', 'inserted b'])
  told.end()
  await passed
  t.same(steps.at(-1), 'inserted a')
  await t.rejects(
    gate.passUnkept('c', () => Promise.reject(new Error('refused'))),
    { message: 'refused' },
  )
  t.equal(await gate.whileClosed(['a', 'b', 'c'], long, async () => undefined), true)
})
