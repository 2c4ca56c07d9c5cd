import t from 'tap'
import { EventsLog } from '../../../src/ingest/events/events-log.ts'
import { IdempotencyIndex } from '../../../src/ingest/events/idempotency-index.ts'
import { noDiskReports } from '../../../src/shared/disk-fault.ts'
import { toSequence } from '../../../src/wal/sequence.ts'
import type { Wal } from '../../../src/wal/wal.ts'
import type { NewEntry } from '../../../src/wal/wal.types.ts'
import { WalRefusedError } from '../../../src/wal/wal-errors.ts'

const rows: NewEntry = {
  kind: 'rows',
  stream: 's',
  version: 1,
  encoding: 'identity',
  flags: 0,
  acceptedAtMs: 0,
  rowCount: 1,
  quarantinedRowCount: 0,
  payload: Buffer.from('{}'),
}

/** A log of this many bytes that takes nothing beyond `bytesMax`. */
function openLog(bytesMax: number) {
  const log = { bytes: 0, nowMs: 0 }
  const told = () => undefined
  const wal: Pick<Wal, 'appendBatch' | 'stats'> = {
    async appendBatch(entries) {
      const isBookkeeping = entries.every(({ kind }) => kind !== 'rows')
      if (log.bytes >= bytesMax && !isBookkeeping) throw new WalRefusedError('log-full')
      log.bytes += 1
      return entries.map(() => toSequence(log.bytes))
    },
    stats: () => ({
      state: 'open',
      nextSequence: toSequence(1),
      releasedSequence: toSequence(1),
      segmentCount: 1,
      firstSegmentNext: null,
      totalBytes: log.bytes,
      pendingBytes: 0,
      pendingBatches: 0,
      groupCount: 0,
      entryCount: 0,
    }),
  }
  const events = new EventsLog(
    {
      // What is not given is not used without a segment that could go.
      wal: wal as Wal,
      store: { sync: async () => undefined },
      keys: new IdempotencyIndex(10, told),
      logger: { debug: told, info: told, warn: told, error: told },
      disk: noDiskReports,
    },
    {
      entryBytesMax: 100,
      logBytesMax: bytesMax,
      now: () => 0,
      clock: () => log.nowMs,
      retryAfterSeconds: () => 1,
      firstOutstanding: () => null,
      outstandingBefore: () => new Map(),
    },
  )
  return { log, events }
}

t.test('a log that refuses events for want of room for two seconds is full, until it has room', async (t) => {
  const { log, events } = openLog(2)
  for (const isTaken of [true, true, false]) {
    const appended = events.append([rows])
    if (isTaken) await appended
    else await t.rejects(appended, { code: 'BACKLOG_FULL' })
  }
  for (const [nowMs, isFull] of [
    [0, false],
    [1_999, false],
    [2_000, true],
    [2_001, true],
  ] as const) {
    log.nowMs = nowMs
    t.equal(events.isFull, isFull, `${nowMs} ms`)
  }
  await events.append([{ ...rows, kind: 'note' }])
  t.equal(events.isFull, true, 'what is written about rows has room, and rows have none')
  log.bytes = 1
  t.equal(events.isFull, false, 'room came')
  log.nowMs = 10_000
  t.equal(events.isFull, false)
})

t.test('a log that takes events again is not full, and counts anew', async (t) => {
  const { log, events } = openLog(1)
  await events.append([rows])
  await t.rejects(events.append([rows]), { code: 'BACKLOG_FULL' })
  log.bytes = 0
  await events.append([rows])
  log.nowMs = 5_000
  await t.rejects(events.append([rows]), { code: 'BACKLOG_FULL' })
  t.equal(events.isFull, false)
  log.nowMs = 7_000
  t.equal(events.isFull, true)
})
