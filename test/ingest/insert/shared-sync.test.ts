import t from 'tap'
import { SharedSync } from '../../../src/ingest/insert/shared-sync.ts'

/** Syncs that end when the test says so. */
class HeldSyncs {
  readonly ends: { readonly resolve: () => void; readonly reject: (error: Error) => void }[] = []
  readonly sync = (): Promise<void> => new Promise((resolve, reject) => this.ends.push({ resolve, reject }))
}

t.test('who asks while a sync runs waits for one that began behind it, which all of them share', async (t) => {
  const held = new HeldSyncs()
  const shared = new SharedSync(held.sync)
  const ended: string[] = []
  const ask = (name: string) => shared.run().then(() => ended.push(name))
  const first = ask('first')
  const others = ['second', 'third', 'fourth'].map(ask)
  t.equal(held.ends.length, 1)
  held.ends[0]?.resolve()
  await first
  t.strictSame(ended, ['first'])
  while (held.ends.length < 2) await new Promise(setImmediate)
  const late = ask('late')
  held.ends[1]?.resolve()
  await Promise.all(others)
  t.strictSame(ended, ['first', 'second', 'third', 'fourth'])
  while (held.ends.length < 3) await new Promise(setImmediate)
  held.ends[2]?.resolve()
  await late
  const alone = ask('alone')
  t.equal(held.ends.length, 4, 'with none under way it begins at once')
  held.ends[3]?.resolve()
  await alone
})

t.test('a sync that fails is told to those who asked for it, and to nobody else', async (t) => {
  const held = new HeldSyncs()
  const shared = new SharedSync(held.sync)
  const first = shared.run()
  const second = shared.run()
  held.ends[0]?.reject(new Error('Input/output error'))
  await t.rejects(first, { message: 'Input/output error' })
  while (held.ends.length < 2) await new Promise(setImmediate)
  held.ends[1]?.resolve()
  await second
})

t.test('who asks at the moment at which one has ended shares the one that is about to begin', async (t) => {
  let underWay = 0
  let most = 0
  const shared = new SharedSync(async () => {
    underWay += 1
    most = Math.max(most, underWay)
    await new Promise(setImmediate)
    underWay -= 1
  })
  const askAgain = async (times: number): Promise<void> => {
    for (let time = 0; time < times; time += 1) await shared.run()
  }
  await Promise.all([askAgain(5), askAgain(5), shared.run().then(() => askAgain(3)), askAgain(1)])
  t.equal(most, 1)
})
