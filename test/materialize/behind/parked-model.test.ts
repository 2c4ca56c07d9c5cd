// Views that fail at several blocks which are under way together: whoever is told to have caught up has all of them.

import t, { type Test } from 'tap'
import { StoreError, stoppedError } from '../../../src/store/store-error.ts'
import { failureOf, ParkedWorld, sourceId, viewOf } from '../../support/materialize/parked-world.ts'
import { SeededRandom, testSeed } from '../../support/seeded-random.ts'
import { byTier } from '../../support/tier.ts'

const view = viewOf(1)
const other = viewOf(2)
const still = { below: () => 0 } as unknown as SeededRandom

/** A view that was parked by two imports, and whose try is held before it repeats the first of them. */
async function openTry(t: Test) {
  const world = await ParkedWorld.open(t, 1, still)
  world.failing.add(view)
  for (const block of ['first', 'second']) await world.import(block)
  world.failing.clear()
  const repeat = world.hold('append twin')
  const caughtUp = world.catchUp(view)
  await repeat.isReached
  return { world, repeat, caughtUp }
}

t.test('a view that is parked once more while it is tried is left to the try', async (t) => {
  const { world, repeat, caughtUp } = await openTry(t)
  t.equal(await world.behind.setAside(sourceId, failureOf(view)), true)
  repeat.release()
  t.equal(await caughtUp, null)
  t.same(world.lost, [])
  t.ok(world.sees(view))
})

t.test('a view that somebody takes off what is repeated for it has not caught up', async (t) => {
  const { world, repeat, caughtUp } = await openTry(t)
  await world.dropView(view)
  repeat.release()
  t.equal(await caughtUp, 'parked')
  t.equal(await world.catchUp(view), null)
  t.same(world.lost, [])
})

t.test('a source has its turn while more comes to it than is repeated for a view', async (t) => {
  const world = await ParkedWorld.open(t, 1, still)
  world.failing.add(view)
  await world.import('first')
  world.failing.clear()
  let [sent, closings] = [0, 0]
  /** Blocks that were repeated while each event waited for its turn. */
  const waits: number[] = []
  let waiting: Promise<void> | null = null
  const send = (): Promise<void> => {
    sent += 1
    return world.event(`event ${sent}`)
  }
  world.onRepeat = async (isClosed) => {
    world.steadyMs += 300
    if (isClosed && waiting === null) {
      closings += 1
      waits.push(0)
      waiting = send()
    }
    if (isClosed) waits.push((waits.pop() ?? 0) + 1)
    else {
      await waiting
      waiting = null
      for (let count = 0; count < 2; count += 1) await send()
    }
  }
  t.equal(await world.catchUp(view), null)
  await waiting
  t.ok(closings > 3, `${closings} times`)
  t.ok(Math.max(...waits) < 10, `${waits} blocks`)
  t.same(world.lost, [])
})

t.test('what waits for its second try when a view is parked is kept for that one too', async (t) => {
  const world = await ParkedWorld.open(t, 2, still)
  world.failing.add(other)
  // It has failed at the other view, and is kept: that one is parked, and it runs again.
  const parking = world.hold(`drop ${other}`)
  const imported = world.import('first')
  await parking.isReached
  world.failing.add(view)
  const parked = world.event('second')
  parking.release()
  await Promise.all([imported, parked])
  world.failing.clear()
  for (const one of [view, other]) t.equal(await world.catchUp(one), null)
  t.same(world.lost, [])
})

t.test('a view that is computed anew is let in once a try of it has ended', async (t) => {
  const { world, repeat, caughtUp } = await openTry(t)
  world.behind.onKeptBeyond()
  const computed = world.behind.noteComputed([{ name: view, source: sourceId }])
  repeat.release()
  await Promise.all([computed, caughtUp])
  t.same(world.states, [])
  t.ok(world.sees(view), 'blocks pass it')
  await world.import('third')
  t.ok(world.taken.get(view)?.has('third'))
})

t.test('a view whose backlog is given up while it is tried is told as incomplete', async (t) => {
  const { world, repeat, caughtUp } = await openTry(t)
  world.behind.onKeptBeyond()
  repeat.release()
  t.equal(await caughtUp, 'incomplete')
  t.same(world.states, [[view, 'incomplete']])
})

t.test(
  'views of an INSERT that failed without a kill, and may be stored without them, are told as incomplete',
  async (t) => {
    const limit = { kind: 'engine', message: 'Timeout exceeded. (TIMEOUT_EXCEEDED)', clickhouseCode: 159 } as const
    const endings = [stoppedError(), new StoreError(limit), new Error('the socket is gone')]
    for (const ending of endings) {
      const world = await ParkedWorld.open(t, 2, still)
      await world.import('first')
      world.ending = ending
      await t.rejects(world.import('second'), ending)
      t.same(world.states, [
        [view, 'incomplete'],
        [other, 'incomplete'],
      ])
      t.same(world.lost, [])
      t.same(await world.underWay(), [], 'no start runs it again, as its sender was told that it failed')
    }
  },
)

t.test(
  'a view that is incomplete already lacks the next rows too, which nobody may take for those before',
  async (t) => {
    const world = await ParkedWorld.open(t, 1, still)
    for (const [index, block] of ['first', 'second'].entries()) {
      world.ending = stoppedError()
      await t.rejects(world.import(block))
      t.equal(world.missCountOf(view), index + 1)
    }
    t.same(world.states, [[view, 'incomplete']])
  },
)

t.test('an INSERT that failed before any row came leaves views as they are', async (t) => {
  const world = await ParkedWorld.open(t, 1, still)
  world.partsSince = 0
  world.ending = stoppedError()
  await t.rejects(world.import('first'))
  t.same(world.states, [])
  t.same(await world.underWay(), [])
})

t.test('beside a view that is parked, those that are not are told too', async (t) => {
  const world = await ParkedWorld.open(t, 2, still)
  world.failing.add(view)
  await world.import('first')
  world.ending = stoppedError()
  await t.rejects(world.import('second'))
  t.same(world.states.toSorted(), [
    [view, 'incomplete'],
    [other, 'incomplete'],
  ])
})

t.test('where they cannot be told, the next start runs it again', async (t) => {
  const world = await ParkedWorld.open(t, 1, still)
  world.ending = stoppedError()
  world.writeFault = new Error('the disk is full')
  await t.rejects(world.import('first'), stoppedError())
  t.same(await world.underWay(), ['0.0', '0.1'])
})

t.test('imports, events, failures and tries beside each other lose nothing in silence', async (t) => {
  const seed = testSeed()
  t.comment(`SEED=${seed}`)
  const roundCount = byTier({ quick: 30, full: 300, soak: 3_000 })
  for (let round = 0; round < roundCount; round += 1) {
    const random = new SeededRandom(seed + round)
    const world = await ParkedWorld.open(t, 3, random)
    await runBeside(world, random)
    world.failing.clear()
    for (let count = 0; world.states.length > 0 && count < 20; count += 1) {
      for (const number of [1, 2, 3]) await world.catchUp(viewOf(number))
    }
    t.same(world.lost, [], `SEED=${seed + round}`)
    t.same(world.states, [], `SEED=${seed + round}: all have caught up`)
    t.ok([1, 2, 3].every((number) => world.sees(viewOf(number))))
    await world.close()
  }
})

async function runBeside(world: ParkedWorld, random: SeededRandom): Promise<void> {
  let left = 40
  const loop = async (step: (count: number) => Promise<unknown>): Promise<void> => {
    for (; left > 0; left -= 1) await step(left)
  }
  const change = async (): Promise<void> => {
    const one = viewOf(1 + random.below(2))
    if (!world.failing.delete(one)) world.failing.add(one)
    await world.pause(8)
  }
  await Promise.all([
    ...[1, 2, 3].map((lane) => loop((count) => world.import(`import ${lane}.${count}`))),
    loop((count) => world.event(`event ${count}`)),
    loop(change),
    loop(() => world.catchUp(viewOf(1 + random.below(2)))),
  ])
}
