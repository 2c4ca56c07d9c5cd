import { mock } from 'node:test'
import t, { type Test } from 'tap'
import { StuckRestarts } from '../../src/store/embedded/stuck-restarts.ts'

const intervalMs = 300_000

/** Restarts on a clock that the test moves. */
function createRestarts(t: Test) {
  mock.timers.enable({ apis: ['setTimeout', 'Date'] })
  t.teardown(() => mock.timers.reset())
  const restarted: string[] = []
  const restarts = new StuckRestarts({
    intervalMs,
    nowMs: () => Date.now(),
    restart: (reason) => restarted.push(`${reason} at ${Date.now()}`),
  })
  return { restarts, restarted }
}

t.test('the first restart of a process comes at once, whatever one before it did', async (t) => {
  const { restarts, restarted } = createRestarts(t)
  t.ok(restarts.ask({ reason: 'inserts', areStuck: () => true }))
  t.same(restarted, ['inserts at 0'])
})

t.test('a second restart comes as soon as the interval is over, without being asked for again', async (t) => {
  const { restarts, restarted } = createRestarts(t)
  restarts.ask({ reason: 'inserts', areStuck: () => true })
  mock.timers.tick(1_000)
  t.notOk(restarts.ask({ reason: 'inserts', areStuck: () => true }))
  mock.timers.tick(intervalMs - 1_001)
  t.same(restarted, ['inserts at 0'])
  mock.timers.tick(1)
  t.same(restarted, ['inserts at 0', `inserts at ${intervalMs}`])
})

t.test(
  'no restart comes for statements that have ended meanwhile, and the next that are stuck have theirs at once',
  async (t) => {
    const { restarts, restarted } = createRestarts(t)
    restarts.ask({ reason: 'inserts', areStuck: () => true })
    let areStuck = true
    restarts.ask({ reason: 'inserts', areStuck: () => areStuck })
    mock.timers.tick(intervalMs - 1)
    areStuck = false
    mock.timers.tick(intervalMs)
    t.same(restarted, ['inserts at 0'])
    t.ok(restarts.ask({ reason: 'inserts', areStuck: () => true }))
    t.equal(restarted.length, 2)
  },
)

t.test('queries and INSERTs that are stuck at once have one restart, and the interval counts for both', async (t) => {
  const { restarts, restarted } = createRestarts(t)
  restarts.ask({ reason: 'queries', areStuck: () => true })
  const stuck = new Set(['inserts', 'queries'])
  for (const reason of stuck) {
    t.notOk(restarts.ask({ reason, areStuck: () => stuck.has(reason) }))
    t.notOk(restarts.ask({ reason, areStuck: () => stuck.has(reason) }))
  }
  mock.timers.tick(intervalMs)
  t.same(restarted, ['queries at 0', `inserts at ${intervalMs}`])
  stuck.clear()
  mock.timers.tick(2 * intervalMs)
  t.equal(restarted.length, 2)
})

t.test('nothing is restarted behind the close', async (t) => {
  const { restarts, restarted } = createRestarts(t)
  restarts.ask({ reason: 'inserts', areStuck: () => true })
  restarts.ask({ reason: 'inserts', areStuck: () => true })
  restarts.close()
  mock.timers.tick(2 * intervalMs)
  t.equal(restarted.length, 1)
})
