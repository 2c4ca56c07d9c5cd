import t from 'tap'
import type { MemoryUse, ProcessorUse } from '../../src/cluster/cgroup.ts'
import { MachineWatch } from '../../src/cluster/machine-watch.ts'

/** A machine of 1,000 bytes, 400 of them used, and four cores with a load of 9. */
function openWatch() {
  const fake = {
    nowMs: 0,
    memory: null as MemoryUse | null,
    processor: null as ProcessorUse | null,
    states: new Map<number, string>(),
  }
  const open = () =>
    new MachineWatch({
      cgroup: {
        memory: () => fake.memory,
        processor: () => fake.processor,
        threadIds: () => [...fake.states.keys()],
      },
      machine: { totalBytes: () => 1_000, availableBytes: () => 600, load: () => 9, coreCount: () => 4 },
      readText: (path) => {
        const id = Number(/^\/proc\/(\d+)\/stat$/.exec(path)?.[1])
        const state = fake.states.get(id)
        return state === undefined || state === 'gone' ? null : `${id} (a) R (b) ${state} 1 1 1 0`
      },
      ownThreadId: 1,
      now: () => fake.nowMs,
    })
  return { fake, open }
}

t.test('without limits of a container the machine counts', async (t) => {
  const watch = openWatch().open()
  await watch.look()
  t.strictSame(watch.reading, {
    memory: { usedBytes: 400, capacityBytes: 1_000, of: 'machine' },
    processor: { load: 9, coreCount: 4, of: 'machine' },
  })
})

t.test('the memory of the container counts where it has less left than the machine', async (t) => {
  const { fake, open } = openWatch()
  fake.memory = { usedBytes: 41, capacityBytes: 100 }
  const watch = open()
  t.strictSame(watch.reading.memory, { usedBytes: 41, capacityBytes: 100, of: 'container' })
  fake.memory = { usedBytes: 40, capacityBytes: 100 }
  await watch.look()
  t.strictSame(watch.reading.memory, { usedBytes: 400, capacityBytes: 1_000, of: 'machine' })
})

t.test('the load of a container is that of its threads that run or want to, averaged over a minute', async (t) => {
  const { fake, open } = openWatch()
  fake.processor = { coreCount: 1.5, demandMs: 0 }
  fake.states = new Map([
    [1, 'R'],
    [2, 'R'],
    [3, 'R'],
    [4, 'D'],
    [5, 'S'],
    [6, 'gone'],
  ])
  const watch = open()
  t.strictSame(watch.reading.processor, { load: 0, coreCount: 1.5, of: 'container' })
  const look = async (): Promise<number> => {
    fake.nowMs += 5_000
    await watch.look()
    return watch.reading.processor.load
  }
  for (let second = 5; second <= 60; second += 5) {
    // The thread that looks always runs, so it does not count.
    t.equal((await look()).toFixed(9), (3 * (1 - Math.exp(-second / 60))).toFixed(9))
  }
  fake.states.clear()
  const loadMax = watch.reading.processor.load
  for (let second = 5; second <= 60; second += 5) {
    t.equal((await look()).toFixed(9), (loadMax * Math.exp(-second / 60)).toFixed(9))
  }
})

t.test('what the clocks of the container say counts where it is more than what a look sees', async (t) => {
  const { fake, open } = openWatch()
  fake.processor = { coreCount: 2, demandMs: 1_000 }
  const watch = open()
  fake.nowMs = 60_000
  // 7 processors' worth of time in a minute.
  fake.processor = { coreCount: 2, demandMs: 1_000 + 7 * 60_000 }
  await watch.look()
  t.equal(watch.reading.processor.load.toFixed(9), (7 * (1 - Math.exp(-1))).toFixed(9))
  // A group that was made anew counts from zero.
  fake.processor = { coreCount: 2, demandMs: 0 }
  fake.nowMs = 120_000
  await watch.look()
  t.equal(watch.reading.processor.load.toFixed(9), (7 * (1 - Math.exp(-1)) * Math.exp(-1)).toFixed(9))
})

t.test('the threads of a large container are counted, up to as many as may be', async (t) => {
  const { fake, open } = openWatch()
  fake.processor = { coreCount: 1, demandMs: 0 }
  for (const [count, counted] of [
    [4_095, 4_095],
    [4_096, 4_096],
    [4_097, 4_096],
  ] as const) {
    fake.states = new Map(Array.from({ length: count }, (_, index) => [index + 2, 'R']))
    fake.nowMs = 0
    const watch = open()
    // So long that nothing of what was before is left.
    fake.nowMs = 1e9
    await watch.look()
    t.equal(watch.reading.processor.load, counted)
  }
})
