import { gzipSync } from 'node:zlib'
import { tableFromIPC } from 'apache-arrow'
import t, { type Test } from 'tap'
import type { DataSource } from '../../src/catalog/data-source.types.ts'
import type { IngestOptions } from '../../src/ingest/ingest.ts'
import type { EventsRequest } from '../../src/ingest/ingest.types.ts'
import type { Logger } from '../../src/observe/logger.ts'
import type { AppendRequest } from '../../src/store/store.types.ts'
import { StoreError } from '../../src/store/store-error.ts'
import { TestLog } from '../support/api/test-service.ts'
import { FakeStore, testDataSource } from '../support/ingest/fake-store.ts'
import { eventsOf, openTestIngest } from '../support/ingest/test-ingest.ts'
import { silentLogger } from '../support/store/test-store.ts'
import { type Fault, type FileCall, MemoryFileLayer } from '../support/wal/memory-file-layer.ts'

const source = testDataSource('n UInt32')
const other = testDataSource('n UInt32')
const viewError = new StoreError({ kind: 'engine', message: 'no: while pushing to view a', clickhouseCode: 395 })
const rowsError = new StoreError({ kind: 'engine', message: 'Division by zero', clickhouseCode: 153 })
const diskError = new StoreError({ kind: 'engine', message: 'Not enough space', clickhouseCode: 243 })

interface Setting {
  readonly store?: FakeStore
  readonly files?: MemoryFileLayer
  readonly options?: Partial<IngestOptions>
  readonly dataSources?: readonly DataSource[]
  readonly now?: () => number
  readonly logger?: Logger
}

async function open(t: Test, setting: Setting = {}) {
  const { store = new FakeStore({ isOpen: true }), files, options, dataSources, now = Date.now } = setting
  const layer = files ?? new MemoryFileLayer()
  const { logger = silentLogger } = setting
  const deps = { store, files: layer, dataSources: dataSources ?? [source, other], now, logger }
  const ingest = await openTestIngest(deps, options)
  t.teardown(async () => {
    layer.fault = () => null
    store.open()
    await ingest.close()
  })
  ingest.start()
  const send = (text: string, more: Partial<EventsRequest> = {}) =>
    ingest.appendEvents(eventsOf(more.dataSource ?? source, text, more))
  return { store, files: layer, ingest, send }
}

/** What a process that is killed now leaves on its disk. */
function killed(files: MemoryFileLayer): MemoryFileLayer {
  return new MemoryFileLayer(files.files())
}

const rowsStored = (store: FakeStore, { id }: DataSource = source) => store.rowsOf(id)
const blockIds = (store: FakeStore) => store.stored.map(({ blockId }) => blockId)

t.test('events are answered when they are in the log, and waiting ones when they are stored', async (t) => {
  const store = new FakeStore({ isOpen: false })
  const { send, ingest } = await open(t, { store })
  t.strictSame(await send('{"n":1}\n{"n":-1}'), { successfulRows: 1, quarantinedRows: 1, isStored: false, place: 1 })
  await store.untilBegun(1)
  t.equal(rowsStored(store), 0)
  t.match(ingest.eventsStatus(source.id), { waitingRows: 2, failure: null })
  const waiting = send('{"n":2}', { isWaiting: true })
  store.open()
  t.strictSame(await waiting, { successfulRows: 1, quarantinedRows: 0, isStored: true, place: 4 })
  t.equal(rowsStored(store), 2)
  t.match(ingest.eventsStatus(source.id), { waitingRows: 0, waitingBytes: 0 })
})

t.test('events are counted alike, by a worker at first and on the main thread later', async (t) => {
  const { send, store } = await open(t)
  for (let body = 0; body < 40; body += 1) {
    const outcome = await send('{"n":1}\nno record\n{"n":2}\n{"n":-1}')
    t.match(outcome, { successfulRows: 2, quarantinedRows: 2, isStored: false })
    t.match(await send(' \n'), { successfulRows: 0, quarantinedRows: 0, isStored: true })
  }
  await send('{"n":3}', { isWaiting: true })
  t.equal(rowsStored(store), 81)
})

t.test('rows and quarantine of a block have tokens of their own, which a repeat has again', async (t) => {
  const store = new FakeStore({ isOpen: false })
  const { send } = await open(t, { store })
  await send('{"n":1}\n{"n":-1}')
  await store.untilBegun(1)
  store.endOne()
  await store.untilBegun(2)
  store.endOne(diskError)
  await store.untilBegun(3)
  store.endOne()
  await store.untilBegun(4)
  const [rows, again] = store.stored
  const set = store.held[0]?.request
  t.equal(again?.blockId, rows?.blockId)
  t.equal(set?.blockId, `${rows?.blockId}-q`)
  t.equal(set?.table, `${source.id}_quarantine`)
  t.match(set?.layout.targets.at(-1), { column: 'insertion_date', expression: /^toDateTime\(\d+\)$/ })
})

t.test('what a killed process had taken is stored by the next one, under the names that were in the log', async (t) => {
  const store = new FakeStore({ isOpen: false })
  const { send, files } = await open(t, { store })
  await send('{"n":1}\n{"n":2}')
  await store.untilBegun(1)
  const named = store.held[0]?.request.blockId
  await send('{"n":3}')
  await send(gzipSync('[{"n":4},{"n":-5}]').toString('latin1'), {
    body: Buffer.from('[{"n":4},{"n":-5}]'),
    packed: { bytes: gzipSync('[{"n":4},{"n":-5}]'), encoding: 'gzip' },
    framing: 'document',
  })
  const next = await open(t, { files: killed(files) })
  const { ingest } = next
  await until(() => ingest.eventsStatus(source.id)?.waitingRows === 0)
  t.equal(next.store.stored[0]?.blockId, named)
  t.equal(next.store.stored[0]?.rowCount, 2)
  t.equal(rowsStored(next.store), 4)
  t.equal(next.store.rowsOf(`${source.id}_quarantine`), 1)
  t.equal(new Set(blockIds(next.store)).size, next.store.stored.length)
})

t.test('what is stored is not stored again by the next start', async (t) => {
  const { send, files, store } = await open(t)
  await send('{"n":1}', { isWaiting: true })
  await send('{"n":2}', { isWaiting: true, dataSource: other })
  t.equal(store.stored.length, 2)
  const next = await open(t, { files: killed(files) })
  t.strictSame(await next.send('{"n":3}', { isWaiting: true }), {
    successfulRows: 1,
    quarantinedRows: 0,
    isStored: true,
    place: 7,
  })
  // A note of a block that was stored a moment ago may not have reached the disk; its token tells the engine.
  for (const { blockId } of next.store.stored.slice(0, -1)) t.ok(blockIds(store).includes(blockId))
})

t.test('a view that fails is told to who waits, blocks its own data source alone, and loses nothing', async (t) => {
  const store = new FakeStore({ isOpen: true })
  for (let insert = 1; insert <= 3; insert += 1) store.failures.set(insert, viewError)
  const { send, ingest } = await open(t, { store, options: { eventsBacklogBytesMax: 150 } })
  await t.rejects(send('{"n":1}', { isWaiting: true }), { code: 'VIEW_FAILED', status: 422 })
  t.match(ingest.eventsStatus(source.id), {
    waitingRows: 1,
    failure: { kind: 'view', message: /while pushing to view/ },
  })
  await t.rejects(send('{"n":2}', { isWaiting: true }), { code: 'VIEW_BLOCKS', status: 503 })
  t.match(await send('{"n":2}\n{"n":3}\n{"n":4}\n{"n":5}'), { successfulRows: 4, isStored: false })
  await t.rejects(send('{"n":6}'), { code: 'BACKLOG_FULL', status: 503 })
  await store.untilBegun(2)
  t.match(await send('{"n":7}', { dataSource: other }), { successfulRows: 1 }, 'others go on')
  await until(() => rowsStored(store) === 5)
  t.same(
    store.stored.filter(({ table }) => table === source.id).map(({ rowCount }) => rowCount),
    [1, 4],
  )
  t.match(await send('{"n":8}', { isWaiting: true }), { isStored: true })
  t.match(ingest.eventsStatus(source.id), { waitingRows: 0, failure: null })
})

/** Refuses some values in a block; a search finds fewer at first than the table refuses. */
class PoisonStore extends FakeStore {
  searches = 0
  trialCount = 0
  isRefused = (value: number, isTrial: boolean): boolean =>
    value === 3 || (value === 5 && !(isTrial && this.searches === 1))

  override async command(sql = ''): Promise<void> {
    if (sql.includes('ENGINE = Null')) this.searches += 1
  }

  override async append(request: AppendRequest): Promise<void> {
    const parts = request.parts.filter((part) => part instanceof Uint8Array)
    const values = parts.flatMap((part) => [...(tableFromIPC(part).getChild('__0') ?? [])].map(Number))
    const isTrial = request.table.endsWith('_trial')
    const isLanding = isTrial || request.table === source.id
    if (isTrial) this.trialCount += 1
    if (isLanding && values.some((value) => this.isRefused(value, isTrial))) throw rowsError
    if (!isTrial) await super.append(request)
  }
}

t.test(
  'a row that is refused after others were set aside is set aside as well, and by the next start too',
  async (t) => {
    const store = new PoisonStore({ isOpen: true })
    const { send, files } = await open(t, { store })
    await send([1, 2, 3, 4, 5, 6].map((n) => `{"n":${n}}`).join('\n'), { isWaiting: true })
    t.equal(store.searches, 2)
    const [rows, aside] = store.stored
    t.match([rows, aside], [{ rowCount: 4 }, { rowCount: 2, table: `${source.id}_quarantine` }])
    t.equal(aside?.blockId, `${rows?.blockId}-p`)
    const next = await open(t, { files: killed(files) })
    await until(
      () => next.ingest.eventsStatus(source.id)?.waitingRows === 0 || next.ingest.eventsStatus(source.id) === null,
    )
    for (const { blockId, rowCount } of next.store.stored) {
      t.equal(
        rowCount,
        store.stored.find((one) => one.blockId === blockId)?.rowCount,
        'the same rows under the same token',
      )
    }
  },
)

t.test('ten thousand rows of which most are refused take a bounded number of trials, and none is lost', async (t) => {
  const store = new PoisonStore({ isOpen: true })
  store.isRefused = (value) => value < 9_000
  const { send } = await open(t, { store })
  await send(Array.from({ length: 10_000 }, (_, n) => `{"n":${n}}`).join('\n'), { isWaiting: true })
  const kept = rowsStored(store)
  const aside = store.rowsOf(`${source.id}_quarantine`)
  t.equal(kept + aside, 10_000)
  t.ok(kept >= 970, `${kept} of the thousand good rows are stored, the others stood beside refused ones`)
  t.ok(store.trialCount < 1_100, `${store.trialCount} trials`)
})

t.test('who waits for too long hears that the events are taken', async (t) => {
  const { send, store } = await open(t, { store: new FakeStore({ isOpen: false }), options: { eventsWaitMaxMs: 20 } })
  t.strictSame(await send('{"n":1}', { isWaiting: true }), {
    successfulRows: 1,
    quarantinedRows: 0,
    isStored: false,
    place: 1,
  })
  t.equal(rowsStored(store), 0)
})

t.test('a time of day that is set back holds up nothing', async (t) => {
  let nowMs = Date.now()
  const store = new FakeStore({ isOpen: true })
  store.failures.set(1, diskError)
  const { send } = await open(t, { store, now: () => nowMs, options: { eventsFlushIdleMs: 20, eventsFlushAgeMs: 50 } })
  await send('{"n":1}')
  nowMs -= 3_600_000
  await store.untilBegun(1)
  nowMs -= 3_600_000
  await until(() => rowsStored(store) === 1)
  t.pass('stored after an hour that came again, twice')
})

t.test('a record may have exactly the limit, and no byte more', async (t) => {
  const { send, ingest } = await open(t)
  const record = (bytes: number) => `{"n":1,"pad":"${'x'.repeat(bytes - 16)}"}`
  t.match(await send(`${record(1024)}\n${record(1024)}`), { successfulRows: 2 })
  for (const body of [record(1025), `{"n":1}\n${record(1025)}\n{"n":1}`]) {
    await t.rejects(send(body), { code: 'RECORD_TOO_LARGE', status: 413 })
  }
  await t.rejects(send(`[${record(1024)},${record(1025)}]`, { framing: 'document' }), { code: 'RECORD_TOO_LARGE' })
  await until(() => ingest.eventsStatus(source.id)?.waitingRows === 0)
})

t.test('a repeat under a key is answered as before, also by the next process, and stored once', async (t) => {
  const { send, files, store } = await open(t)
  const keyed = { idempotencyKey: 'k', isWaiting: true }
  const first = await send('{"n":1}\n{"n":"x"}', keyed)
  t.strictSame(first, { successfulRows: 1, quarantinedRows: 1, isStored: true, place: 1 })
  t.strictSame(await send('{"n":1}\n{"n":"x"}', keyed), first)
  t.equal(rowsStored(store), 1)
  await t.rejects(send('{"n":2}', keyed), { code: 'IDEMPOTENCY_KEY_REUSED' })
  const next = await open(t, { files: killed(files) })
  t.strictSame(await next.send('{"n":1}\n{"n":"x"}', keyed), first)
  t.match(await next.send('{"n":1}', { ...keyed, idempotencyKey: 'l' }), { successfulRows: 1 })
})

t.test('keys outlive the segments that they stood in', async (t) => {
  const store = new FakeStore({ isOpen: true })
  const options = { eventsLogBytesMax: 640 * 1024, eventsIdempotency: 'body' } as const
  const { send, files, ingest } = await open(t, { store, options })
  for (let n = 0; n < 300; n += 1) await send(`{"n":${n},"pad":"${'x'.repeat(60)}"}`, { isWaiting: true })
  await ingest.close()
  t.equal(rowsStored(store), 300)
  t.ok(store.syncCount > 0, 'the engine is synced before the log forgets')
  const next = await open(t, { files: killed(files), options })
  for (let n = 0; n < 300; n += 50) {
    t.match(await next.send(`{"n":${n},"pad":"${'x'.repeat(60)}"}`), { successfulRows: 1, quarantinedRows: 0 })
  }
  t.equal(next.store.stored.length, 0, 'the same body is the same events')
})

t.test('the oldest keys are forgotten beyond their maximum', async (t) => {
  const log = new TestLog()
  const { send, store } = await open(t, { logger: log, options: { idempotencyKeysMax: 2 } })
  for (const key of ['a', 'b', 'c', 'b', 'c', 'a']) await send('{"n":1}', { idempotencyKey: key, isWaiting: true })
  t.equal(rowsStored(store), 4)
  const told = log.entries.filter(({ message }) => message.startsWith('More idempotency keys came'))
  t.match(told, [{ level: 'warn', fields: { keyCount: 1, keysMax: 2 } }], 'told once a minute')
  // Notes are written again when the log forgets: there must be room for all of them.
  const small = await open(t, { options: { eventsLogBytesMax: 4096 } })
  for (const key of ['a', 'b', 'c', 'b', 'c', 'a'])
    await small.send('{"n":1}', { idempotencyKey: key, isWaiting: true })
  t.equal(rowsStored(small.store), 4)
})

t.test('a disk that is full or fails refuses events, and takes them again when it is well', async (t) => {
  for (const [fault, codes] of [
    [{ code: 'ENOSPC' }, ['DISK_UNAVAILABLE', 'DISK_UNAVAILABLE']],
    [{ code: 'EIO' }, ['LOG_FAILED', 'DISK_UNAVAILABLE']],
  ] as const) {
    // Nothing but the bodies is written meanwhile.
    const { send, files, store } = await open(t, { options: { eventsFlushIdleMs: 60_000, eventsFlushAgeMs: 60_000 } })
    await send('{"n":1}')
    files.fault = (call: FileCall): Fault | null => (call.kind === 'write' ? fault : null)
    for (const code of codes)
      await t.rejects(send('{"n":2}', { idempotencyKey: 'k' }), { code }, `${fault.code}: ${code}`)
    files.fault = () => null
    const retried = await untilTaken(() => send('{"n":2}', { idempotencyKey: 'k', isWaiting: true }))
    t.match(retried, { successfulRows: 1, isStored: true })
    t.equal(rowsStored(store), 2)
  }
})

t.test('a log that fails between a body and the name of its block keeps what was acknowledged', async (t) => {
  const store = new FakeStore({ isOpen: true })
  const { send, files, ingest } = await open(t, { store, options: { eventsFlushIdleMs: 40, eventsFlushAgeMs: 60 } })
  await send('{"n":1}')
  files.fault = (call: FileCall): Fault | null => (call.kind === 'datasync' ? { code: 'EIO' } : null)
  await until(() => ingest.eventsStatus(source.id)?.failure !== null)
  files.fault = () => null
  await until(() => ingest.eventsStatus(source.id)?.waitingRows === 0)
  t.equal(rowsStored(store), 1)
  t.match(ingest.eventsStatus(source.id), { failure: null, waitingBytes: 0 })
})

t.test(
  'a barrier stores what waits, holds back what comes, and nothing before it is stored by a later process',
  async (t) => {
    const store = new FakeStore({ isOpen: false })
    const { send, files, ingest } = await open(t, { store })
    await send('{"n":1}')
    await store.untilBegun(1)
    const steps: string[] = []
    const change = ingest.withBarrier({ dataSource: source, isFinal: false }, async () => {
      steps.push(`changed at ${rowsStored(store)} rows, after ${store.syncCount} sync`)
    })
    await t.rejects(send('{"n":2}'), { code: 'DATASOURCE_CHANGING', status: 503 })
    await t.rejects(
      ingest.withBarrier({ dataSource: source, isFinal: false }, async () => undefined),
      { code: 'CHANGE_BLOCKED' },
    )
    store.open()
    await change
    t.same(steps, ['changed at 1 rows, after 1 sync'])
    const next = await open(t, { files: killed(files) })
    await next.send('{"n":3}', { isWaiting: true })
    t.equal(rowsStored(next.store), 1, 'only what came behind the barrier')
  },
)

t.test(
  'a data source goes with its events, though they cannot be stored, and a later process forgets them',
  async (t) => {
    const store = new FakeStore({ isOpen: true })
    for (let insert = 1; insert <= 10; insert += 1) store.failures.set(insert, viewError)
    const { send, files, ingest } = await open(t, { store })
    await t.rejects(send('{"n":1}', { isWaiting: true }), { code: 'VIEW_FAILED' })
    await t.rejects(
      ingest.withBarrier({ dataSource: source, isFinal: false }, async () => undefined),
      { code: 'CHANGE_BLOCKED' },
    )
    await ingest.withBarrier({ dataSource: source, isFinal: true }, async () => undefined)
    const gone = await open(t, { files: killed(files), dataSources: [other] })
    await t.rejects(gone.send('{"n":2}'), { code: 'DATASOURCE_NOT_FOUND' })
    await gone.send('{"n":2}', { dataSource: other, isWaiting: true })
    t.equal(rowsStored(gone.store), 0)
  },
)

t.test(
  'what comes during a hold is taken at once, stored behind it, and found in the log by a later process',
  async (t) => {
    const store = new FakeStore({ isOpen: false })
    const { send, files, ingest } = await open(t, { store })
    await send('{"n":1}')
    await store.untilBegun(1)
    let end = (): void => undefined
    const changing = new Promise<void>((resolve) => {
      end = resolve
    })
    const steps: string[] = []
    const held = ingest.withHold([source, other], async () => {
      steps.push(`began at ${rowsStored(store)} rows`)
      await changing
    })
    const early = send('{"n":2}').then(() => steps.push('taken'))
    store.open()
    await early
    t.same(steps, ['began at 1 rows', 'taken'], 'it waits for the barrier')
    t.ok(ingest.isHeld(source.id))
    const waiting = send('{"n":3}', { isWaiting: true }).then(({ isStored }) => steps.push(`stored: ${isStored}`))
    await send('{"n":4}', { dataSource: other })
    await t.rejects(
      ingest.withHold([other], async () => undefined),
      { code: 'DATASOURCE_BUSY', status: 409 },
    )
    await t.rejects(
      ingest.withBarrier({ dataSource: source, isFinal: false }, async () => undefined),
      { code: 'DATASOURCE_BUSY' },
    )
    t.match(ingest.eventsStatus(source.id), { waitingRows: 2, failure: null })
    t.equal(rowsStored(store), 1)
    const later = await open(t, { files: killed(files) })
    await later.send('{"n":5}', { isWaiting: true })
    t.equal(rowsStored(later.store), 3, 'those of the hold, and none from before it')
    end()
    await held
    await waiting
    t.same(steps.slice(2), ['stored: true'])
    t.equal(rowsStored(store), 3)
    t.notOk(ingest.isHeld(source.id))
    await ingest.withHold([source], async () => undefined)
  },
)

t.test(
  'a hold is refused when what waits cannot be stored, and a data source that goes waits for its end',
  async (t) => {
    const store = new FakeStore({ isOpen: true })
    store.failures.set(1, viewError)
    const { send, ingest } = await open(t, { store })
    await t.rejects(send('{"n":1}', { isWaiting: true }), { code: 'VIEW_FAILED' })
    await t.rejects(
      ingest.withHold([other, source], async () => undefined),
      { code: 'CHANGE_BLOCKED', status: 503 },
    )
    t.notOk(ingest.isHeld(other.id))
    await send('{"n":1}', { dataSource: other, isWaiting: true })
    const order: string[] = []
    const hold = ingest.withHold([other], async () => {
      order.push('held')
    })
    const going = ingest.withBarrier({ dataSource: other, isFinal: true }, async () => {
      order.push('gone')
    })
    await Promise.all([hold, going])
    t.same(order, ['held', 'gone'])
  },
)

async function until(isTrue: () => boolean): Promise<void> {
  while (!isTrue()) await new Promise((resolve) => setImmediate(resolve))
}

async function untilTaken<Result>(work: () => Promise<Result>): Promise<Result> {
  for (;;) {
    try {
      return await work()
    } catch {
      // The log is opened again after a moment.
      await new Promise((resolve) => setImmediate(resolve))
    }
  }
}

t.test('a change that leaves all rows where they are is told to nobody who looks for lost ones', async (t) => {
  const removing: (readonly string[])[] = []
  const whileRemoving = <Result>(ids: readonly string[], change: () => Promise<Result>): Promise<Result> => {
    removing.push(ids)
    return change()
  }
  const store = new FakeStore({ isOpen: true })
  const ingest = await openTestIngest({ store, dataSources: [source], whileRemoving })
  t.teardown(() => ingest.close())
  t.equal(await ingest.withHold([source], async () => 'kept', { keepsRows: true }), 'kept')
  t.same(removing, [])
  t.equal(await ingest.withHold([source], async () => 'removed'), 'removed')
  t.same(removing, [[source.id]])
})
