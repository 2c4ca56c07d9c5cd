import t from 'tap'
import { BacklogLimit } from '../../../src/ingest/events/backlog-limit.ts'
import { DrainRate } from '../../../src/ingest/events/drain-rate.ts'
import type { EventsStatus } from '../../../src/ingest/events/events.types.ts'

t.test('the time for a backlog is that of the bytes at the rate of the time in which something was stored', (t) => {
  let nowMs = 0
  const rate = new DrainRate(() => nowMs)
  t.equal(rate.secondsFor({ loggedBytes: 1000 }), null, 'nothing is known yet')
  for (let insert = 0; insert < 5; insert += 1) {
    rate.begin()
    nowMs += 100
    rate.end({ loggedBytes: 1000, heldBytes: 4000 })
    nowMs += 60_000
  }
  const isNear = (seconds: number | null, expected: number) => Math.abs((seconds ?? 0) - expected) < expected * 0.05
  t.ok(isNear(rate.secondsFor({ loggedBytes: 20_000 }), 2), 'idle minutes do not count')
  t.ok(isNear(rate.secondsFor({ heldBytes: 20_000 }), 0.5))
  rate.begin()
  nowMs += 60_000
  rate.end(null)
  t.ok((rate.secondsFor({ loggedBytes: 20_000 }) ?? 0) > 100, 'inserts that fail take time and store nothing')
  t.end()
})

t.test('a data source that fails may fill a quarter of the log, and all that fail three eighths', (t) => {
  let nowMs = 0
  const statuses: EventsStatus[] = []
  const options = { eventsBacklogBytesMax: 600, eventsLogBytesMax: 1600 }
  const limit = new BacklogLimit(
    options,
    () => statuses,
    () => nowMs,
  )
  const failure = { kind: 'view', message: '', sinceMs: 0, retryAtMs: 0, attemptCount: 1 } as const
  const status = (waitingBytes: number, isFailing: boolean): EventsStatus => ({
    waitingRows: 1,
    waitingBytes,
    delay: null,
    failure: isFailing ? failure : null,
  })
  t.same(
    [599, 600].map((bytes) => limit.isReached(status(bytes, false))),
    [false, true],
  )
  t.same(
    [399, 400].map((bytes) => limit.isReached(status(bytes, true))),
    [false, true],
  )
  statuses.push(status(399, true), status(200, true), status(599, false))
  nowMs += 1_000
  t.equal(limit.isReached(status(1, true)), false)
  t.equal(limit.soundWaitingBytes(), 599)
  statuses.push(status(1, true))
  nowMs += 1_000
  t.equal(limit.isReached(status(1, true)), true)
  t.equal(limit.isReached(status(1, false)), false)
  t.end()
})
