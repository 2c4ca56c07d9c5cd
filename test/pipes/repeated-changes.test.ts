import t from 'tap'
import { RepeatedChanges, StalePipeError } from '../../src/pipes/repeated-changes.ts'
import { errors } from '../../src/shared/errors/errors.ts'

/** Changes that are judged by a count, and written only where no other one was written since. */
function createCounted() {
  let version = 0
  const turns: (() => void)[] = []
  const change = async (): Promise<number> => {
    const judgedAt = version
    await new Promise<void>((resolve) => turns.push(resolve))
    if (version !== judgedAt) throw new StalePipeError()
    version += 1
    return version
  }
  return {
    change,
    turns,
    outrun: () => {
      version += 1
    },
  }
}

async function untilWaiting(turns: readonly unknown[], count: number): Promise<void> {
  while (turns.length < count) await new Promise(setImmediate)
}

t.test('a change that others outrun again and again goes alone, and they wait for it', async (t) => {
  const { change, turns, outrun } = createCounted()
  const changes = new RepeatedChanges()
  const slow = changes.run(change)
  for (let count = 0; count < 5; count += 1) {
    await untilWaiting(turns, 1)
    outrun()
    turns.shift()?.()
  }
  await untilWaiting(turns, 1)
  const others = [changes.run(change), changes.run(change)]
  await new Promise(setImmediate)
  t.equal(turns.length, 1, 'nobody else is judged meanwhile')
  turns.shift()?.()
  t.equal(await slow, 6)
  await untilWaiting(turns, 2)
  turns.shift()?.()
  turns.shift()?.()
  await untilWaiting(turns, 1)
  turns.shift()?.()
  t.strictSame((await Promise.all(others)).sort(), [7, 8])
})

t.test('it waits for those that run, and ends with an error where it is outrun alone too', async (t) => {
  const { change, turns, outrun } = createCounted()
  const changes = new RepeatedChanges()
  const beside = changes.run(async () => {
    await new Promise<void>((resolve) => turns.unshift(resolve))
    return 'beside'
  })
  await untilWaiting(turns, 1)
  const outrunAlways = t.rejects(changes.run(change), { code: 'CHANGES_TOO_MANY', status: 503 })
  for (let count = 0; count < 5; count += 1) {
    await untilWaiting(turns, 2)
    outrun()
    turns.pop()?.()
  }
  await new Promise(setImmediate)
  t.equal(turns.length, 1, 'one that runs is waited for')
  turns.pop()?.()
  t.equal(await beside, 'beside')
  for (let count = 0; count < 5; count += 1) {
    await untilWaiting(turns, 1)
    outrun()
    turns.pop()?.()
  }
  await outrunAlways
  t.equal(await changes.run(async () => 'next'), 'next', 'and others go on')
})

t.test('one that takes its time holds nobody up for longer than a while', async (t) => {
  const { change, turns, outrun } = createCounted()
  const changes = new RepeatedChanges(1)
  const ends: (() => void)[] = []
  const long = changes.run(() => new Promise<void>((resolve) => ends.push(resolve)))
  const outrunOften = changes.run(change)
  for (let count = 0; count < 5; count += 1) {
    await untilWaiting(turns, 1)
    outrun()
    turns.shift()?.()
  }
  await untilWaiting(turns, 1)
  t.equal(await changes.run(async () => 'beside'), 'beside', 'beside one that runs alone')
  turns.shift()?.()
  t.equal(await outrunOften, 6, 'beside one that does not end')
  ends.shift()?.()
  await long
})

t.test(
  'it is judged anew where the engine did not find what it reads, and that is told where it is so each time',
  async (t) => {
    let goneCount = 3
    const changes = new RepeatedChanges()
    const change = async (): Promise<string> => {
      if (goneCount === 0) return 'written'
      goneCount -= 1
      throw errors.CHANGE_OUTRUN({ retryAfterSeconds: 1 })
    }
    t.equal(await changes.run(change), 'written')
    goneCount = 100
    await t.rejects(changes.run(change), { code: 'CHANGE_OUTRUN', status: 503 })
    t.equal(goneCount, 90)
  },
)
