import t from 'tap'
import { type ProcessorReading, ProcessorTime, type ProcessorTimeOptions } from '../../src/limits/processor-time.ts'

const minuteMs = 60_000
const startMs = Date.UTC(2026, 0, 2)
/** Half a core: 30 s a minute, 60 s with its bursts. */
const half = { processorPercentMax: 50, processorBurstFactor: 2, processorBaseRateMs: 5 * minuteMs }

function open(given: Partial<ProcessorTimeOptions> = {}) {
  const clock = { nowMs: startMs }
  let reading: ProcessorReading = { threadMs: 0, engine: null }
  const warnings: string[] = []
  const logger = { warn: (_fields: object, message: string) => void warnings.push(message) }
  const options = { ...half, queriesPerSecondMax: 2, ...given }
  const time = new ProcessorTime(options, { read: () => reading, logger, now: () => clock.nowMs })
  const read = (next: ProcessorReading): void => {
    reading = next
    time.look()
  }
  const use = (usedMs: number): void => read({ threadMs: reading.threadMs + usedMs, engine: null })
  const query = (): string => {
    const refusal = time.refusal()
    if (refusal === null) time.count()
    return refusal === null ? 'passes' : refusal.message
  }
  return { clock, time, read, use, query, warnings }
}

t.test(
  'a minute may have twice what the plan gives: below it nothing is refused, at it the base rate holds',
  async (t) => {
    for (const [usedMs, standing, third] of [
      [29_999, 'ok', 'passes'],
      [30_000, 'ok', 'passes'],
      [30_001, 'warning', 'passes'],
      [59_999, 'warning', 'passes'],
      [60_000, 'reached', /2 a second for 300 seconds, repeat this request in 1 second$/],
      [60_001, 'reached', /^Queries have used 60 s of processor time in a minute, all that the whole service may/],
    ] as const) {
      const { time, use, query, clock } = open()
      use(usedMs)
      t.equal(time.usedAt(clock.nowMs), usedMs)
      t.equal(time.standingAt(clock.nowMs), standing, `${usedMs}`)
      t.same([query(), query()], ['passes', 'passes'])
      t.match(query(), third, `${usedMs}`)
    }
  },
)

t.test('the base rate holds for five minutes, to the millisecond, and then the minute begins anew', async (t) => {
  const { clock, time, use, query, warnings } = open()
  clock.nowMs += 10
  use(60_000)
  t.equal(time.resetMsAt(clock.nowMs), 5 * minuteMs)
  t.match(time.facts(), { limit: 'processor_time', max: 2, windowSeconds: 1, remaining: 2 })
  clock.nowMs += 5 * minuteMs - 1
  t.equal(time.usedAt(clock.nowMs), 0, 'what was used left the minute long ago')
  t.same([query(), query()], ['passes', 'passes'])
  t.match(query(), /for 1 second, repeat this request in 1 second$/)
  t.equal(time.standingAt(clock.nowMs), 'reached')
  clock.nowMs += 1
  t.equal(time.standingAt(clock.nowMs), 'ok')
  t.equal(time.facts(), null)
  t.same([query(), query(), query()], ['passes', 'passes', 'passes'])
  t.equal(warnings.length, 1)
})

t.test(
  'the base rate slides within its second, and a minute that is used up once more has five minutes anew',
  async (t) => {
    const { clock, time, use, query } = open()
    use(60_000)
    t.equal(query(), 'passes')
    clock.nowMs += 400
    t.equal(query(), 'passes')
    clock.nowMs += 599
    t.not(query(), 'passes')
    clock.nowMs += 1
    t.equal(query(), 'passes')
    clock.nowMs += 2 * minuteMs
    use(60_000)
    t.equal(time.resetMsAt(clock.nowMs), 5 * minuteMs)
  },
)

t.test('what was used is counted for a minute, whenever it was looked at', async (t) => {
  const { clock, time, use } = open()
  for (const usedMs of [10_000, 0, 15_000]) {
    use(usedMs)
    clock.nowMs += 20_000
  }
  t.equal(time.usedAt(clock.nowMs - 1), 25_000)
  t.equal(time.resetMsAt(clock.nowMs - 1), 1)
  t.equal(time.usedAt(clock.nowMs), 15_000)
  t.equal(time.resetMsAt(clock.nowMs), 40_000)
  clock.nowMs += 40_000
  t.equal(time.usedAt(clock.nowMs), 0)
  t.equal(time.resetMsAt(clock.nowMs), 0)
})

t.test(
  'no more counts than the engine has used, whatever queries wait for, also where its process is another one',
  async (t) => {
    const { clock, time, read } = open()
    const used = () => time.usedAt(clock.nowMs)
    read({ threadMs: 0, engine: { pid: 7, processorMs: 900 } })
    t.equal(used(), 0, 'what it used before there were queries')
    read({ threadMs: 1_000, engine: { pid: 7, processorMs: 950 } })
    t.equal(used(), 50, 'it waited')
    read({ threadMs: 1_100, engine: { pid: 7, processorMs: 2_950 } })
    t.equal(used(), 150, 'merges used the rest')
    read({ threadMs: 2_100, engine: { pid: 8, processorMs: 30 } })
    t.equal(used(), 180, 'the new process has used so much')
    read({ threadMs: 2_200, engine: null })
    t.equal(used(), 280, 'nothing is known of a process')
  },
)

t.test('where there is no base rate, queries are refused until the minute has room again', async (t) => {
  const { clock, time, use, query } = open({ queriesPerSecondMax: 0 })
  use(1_000)
  clock.nowMs += 10_000
  use(59_000)
  t.match(
    query(),
    'all that the whole service may (limit "processor_time"); they are limited to 0 a second for 50 seconds, repeat this request in 50 seconds',
  )
  t.equal(time.standingAt(clock.nowMs), 'reached')
  t.equal(time.facts(), null)
  clock.nowMs += 50_000 - 1
  t.not(query(), 'passes')
  clock.nowMs += 1
  t.equal(query(), 'passes')
})
