import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { bookkeepingEntry, encodeBarrier } from '../../src/wal/entry-payloads.ts'
import { diskFileLayer } from '../../src/wal/file-layer.ts'
import { toSequence } from '../../src/wal/sequence.ts'
import { openWal } from '../../src/wal/wal.ts'
import type { NewEntry, WalEvent } from '../../src/wal/wal.types.ts'
import { WalCheckpointError, WalClosedError, WalFailedError, WalRefusedError } from '../../src/wal/wal-errors.ts'
import { type FileCall, MemoryFileLayer } from '../support/wal/memory-file-layer.ts'
import { failureOf, openTestWal, readAll, readTexts, rowsEntry, walOptions } from '../support/wal/test-wal.ts'

const kilobyte = Buffer.alloc(1000, 'k')

function barrier(stream: string, generation: number, isFinal = false): NewEntry {
  return bookkeepingEntry({ kind: 'barrier', stream, atMs: 5, payload: encodeBarrier({ generation, isFinal }) })
}

function reasonOf(error: unknown): string {
  return error instanceof WalRefusedError ? error.reason : String(error)
}

/** Counts the calls of a layer by kind. */
function countCalls(layer: MemoryFileLayer): Map<FileCall['kind'], number> {
  const counts = new Map<FileCall['kind'], number>()
  layer.fault = ({ kind }) => {
    counts.set(kind, (counts.get(kind) ?? 0) + 1)
    return null
  }
  return counts
}

t.test('a log on a real disk gives back what was appended, in order, after a close and after none', async (t) => {
  const parent = await mkdtemp(join(tmpdir(), 'millrace-wal-'))
  t.teardown(() => rm(parent, { recursive: true }))
  const options = walOptions({ directory: join(parent, 'deep', 'log'), entryBytesMax: 3_000_000, pendingBytesMax: 1e7 })
  const roomy = { ...options, totalBytesMax: 1e8 }
  const first = await openWal(roomy, diskFileLayer)
  t.match(first.recovery, { isNew: true, nextSequence: 1, segmentCount: 0 })
  const large = Buffer.alloc(2_500_000, 'large ')
  const fields = { stream: 'tá', version: 4_294_967_295, flags: 65_535, rowCount: 7, quarantinedRowCount: 2 } as const
  const entry = rowsEntry(large, { ...fields, encoding: 'zstd', acceptedAtMs: 2 ** 48 - 1 })
  const appends = [first.append(rowsEntry('one')), first.append(entry), first.append(rowsEntry(''))]
  t.same(await Promise.all(appends), [1, 2, 3])
  await first.close()
  const second = await openWal(roomy, diskFileLayer)
  t.match(second.recovery, { isNew: false, wasClosed: true, entryCount: 3, nextSequence: 4, cutTails: [] })
  const [one, two, three] = await readAll(second)
  t.same(one, { ...rowsEntry(Uint8Array.from(Buffer.from('one'))), sequence: 1 })
  t.same({ ...two, payload: null }, { ...entry, payload: null, sequence: 2 })
  t.equal(large.compare(two?.payload ?? Buffer.alloc(0)), 0)
  t.equal(three?.payload.length, 0)
  t.equal(await second.append(rowsEntry('four')), 4)
  const third = await openWal(roomy, diskFileLayer)
  t.match(third.recovery, { wasClosed: false, entryCount: 4, nextSequence: 5 })
  await third.release(toSequence(5))
  await third.close()
  await second.close().catch(() => {
    // Its files were taken from under it: one process at a time, as the options say.
  })
  const names = await readdir(roomy.directory)
  t.same(
    names.filter((name) => name.endsWith('.wal')),
    [],
  )
})

t.test('appends that wait together share one write and one sync, and keep their order', async (t) => {
  const layer = new MemoryFileLayer()
  const wal = await openTestWal(layer, { segmentBytesMax: 100_000 })
  await wal.append(rowsEntry('first'))
  const counts = countCalls(layer)
  const texts = Array.from({ length: 50 }, (_, index) => `entry ${index}`)
  const sequences = await Promise.all(texts.map((text) => wal.append(rowsEntry(text))))
  t.same(
    sequences,
    texts.map((_, index) => index + 2),
  )
  t.same([counts.get('write'), counts.get('datasync')], [1, 1])
  t.same(
    await readTexts(wal, toSequence(2)),
    texts.map((text, index) => `${index + 2}:${text}`),
  )
  t.match(wal.stats(), { groupCount: 2, entryCount: 51, pendingBytes: 0, pendingBatches: 0 })
})

t.test('an entry is acknowledged by the sync and not by the write', async (t) => {
  const layer = new MemoryFileLayer<string>()
  const wal = await openTestWal(layer)
  layer.mark('open')
  await wal.append(rowsEntry('x')).then(() => layer.mark('acknowledged'))
  const kinds = layer.trace.map((event) => (event.kind === 'mark' ? event.mark : event.kind))
  const expected = ['create', 'write', 'datasync', 'sync-directory', 'write', 'datasync', 'acknowledged']
  t.same(kinds.slice(kinds.indexOf('open') + 1), expected)
})

t.test('a segment ends before the batch that no longer fits, and a larger batch has its own', async (t) => {
  const layer = new MemoryFileLayer()
  // A header of 32 bytes, and entries of 52 + 3 bytes and the payload.
  const wal = await openTestWal(layer, { segmentBytesMax: 32 + 2 * 155 })
  const sized = (byteCount: number) => wal.append(rowsEntry(Buffer.alloc(byteCount)))
  for (const byteCount of [100, 100, 1, 4000, 1, 100, 101]) await sized(byteCount)
  const names = [...layer.files().keys()].filter((name) => name.endsWith('.wal'))
  t.same(
    names.map((name) => Number.parseInt(name, 10)),
    [1, 3, 4, 5, 7],
  )
  await wal.close()
  const again = await openTestWal(layer)
  t.same(
    (await readAll(again)).map(({ payload }) => payload.length),
    [100, 100, 1, 4000, 1, 100, 101],
  )
})

t.test('a batch is in one segment, one group and one piece', async (t) => {
  const layer = new MemoryFileLayer()
  const wal = await openTestWal(layer)
  await wal.append(rowsEntry(kilobyte))
  t.same(await wal.appendBatch([rowsEntry(kilobyte), rowsEntry('note')]), [2, 3])
  const names = [...layer.files().keys()].filter((name) => name.endsWith('.wal'))
  t.same(
    names.map((name) => Number.parseInt(name, 10)),
    [1, 2],
  )
  // The second entry of the batch never reached the disk: the first one does not count.
  const files = layer.files()
  const last = files.get('00000000000000000002.wal') ?? Buffer.alloc(0)
  files.set('00000000000000000002.wal', last.subarray(0, -1))
  const again = await openTestWal(new MemoryFileLayer(files))
  t.equal(again.recovery.nextSequence, 2)
  t.match(again.recovery.cutTails, [
    { file: '00000000000000000002.wal', offset: 32, wholeEntryCount: 1, reason: 'torn' },
  ])
  t.same(again.recovery.removedFiles, ['00000000000000000002.wal'])
})

t.test('entries, waiting bytes and the whole log have a maximum, which bookkeeping may pass by a little', async (t) => {
  const events: WalEvent[] = []
  const limits = { entryBytesMax: 1000, pendingBytesMax: 2110, totalBytesMax: 4096 + 208, segmentBytesMax: 2048 }
  const wal = await openTestWal(new MemoryFileLayer(), limits, events)
  t.equal(reasonOf(await failureOf(wal.append(rowsEntry(Buffer.alloc(1001))))), 'entry-too-large')
  // Two entries of 1055 bytes fit the waiting bytes exactly.
  const waiting = [wal.append(rowsEntry(kilobyte)), wal.append(rowsEntry(kilobyte))]
  t.equal(reasonOf(await failureOf(wal.append(rowsEntry('')))), 'pending-full')
  const name = wal.append(bookkeepingEntry({ kind: 'blockName', stream: 't_1', atMs: 0, payload: Buffer.alloc(100) }))
  const note = bookkeepingEntry({ kind: 'note', stream: 't_1', atMs: 0, payload: Buffer.alloc(900) })
  t.equal(reasonOf(await failureOf(wal.append(note))), 'pending-full')
  t.same(await Promise.all([...waiting, name]), [1, 2, 3])
  t.equal(wal.stats().totalBytes, 2 * 32 + 2 * 1055 + 155)
  await wal.append(rowsEntry(kilobyte))
  const left = limits.totalBytesMax - wal.stats().totalBytes
  t.equal(reasonOf(await failureOf(wal.append(rowsEntry(Buffer.alloc(left - 55 + 1))))), 'log-full')
  await wal.append(rowsEntry(Buffer.alloc(left - 55)))
  t.equal(reasonOf(await failureOf(wal.append(rowsEntry('')))), 'log-full')
  await wal.append(bookkeepingEntry({ kind: 'stored', stream: 't_1', atMs: 0, payload: Buffer.alloc(100) }))
  t.equal(reasonOf(await failureOf(wal.append({ ...note, payload: Buffer.alloc(200) }))), 'log-full')
  await wal.release(toSequence(4))
  t.same(await wal.append(rowsEntry(kilobyte)), 7, 'a released segment makes room')
  t.same(events, [])
})

t.test('a release writes the checkpoint first, unlinks after, and only whole segments', async (t) => {
  const layer = new MemoryFileLayer()
  const wal = await openTestWal(layer)
  for (let count = 0; count < 5; count += 1) await wal.append(rowsEntry(kilobyte))
  const traceLength = layer.kindsOfLog().length
  await wal.release(toSequence(1))
  t.equal(layer.kindsOfLog().length, traceLength, 'nothing is free, nothing is written')
  await wal.release(toSequence(4))
  const kinds = layer.kindsOfLog(traceLength)
  const checkpoint = ['create', 'write', 'datasync', 'rename', 'sync-directory']
  t.same(kinds, [...checkpoint, 'unlink', 'unlink', 'unlink', 'sync-directory'])
  t.match(wal.stats(), { releasedSequence: 4, segmentCount: 2 })
  await wal.release(toSequence(2))
  t.equal(wal.stats().releasedSequence, 4, 'a lower release changes nothing')
  const again = await openTestWal(new MemoryFileLayer(layer.files()))
  t.match(again.recovery, { releasedSequence: 4, nextSequence: 6, segmentCount: 2 })
  t.same(
    (await readAll(again)).map(({ sequence }) => sequence),
    [4, 5],
  )
  await t.rejects(wal.release(toSequence(7)), { name: 'InvariantError' })
})

t.test('releases that come together share a checkpoint', async (t) => {
  const layer = new MemoryFileLayer()
  const wal = await openTestWal(layer)
  for (let count = 0; count < 6; count += 1) await wal.append(rowsEntry(kilobyte))
  const counts = countCalls(layer)
  await Promise.all([2, 3, 4, 5].map((below) => wal.release(toSequence(below))))
  t.same([counts.get('rename'), counts.get('unlink')], [2, 4])
  t.equal(wal.stats().segmentCount, 2)
})

t.test('segments that a crash kept from being unlinked go at the next start', async (t) => {
  const layer = new MemoryFileLayer()
  const wal = await openTestWal(layer)
  for (let count = 0; count < 3; count += 1) await wal.append(rowsEntry(kilobyte))
  const before = layer.files()
  await wal.release(toSequence(3))
  const after = new Map([...before, ...layer.files()])
  const again = await openTestWal(new MemoryFileLayer(after))
  t.same(again.recovery.removedFiles, ['00000000000000000001.wal', '00000000000000000002.wal'])
  t.same(again.recovery.cutTails, [])
})

t.test('a start syncs the names it found before it builds on them', async (t) => {
  const layer = new MemoryFileLayer()
  const wal = await openTestWal(layer)
  await wal.append(rowsEntry('x'))
  const killed = new MemoryFileLayer(layer.files())
  await openTestWal(killed)
  t.same(
    killed.trace.map(({ kind }) => kind),
    ['sync-directory', 'write', 'datasync', 'write', 'datasync'],
    'the names, the last group, the mark',
  )
})

t.test('a log that was released as a whole and closed has no segments and goes on counting', async (t) => {
  const layer = new MemoryFileLayer()
  const wal = await openTestWal(layer)
  await wal.append(rowsEntry('x'))
  await wal.release(toSequence(2))
  await wal.close()
  t.same([...layer.files().keys()], ['checkpoint', 'log-mark'])
  const again = await openTestWal(layer)
  t.match(again.recovery, { isNew: false, wasClosed: true, nextSequence: 2, segmentCount: 0 })
  t.equal(await again.append(rowsEntry('y')), 2)
})

t.test('released segments may reach the end of their unlinking in any order', async (t) => {
  const layer = new MemoryFileLayer()
  const wal = await openTestWal(layer)
  for (let count = 0; count < 3; count += 1) await wal.append(rowsEntry(kilobyte))
  const segments = layer.files()
  await wal.release(toSequence(4))
  await wal.close()
  const checkpoint = layer.files().get('checkpoint') ?? Buffer.alloc(0)
  for (let present = 0; present < 8; present += 1) {
    const names = [1, 2, 3].filter((number) => (present >> (number - 1)) % 2 === 1)
    const files = new Map([['checkpoint', checkpoint]])
    for (const number of names) {
      const name = `${String(number).padStart(20, '0')}.wal`
      files.set(name, segments.get(name) ?? Buffer.alloc(0))
    }
    const again = await openTestWal(new MemoryFileLayer(files))
    t.match(again.recovery, { nextSequence: 4, segmentCount: 0, wasClosed: true })
    t.equal(again.recovery.removedFiles.length, names.length)
    t.equal(await again.append(rowsEntry('next')), 4)
  }
})

t.test('generations outlive the segments their barriers were in, and those of dropped streams do not', async (t) => {
  const layer = new MemoryFileLayer()
  const wal = await openTestWal(layer, { streamsMax: 3 })
  await wal.append(barrier('a', 1))
  await wal.append(barrier('b', 4))
  await wal.append(barrier('a', 2))
  await wal.append(barrier('c', 1, true))
  t.same(
    ['a', 'b', 'c', 'd'].map((stream) => wal.generationOf(stream)),
    [2, 4, 1, 0],
  )
  t.equal(reasonOf(await failureOf(wal.append(barrier('d', 1)))), 'too-many-streams')
  t.throws(() => wal.appendBatch([barrier('a', 2)]), { name: 'InvariantError' })
  const crashed = await openTestWal(new MemoryFileLayer(layer.files()))
  t.same(
    ['a', 'b', 'c', 'd'].map((stream) => crashed.generationOf(stream)),
    [2, 4, 1, 0],
  )
  await wal.release(toSequence(5))
  await wal.close()
  const again = await openTestWal(layer, { streamsMax: 3 })
  t.same(
    ['a', 'b', 'c', 'd'].map((stream) => again.generationOf(stream)),
    [2, 4, 0, 0],
  )
  await again.append(barrier('d', 1))
  t.equal(again.generationOf('d'), 1)
})

t.test('what is released while it is read is left out, by whole segments', async (t) => {
  const wal = await openTestWal(new MemoryFileLayer())
  for (let n = 0; n < 12; n += 1) await wal.append(rowsEntry(kilobyte))
  const reader = wal.replay()[Symbol.asyncIterator]()
  const first = await reader.next()
  await wal.release(toSequence(12))
  const read: number[] = []
  for (let next = await reader.next(); next.done !== true; next = await reader.next()) read.push(next.value.sequence)
  t.equal(first.value?.sequence, 1)
  t.equal(read.at(-1), 12)
  t.ok(read.length < 11, 'most of it is gone')
})

t.test('replay begins where it is asked to, ends where the log was, and lets appends go on', async (t) => {
  const wal = await openTestWal(new MemoryFileLayer())
  for (const text of ['a', 'b', 'c']) await wal.append(rowsEntry(Buffer.concat([Buffer.from(text), kilobyte])))
  const entries = wal.replay(toSequence(2))
  await wal.append(rowsEntry('later'))
  const letters: string[] = []
  for await (const { sequence, payload } of entries) {
    letters.push(`${sequence}${String.fromCharCode(payload[0] ?? 0)}`)
    await wal.append(rowsEntry('meanwhile'))
  }
  t.same(letters, ['2b', '3c'])
  t.same((await readAll(wal, toSequence(7))).length, 0)
})

t.test('a full disk refuses what it cannot take, loses nothing, and takes more when there is room', async (t) => {
  const events: WalEvent[] = []
  const layer = new MemoryFileLayer()
  const wal = await openTestWal(layer, {}, events)
  await wal.append(rowsEntry('before'))
  let isFull = true
  layer.fault = ({ kind, byteCount }) =>
    kind === 'write' && isFull ? { code: 'ENOSPC', writtenBytes: Math.min(30, byteCount) } : null
  const traceLength = layer.kindsOfLog().length
  const refused = [wal.append(rowsEntry('one')), wal.append(rowsEntry('two'))]
  for (const append of refused) t.equal(reasonOf(await failureOf(append)), 'disk-full')
  const kinds = layer.kindsOfLog(traceLength)
  t.same(kinds, ['write', 'truncate', 'datasync'], 'nothing of the write is left to mix with the next one')
  t.equal(reasonOf(await failureOf(wal.append(rowsEntry(Buffer.alloc(2000))))), 'disk-full', 'also in a new segment')
  t.match(
    events.map(({ kind }) => kind),
    ['disk-full', 'disk-full'],
  )
  t.match(wal.stats(), { state: 'open', nextSequence: 2, pendingBytes: 0 })
  isFull = false
  t.equal(await wal.append(rowsEntry('after')), 2)
  const again = await openTestWal(new MemoryFileLayer(layer.files()))
  t.same(await readTexts(again), ['1:before', '2:after'])
  t.same(again.recovery.cutTails, [])
})

t.test('a short write is gone on with', async (t) => {
  const layer = new MemoryFileLayer()
  const wal = await openTestWal(layer)
  layer.fault = ({ kind, byteCount }) => (kind === 'write' ? { writtenBytes: Math.min(7, byteCount) } : null)
  await Promise.all([wal.append(rowsEntry('one')), wal.append(rowsEntry(Buffer.alloc(40_00, 'z')))])
  const again = await openTestWal(new MemoryFileLayer(layer.files()))
  t.same(
    (await readAll(again)).map(({ payload }) => payload.length),
    [3, 4000],
  )
})

t.test('a write that gives up without an error fails the log instead of turning for ever', async (t) => {
  const layer = new MemoryFileLayer()
  const wal = await openTestWal(layer)
  layer.fault = ({ kind }) => (kind === 'write' ? { writtenBytes: 0 } : null)
  t.type(await failureOf(wal.append(rowsEntry('x'))), WalFailedError)
})

for (const failing of ['write', 'datasync', 'sync-directory', 'create'] as const) {
  t.test(`an error of ${failing} fails all that wait and all that come, until the log is reopened`, async (t) => {
    const events: WalEvent[] = []
    const layer = new MemoryFileLayer()
    const wal = await openTestWal(layer, { segmentBytesMax: 1200 }, events)
    await wal.append(rowsEntry(kilobyte))
    let isBroken = true
    layer.fault = ({ kind }) => (kind === failing && isBroken ? { code: 'EIO', writtenBytes: 60 } : null)
    // The first one needs a new segment, the others wait behind it.
    const waiting = ['one', 'two'].map((text) => wal.append(rowsEntry(Buffer.concat([Buffer.from(text), kilobyte]))))
    for (const append of waiting) {
      const failure = await failureOf(append)
      t.type(failure, WalFailedError)
      t.match(failure, { cause: { code: 'EIO' } })
    }
    const callCount = layer.kindsOfLog().length
    t.type(await failureOf(wal.append(rowsEntry('three'))), WalFailedError)
    t.equal(layer.kindsOfLog().length, callCount, 'the disk is left alone')
    t.match(wal.stats(), { state: 'failed', pendingBytes: 0, pendingBatches: 0, nextSequence: 2 })
    t.equal((await readAll(wal)).length, 1, 'what was acknowledged can be read')
    const attempts = await Promise.all([failureOf(wal.reopen()), failureOf(wal.reopen())])
    t.match(attempts, [{ name: 'WalFailedError' }, { name: 'WalFailedError' }])
    isBroken = false
    await wal.reopen()
    await wal.reopen()
    t.match(
      events.map(({ kind }) => kind),
      ['failed', 'reopened'],
    )
    t.equal(await wal.append(rowsEntry('again')), 2)
    for (const files of [layer, new MemoryFileLayer(layer.files())]) {
      const texts = await readTexts(await openTestWal(files))
      t.same(
        texts.map((text) => text.slice(0, 9)),
        ['1:kkkkkkk', '2:again'],
      )
    }
  })
}

t.test('a failed sync in the middle of a segment is cut off by reopen, and a new segment begins there', async (t) => {
  const layer = new MemoryFileLayer()
  const wal = await openTestWal(layer)
  await wal.append(rowsEntry('kept'))
  layer.fault = ({ kind }) => (kind === 'datasync' ? { code: 'EIO' } : null)
  t.type(await failureOf(wal.append(rowsEntry('doubtful'))), WalFailedError)
  layer.fault = () => null
  const crashed = await openTestWal(new MemoryFileLayer(layer.files()))
  t.same(await readTexts(crashed), ['1:kept', '2:doubtful'], 'after a crash what is whole counts as written')
  await wal.reopen()
  await wal.append(rowsEntry('new'))
  t.same(await readTexts(wal), ['1:kept', '2:new'])
  const names = [...layer.files().keys()].filter((name) => name.endsWith('.wal'))
  t.same(names, ['00000000000000000001.wal', '00000000000000000002.wal'])
})

t.test('reopen refuses to build on acknowledged entries that the disk no longer has', async (t) => {
  const layer = new MemoryFileLayer()
  const wal = await openTestWal(layer)
  await wal.append(rowsEntry('acknowledged'))
  layer.fault = ({ kind }) => (kind === 'write' ? { code: 'EIO' } : null)
  await failureOf(wal.append(rowsEntry('x')))
  layer.fault = () => null
  layer.put('00000000000000000001.wal', Buffer.alloc(200))
  t.match(await failureOf(wal.reopen()), { name: 'WalFailedError', cause: { name: 'WalCorruptError' } })
  t.equal(wal.stats().state, 'failed')
})

for (const failing of ['create', 'write', 'datasync', 'rename', 'sync-directory'] as const) {
  t.test(`an error of ${failing} in a checkpoint keeps all segments, and the next release tries again`, async (t) => {
    const layer = new MemoryFileLayer()
    const wal = await openTestWal(layer)
    for (let count = 0; count < 3; count += 1) await wal.append(rowsEntry(kilobyte))
    layer.fault = ({ kind }) => (kind === failing ? { code: failing === 'write' ? 'ENOSPC' : 'EIO' } : null)
    t.type(await failureOf(wal.release(toSequence(3))), WalCheckpointError)
    t.equal(wal.stats().segmentCount, 3)
    t.equal((await readAll(await openTestWal(new MemoryFileLayer(layer.files())), toSequence(1))).length > 0, true)
    layer.fault = () => null
    t.equal(await wal.append(rowsEntry('x')), 4, 'the log itself is well')
    await wal.release(toSequence(3))
    t.equal(wal.stats().segmentCount, 1)
  })
}

t.test('a segment that cannot be unlinked is told, kept, and tried again', async (t) => {
  const events: WalEvent[] = []
  const layer = new MemoryFileLayer()
  const wal = await openTestWal(layer, {}, events)
  for (let count = 0; count < 4; count += 1) await wal.append(rowsEntry(kilobyte))
  layer.fault = ({ kind, name }) =>
    kind === 'unlink' && name.startsWith('00000000000000000001') ? { code: 'EIO' } : null
  await wal.release(toSequence(3))
  t.match(events, [{ kind: 'cleanup-failed', file: '00000000000000000001.wal', error: { code: 'EIO' } }])
  t.equal(wal.stats().segmentCount, 3)
  layer.fault = () => null
  await wal.release(toSequence(3))
  t.equal(wal.stats().segmentCount, 2)
})

t.test('a descriptor that does not close, and a directory that does not sync after an unlink, are told', async (t) => {
  const events: WalEvent[] = []
  const layer = new MemoryFileLayer()
  const wal = await openTestWal(layer, {}, events)
  await wal.append(rowsEntry(kilobyte))
  layer.fault = ({ kind, name }) => (kind === 'close' && name.endsWith('.wal') ? { code: 'EIO' } : null)
  await wal.append(rowsEntry(kilobyte))
  let syncCount = 0
  layer.fault = ({ kind }) => {
    syncCount += kind === 'sync-directory' ? 1 : 0
    return kind === 'sync-directory' && syncCount === 2 ? { code: 'EIO' } : null
  }
  await wal.release(toSequence(2))
  t.match(events, [{ kind: 'cleanup-failed' }, { kind: 'cleanup-failed', file: '.' }])
})

t.test('close waits for what was appended, writes the end down, and takes nothing after', async (t) => {
  const layer = new MemoryFileLayer()
  const wal = await openTestWal(layer)
  const appends = [wal.append(rowsEntry('a')), wal.append(rowsEntry('b'))]
  await Promise.all([wal.close(), wal.close()])
  t.same(await Promise.all(appends), [1, 2])
  t.type(await failureOf(wal.append(rowsEntry('c'))), WalClosedError)
  t.type(await failureOf(wal.release(toSequence(1))), WalClosedError)
  t.type(await failureOf(wal.reopen()), WalClosedError)
  t.equal(wal.stats().state, 'closed')
})

t.test('a failed log closes without a checkpoint, and one whose checkpoint fails is closed all the same', async (t) => {
  const layer = new MemoryFileLayer()
  const wal = await openTestWal(layer)
  layer.fault = ({ kind }) => (kind === 'datasync' ? { code: 'EIO' } : null)
  const append = failureOf(wal.append(rowsEntry('x')))
  await wal.close()
  t.type(await append, WalFailedError)
  layer.fault = () => null
  const again = await openTestWal(layer)
  t.equal(again.recovery.wasClosed, false)
  await again.append(rowsEntry('y'))
  layer.fault = ({ kind }) => (kind === 'rename' ? { code: 'EIO' } : null)
  t.type(await failureOf(again.close()), WalCheckpointError)
  t.equal(again.stats().state, 'closed')
})
