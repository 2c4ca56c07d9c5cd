import t from 'tap'
import type { ClusterControl } from '../../src/cluster/cluster-control.types.ts'
import { EndpointLoad } from '../../src/cluster/endpoint-load.ts'
import { openFakeCluster } from '../support/cluster/fake-machine.ts'

const slow = { id: 'p1', name: 'slow' }
const other = { id: 'p2', name: 'other' }

/** Takes requests in that are answered with these statuses, at most as many at once as there are in a list. */
function answer(control: ClusterControl, pipe: typeof slow, ...rounds: readonly (readonly number[])[]): void {
  for (const statuses of rounds) {
    const taken = statuses.map(() => control.take(pipe))
    for (const [index, load] of taken.entries()) if (load instanceof EndpointLoad) load.leave(statuses[index] ?? null)
  }
}

/** How many of so many requests at once are taken; all of them have left then. */
function takenOf(control: ClusterControl, pipe: typeof slow, count: number): number {
  const loads = Array.from({ length: count }, () => control.take(pipe)).filter((load) => load instanceof EndpointLoad)
  for (const load of loads) load.leave(null)
  return loads.length
}

const times = (count: number, status: number): readonly number[] => Array.from({ length: count }, () => status)

t.test('memory is under pressure above the share, not at it', async (t) => {
  for (const [usedBytes, isOver] of [
    [799, false],
    [800, false],
    [801, true],
  ] as const) {
    const { control, machine, turn } = openFakeCluster()
    machine.usedBytes = usedBytes
    t.match(control.state().memory, { usedBytes, capacityBytes: 1_000, limit: 80, isOver })
    answer(control, slow, times(8, 500))
    turn()
    t.equal(takenOf(control, slow, 8), isOver ? 1 : 8, `${usedBytes} of 1,000 bytes`)
  }
})

t.test('processors are under pressure above three times as many threads as cores', async (t) => {
  for (const [load, isOver] of [
    [5.99, false],
    [6, false],
    [6.01, true],
  ] as const) {
    const { control, machine, turn } = openFakeCluster({ clusterProcessorPercentMin: 0 })
    machine.load = load
    t.match(control.state().processor, { load, coreCount: 2, limit: 6, isOver })
    answer(control, slow, times(8, 408))
    turn()
    t.equal(takenOf(control, slow, 8), isOver ? 1 : 8, `a load of ${load}`)
  }
})

t.test('an endpoint fails when its errors are more than a tenth of its successes', async (t) => {
  for (const [errorCount, isLimited] of [
    [9, false],
    [10, false],
    [11, true],
  ] as const) {
    const { control, machine, turn } = openFakeCluster()
    machine.usedBytes = 900
    answer(control, slow, [...times(errorCount, 500), ...times(100, 200)])
    turn()
    t.equal(takenOf(control, slow, 200) < 200, isLimited, `${errorCount} errors beside 100 successes`)
  }
})

t.test('of its peak an endpoint keeps what the share of its errors leaves, and one request at least', async (t) => {
  for (const [statuses, allowed] of [
    [[...times(5, 500), ...times(5, 200)], 5],
    [[...times(2, 408), ...times(8, 200)], 8],
    // 7 × (1 − 1 ⁄ 7) is 6, also where the parts of it are no exact numbers.
    [[500, ...times(6, 200)], 6],
    [[...times(2, 500), ...times(1, 200)], 1],
    [times(10, 500), 1],
    // What is neither counts for the peak alone.
    [[...times(2, 500), ...times(2, 200), ...times(4, 400), 429, 503], 5],
  ] as const) {
    const { control, machine, turn } = openFakeCluster()
    machine.usedBytes = 900
    answer(control, slow, statuses)
    turn()
    t.equal(takenOf(control, slow, 20), allowed, statuses.join(' '))
    t.match(control.state().limited, [{ pipeId: 'p1', name: 'slow', reason: 'memory', concurrencyMax: allowed }])
  }
})

t.test('answers that nobody waited for say nothing of an endpoint', async (t) => {
  const { control, machine, turn } = openFakeCluster()
  machine.usedBytes = 900
  t.equal(takenOf(control, slow, 8), 8)
  turn()
  t.equal(takenOf(control, slow, 8), 8)
})

t.test('the peak is that of the last window, with what is still under way in it', async (t) => {
  const { control, machine, turn } = openFakeCluster()
  machine.usedBytes = 900
  answer(control, slow, times(50, 200))
  const running = Array.from({ length: 4 }, () => control.take(slow))
  turn()
  answer(control, slow, [500], [200])
  turn()
  t.match(control.state().limited, [{ concurrencyMax: 2, concurrency: 4, errorCount: 1, successCount: 1 }])
  t.match(control.take(slow), { code: 'ENDPOINT_LIMITED' }, 'those that run count')
  for (const load of running) if (load instanceof EndpointLoad) load.leave(200)
  t.equal(takenOf(control, slow, 4), 2)
})

t.test('a refusal tells the limit, whose it is, and when to come again', async (t) => {
  const { control, machine, turn, pass } = openFakeCluster()
  machine.usedBytes = 900
  answer(control, slow, [...times(2, 500), ...times(4, 200)])
  turn()
  for (const _ of times(4, 0)) control.take(slow)
  pass(7_001)
  t.match(control.take(slow), {
    status: 429,
    code: 'ENDPOINT_LIMITED',
    limit: 'endpoint_concurrency',
    message:
      "The endpoint 'slow' takes 4 requests at once for now: the service is short of memory, and too many answers of the endpoint were errors; repeat the request later",
    retryAfterSeconds: 3,
    rate: { max: 4, remaining: 0, resetSeconds: 3 },
  })
  pass(2_999)
  t.match(control.take(slow), { retryAfterSeconds: 1 }, 'never at once')
  t.match(control.state(), { refusedCount: 2, limitedCount: 1, limited: [{ refusedCount: 2, concurrency: 4 }] })
  t.ok(control.take(other) instanceof EndpointLoad, 'another endpoint is not concerned')
})

t.test('an endpoint is free within two windows when it works again, and when the pressure ends', async (t) => {
  const failing = () => {
    const cluster = openFakeCluster()
    cluster.machine.usedBytes = 900
    answer(cluster.control, slow, times(8, 500))
    cluster.turn()
    t.equal(takenOf(cluster.control, slow, 8), 1)
    return cluster
  }
  const works = failing()
  // It begins to work in the middle of a window, in which it has failed as well.
  answer(works.control, slow, [500], [200])
  works.turn()
  t.equal(takenOf(works.control, slow, 8), 1)
  answer(works.control, slow, [200])
  works.turn()
  t.equal(takenOf(works.control, slow, 8), 8)
  t.match(works.entries.at(-1), {
    level: 'info',
    fields: { pipeId: 'p1', name: 'slow', refusedCount: 14 },
    message: 'The concurrency of an endpoint is not limited any more.',
  })

  const rests = failing()
  answer(rests.control, slow, [500])
  rests.machine.usedBytes = 800
  rests.turn()
  t.equal(takenOf(rests.control, slow, 8), 8)

  const unused = failing()
  unused.turn()
  t.equal(takenOf(unused.control, slow, 8), 8)
})

t.test('a limit stays while its only query runs longer than a window', async (t) => {
  const { control, machine, turn } = openFakeCluster()
  machine.usedBytes = 900
  answer(control, slow, times(8, 408))
  turn()
  const running = control.take(slow)
  turn()
  t.match(control.take(slow), { code: 'ENDPOINT_LIMITED' })
  t.match(
    [running, control.take(other)],
    [{ yields: true }, { yields: false }],
    'what is left leaves the processors to others',
  )
  if (running instanceof EndpointLoad) running.leave(200)
  turn()
  t.equal(takenOf(control, slow, 8), 8)
})

/** So many requests work for an endpoint at once, for a time, with a thread each; they end in errors. */
function work(
  { control, pass }: Pick<ReturnType<typeof openFakeCluster>, 'control' | 'pass'>,
  pipe: typeof slow,
  [requestCount, ms]: readonly [number, number],
): void {
  const loads = Array.from({ length: requestCount }, () => control.take(pipe)).filter(
    (load) => load instanceof EndpointLoad,
  )
  for (const load of loads) load.begin(1)
  pass(ms)
  for (const load of loads) {
    load.end(1)
    load.leave(408)
  }
}

t.test('for the processors an endpoint is limited only if it uses much of them', async (t) => {
  for (const [ms, isLimited] of [
    // A fifth of a load of 10, over ten seconds.
    [9_999, false],
    [10_000, true],
    [10_001, true],
  ] as const) {
    const { control, machine, pass } = openFakeCluster()
    machine.load = 10
    work({ control, pass }, slow, [2, ms])
    work({ control, pass }, other, [8, 0])
    pass(10_000 - Math.min(ms, 10_000))
    control.turnWindow()
    t.equal(takenOf(control, slow, 8), isLimited ? 1 : 8, `${ms} ms of 10,000 with two threads`)
    t.equal(takenOf(control, other, 8), 8, 'one that uses little is not limited, however much it fails')
  }
})

t.test('all threads of a query count, and what goes on beyond a window in each of them', async (t) => {
  const { control, machine, pass } = openFakeCluster()
  machine.load = 10
  const load = control.take(slow)
  if (load instanceof EndpointLoad) load.begin(2)
  for (const _ of times(2, 0)) {
    pass(10_000)
    answer(control, slow, [408])
    control.turnWindow()
    t.match(control.state().limited, [{ name: 'slow', reason: 'processor' }])
    machine.load = 0
    control.turnWindow()
    t.match(control.state().limited, [])
    machine.load = 10
  }
})

t.test('while a limit refuses requests, what it keeps away counts as load', async (t) => {
  for (const [load, isLimited] of [
    // Four threads worked before, and one does now.
    [2.99, false],
    [3, false],
    [3.01, true],
  ] as const) {
    const { control, machine, pass } = openFakeCluster()
    machine.load = 7
    work({ control, pass }, slow, [4, 10_000])
    control.turnWindow()
    work({ control, pass }, slow, [3, 10_000])
    t.match(control.state().limited, [{ concurrencyMax: 1, refusedCount: 2 }])
    machine.load = load
    control.turnWindow()
    t.equal(takenOf(control, slow, 8), isLimited ? 1 : 8, `a load of ${load}`)
  }
})

t.test('a limit that refuses nobody ends with the pressure', async (t) => {
  const { control, machine, pass } = openFakeCluster()
  machine.load = 7
  work({ control, pass }, slow, [4, 10_000])
  control.turnWindow()
  work({ control, pass }, slow, [1, 10_000])
  control.turnWindow()
  t.match(control.state().limited, [{ concurrencyMax: 1, refusedCount: 0 }])
  machine.load = 6
  work({ control, pass }, slow, [1, 10_000])
  control.turnWindow()
  t.equal(takenOf(control, slow, 8), 8)
})

t.test('a threshold of zero looks at nothing', async (t) => {
  const { control, machine, turn } = openFakeCluster({ clusterMemoryPercentMax: 0, clusterLoadPerCoreMax: 0 })
  machine.usedBytes = 1_000
  machine.load = 1_000
  answer(control, slow, times(8, 500))
  turn()
  t.equal(takenOf(control, slow, 8), 8)
  t.match(control.state(), { memory: { limit: null, isOver: false }, processor: { limit: null, isOver: false } })
})

t.test('as many endpoints are counted as may be, and those that nobody asks for make room', async (t) => {
  const { control, machine, turn } = openFakeCluster({ endpointsMax: 2 })
  machine.usedBytes = 900
  const third = { id: 'p3', name: 'third' }
  for (const pipe of [slow, other]) answer(control, pipe, [500])
  t.equal(control.take(third), null)
  turn()
  t.equal(control.take(third), null, 'those that were asked for in the last window are limited')
  turn()
  turn()
  t.ok(control.take(third) instanceof EndpointLoad)
})

t.test('the log tells of a limit once, and of each change of it', async (t) => {
  const { control, machine, turn, entries } = openFakeCluster()
  machine.usedBytes = 900
  answer(control, slow, [...times(4, 500), ...times(4, 200)])
  turn()
  answer(control, slow, [500, 200, 200, 200])
  turn()
  answer(control, slow, [...times(1, 500), ...times(2, 200)])
  turn()
  t.match(entries, [
    {
      level: 'warn',
      message: 'The concurrency of an endpoint that fails is limited, as the service is under pressure.',
      fields: { name: 'slow', reason: 'memory', concurrencyMax: 4, peak: 8, errorCount: 4, successCount: 4 },
    },
    { level: 'warn', fields: { concurrencyMax: 3, peak: 4 } },
    { level: 'warn', fields: { concurrencyMax: 2, peak: 3 } },
  ])
  t.equal(control.state().limitedCount, 1)
})

t.test(
  'an endpoint that fails and uses much of the processors leaves them to others from its first error on',
  async (t) => {
    const yields = (control: ClusterControl, pipe: typeof slow): boolean => {
      const load = control.take(pipe)
      if (!(load instanceof EndpointLoad)) throw new Error('It is counted.')
      load.leave(null)
      return load.yields
    }
    const { control, pass, turn } = openFakeCluster()
    work({ control, pass }, slow, [2, 3_000])
    t.ok(yields(control, slow), 'at rest as well')
    t.match(control.state().limited, [], 'its concurrency is that of others')
    answer(control, other, [500])
    t.notOk(yields(control, other), 'one that uses little')

    const running = control.take(slow)
    turn()
    t.ok(yields(control, slow), 'it failed in the last window')
    turn()
    t.ok(yields(control, slow), 'nothing has ended')
    if (running instanceof EndpointLoad) running.leave(200)
    turn()
    t.notOk(yields(control, slow), 'it works again')

    const blind = openFakeCluster({ clusterLoadPerCoreMax: 0 })
    work(blind, slow, [2, 3_000])
    t.notOk(yields(blind.control, slow), 'where the load is not looked at')
  },
)

t.test('of a window more refusals than the endpoint had callers are held back, so many at one time', async (t) => {
  const { control, machine, turn, delays } = openFakeCluster()
  machine.usedBytes = 900
  answer(control, slow, times(3, 500))
  turn()
  const leaving = new AbortController()
  const told: number[] = []
  const refuse = (index: number): void => {
    void control.untilTold(control.take(slow), leaving.signal).then(() => told.push(index))
  }
  t.ok(control.take(slow) instanceof EndpointLoad)
  for (let index = 0; index < 5; index++) refuse(index)
  await settled()
  t.same(told, [0, 1, 2])
  delays[0]?.()
  await settled()
  t.same(told, [0, 1, 2, 3])
  t.match(control.take(slow), { retryAfterSeconds: 9 }, 'when it is told, the window is a second older')

  // The first one is over, the second one is held.
  for (let index = 5; index < 5 + 256; index++) refuse(index)
  await settled()
  t.same(told, [0, 1, 2, 3, 260], 'as many as may be are held, and one more is told at once')
  leaving.abort()
  await settled()
  t.equal(told.length, 5 + 256, 'nobody waits for a client that has left')

  turn()
  refuse(0)
  await settled()
  t.equal(delays.length, 257, 'a window begins with refusals at once')
})

function settled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}
