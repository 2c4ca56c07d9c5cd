import { crc32 } from 'node:zlib'
import t from 'tap'
import { encodeEntryHeader, entryBytesOf } from '../../src/wal/entry-format.ts'
import { decodeLost } from '../../src/wal/entry-payloads.ts'
import { encodeSegmentHeader, saltOf } from '../../src/wal/segment-format.ts'
import { toSequence } from '../../src/wal/sequence.ts'
import type { WalEvent } from '../../src/wal/wal.types.ts'
import { WalCorruptError, WalFormatError } from '../../src/wal/wal-errors.ts'
import { MemoryFileLayer } from '../support/wal/memory-file-layer.ts'
import { failureOf, openTestWal, readAll, readTexts, rowsEntry } from '../support/wal/test-wal.ts'

const firstSegment = '00000000000000000001.wal'

type Files = Map<string, Buffer>

/**
 * A log of five small entries, each synced by itself, in segments of at most `segmentBytesMax`. A crash leaves no mark here, as
 * a power cut may: so only its own files tell of it.
 */
async function smallLog(end: 'closed' | 'crashed', segmentBytesMax = 2048): Promise<Files> {
  const layer = new MemoryFileLayer()
  const wal = await openTestWal(layer, { segmentBytesMax })
  for (const text of ['alpha', '', 'gamma', 'delta', 'epsilon']) await wal.append(rowsEntry(text))
  if (end === 'closed') await wal.close()
  const files = layer.files()
  if (end === 'crashed') files.delete('log-mark')
  return files
}

const wholeLog = ['1:alpha', '2:', '3:gamma', '4:delta', '5:epsilon']

function flipped(files: Files, name: string, offset: number, mask: number): Files {
  const content = Buffer.from(files.get(name) ?? Buffer.alloc(0))
  content[offset] = (content[offset] ?? 0) ^ mask
  return new Map([...files, [name, content]])
}

function changed(files: Files, name: string, change: (content: Buffer) => Buffer): Files {
  return new Map([...files, [name, change(Buffer.from(files.get(name) ?? Buffer.alloc(0)))]])
}

t.test('every flipped byte of a closed log is damage, and nothing on the disk is touched', async (t) => {
  const files = await smallLog('closed')
  let flips = 0
  for (const [name, content] of files) {
    if (!name.endsWith('.wal')) continue
    for (let offset = 0; offset < content.length; offset += 1) {
      for (const mask of [0x01, 0x80, 0xff]) {
        const layer = new MemoryFileLayer(flipped(files, name, offset, mask))
        const failure = await failureOf(openTestWal(layer))
        if (!(failure instanceof WalCorruptError)) t.fail(`${name} at ${offset}: ${failure}`)
        else if (!failure.message.includes(name)) t.fail(`${failure.message} does not name ${name}`)
        if (layer.trace.some(({ kind }) => kind !== 'sync-directory'))
          t.fail(`${name} at ${offset}: something was changed`)
        flips += 1
      }
    }
  }
  t.comment(`${flips} flips`)
})

t.test('every flipped byte of a log after a crash is damage, but the last entry may count as torn', async (t) => {
  const files = await smallLog('crashed')
  const size = files.get(firstSegment)?.length ?? 0
  const lastEntry = size - entryBytesOf(rowsEntry('epsilon'))
  for (let offset = 0; offset < size; offset += 1) {
    for (const mask of [0x01, 0x80, 0xff]) {
      const layer = new MemoryFileLayer(flipped(files, firstSegment, offset, mask))
      if (offset < lastEntry) {
        if (!((await failureOf(openTestWal(layer))) instanceof WalCorruptError)) t.fail(`at ${offset}`)
        continue
      }
      const wal = await openTestWal(layer)
      t.same(await readTexts(wal), wholeLog.slice(0, 4))
      t.match(wal.recovery.cutTails, [{ file: firstSegment, offset: lastEntry, reason: 'torn' }])
    }
  }
})

t.test('with keep-aside every flipped byte costs one entry at most, which is named in its place', async (t) => {
  const files = await smallLog('closed')
  const size = files.get(firstSegment)?.length ?? 0
  for (let offset = 0; offset < size; offset += 1) {
    const damaged = flipped(files, firstSegment, offset, 0x40)
    const layer = new MemoryFileLayer(damaged)
    const wal = await openTestWal(layer, { onDamage: 'keep-aside' })
    const entries = await readAll(wal)
    const lost = entries.filter(({ kind }) => kind === 'lost')
    const expected = wholeLog.map((text, index) =>
      lost.some(({ sequence }) => sequence === index + 1) ? 'lost' : text,
    )
    const texts = entries.map((entry) =>
      entry.kind === 'lost' ? 'lost' : `${entry.sequence}:${Buffer.from(entry.payload).toString()}`,
    )
    if (lost.length > 1 || texts.join() !== expected.join()) t.same(texts, expected, `at ${offset}`)
    if (wal.recovery.lostRanges.length !== lost.length) t.fail(`lost ranges at ${offset}`)
    if (
      !layer
        .files()
        .get(`${firstSegment}.corrupt-1`)
        ?.equals(damaged.get(firstSegment) ?? Buffer.alloc(0))
    ) {
      t.fail(`no true copy at ${offset}`)
    }
    if ((await wal.append(rowsEntry('next'))) !== 6) t.fail('the sequences go on')
    const again = await openTestWal(new MemoryFileLayer(layer.files()))
    if (again.recovery.lostRanges.length !== lost.length || again.recovery.damages.length > 0)
      t.fail(`again at ${offset}`)
  }
})

t.test('a log that is cut off at any byte has the whole entries before the cut', async (t) => {
  const files = await smallLog('crashed')
  const content = files.get(firstSegment) ?? Buffer.alloc(0)
  const ends = [32]
  for (const text of ['alpha', '', 'gamma', 'delta', 'epsilon'])
    ends.push((ends.at(-1) ?? 0) + entryBytesOf(rowsEntry(text)))
  for (let cut = 0; cut <= content.length; cut += 1) {
    const layer = new MemoryFileLayer(changed(files, firstSegment, (whole) => whole.subarray(0, cut)))
    const wal = await openTestWal(layer)
    const count = ends.filter((end) => end <= cut).length - 1
    t.same(await readTexts(wal), wholeLog.slice(0, Math.max(0, count)), `cut at byte ${cut}`)
    t.equal(wal.recovery.cutTails.length, cut > 32 && !ends.includes(cut) ? 1 : 0)
  }
  const closed = await smallLog('closed')
  for (let cut = 0; cut < content.length; cut += 1) {
    const layer = new MemoryFileLayer(changed(closed, firstSegment, (whole) => whole.subarray(0, cut)))
    t.type(await failureOf(openTestWal(layer)), WalCorruptError, `a closed log that is cut at byte ${cut}`)
  }
})

t.test('zeros behind the entries are no torn write, wherever a crash leaves them', async (t) => {
  const layer = new MemoryFileLayer()
  const wal = await openTestWal(layer, { zerosAheadBytes: 500 })
  for (const text of ['alpha', '', 'gamma']) await wal.append(rowsEntry(text))
  const entriesEnd = 32 + ['alpha', '', 'gamma'].reduce((total, text) => total + entryBytesOf(rowsEntry(text)), 0)
  const content = layer.files().get(firstSegment) ?? Buffer.alloc(0)
  t.ok(
    content.length > entriesEnd && content.subarray(entriesEnd).every((byte) => byte === 0),
    'the file ends with zeros',
  )
  for (let cut = entriesEnd; cut <= content.length; cut += 1) {
    const files = changed(layer.files(), firstSegment, (whole) => whole.subarray(0, cut))
    const again = await openTestWal(new MemoryFileLayer(files))
    t.same([await readTexts(again), again.recovery.cutTails], [['1:alpha', '2:', '3:gamma'], []], `cut at byte ${cut}`)
  }
  const torn = changed(layer.files(), firstSegment, (whole) =>
    Buffer.from(whole).fill(0xee, entriesEnd, entriesEnd + 7),
  )
  const again = await openTestWal(new MemoryFileLayer(torn))
  t.match(again.recovery.cutTails, [{ offset: entriesEnd, byteCount: 7, reason: 'torn' }])
  await wal.close()
  t.equal(layer.files().get(firstSegment)?.length, entriesEnd, 'a log that is closed gives the room of its zeros back')
})

t.test('an entry that zeros took the place of is damage when it is known to have been synced', async (t) => {
  const layer = new MemoryFileLayer()
  const wal = await openTestWal(layer, { zerosAheadBytes: 500 })
  for (const text of ['alpha', 'beta']) await wal.append(rowsEntry(text))
  await wal.close()
  const files = changed(layer.files(), firstSegment, (whole) =>
    Buffer.from(whole).fill(0, 32 + entryBytesOf(rowsEntry('alpha'))),
  )
  t.match(await failureOf(openTestWal(new MemoryFileLayer(files))), { damages: [{ reason: 'missing', firstLost: 2 }] })
})

t.test('a disk without room for the zeros takes the entries alone', async (t) => {
  const layer = new MemoryFileLayer()
  const events: WalEvent[] = []
  const wal = await openTestWal(layer, { zerosAheadBytes: 500 }, events)
  layer.fault = ({ kind, byteCount }) =>
    kind === 'write' && byteCount > 400 ? { code: 'ENOSPC', writtenBytes: 200 } : null
  for (const text of ['alpha', 'beta']) await wal.append(rowsEntry(text))
  t.same([await readTexts(wal), events], [['1:alpha', '2:beta'], []])
  layer.fault = ({ kind }) => (kind === 'write' ? { code: 'ENOSPC' } : null)
  t.match(await failureOf(wal.append(rowsEntry('gamma'))), { reason: 'disk-full' })
})

t.test('a missing segment is damage wherever it is, and keep-aside puts the missing entries on record', async (t) => {
  const closed = await smallLog('closed', 150)
  const crashed = await smallLog('crashed', 150)
  const names = [...closed.keys()].filter((name) => name.endsWith('.wal'))
  t.same(
    names.map((name) => Number.parseInt(name, 10)),
    [1, 3, 4, 5],
  )
  for (const files of [closed, crashed]) {
    for (const [index, name] of names.entries()) {
      // After a crash nothing tells that there was one more segment behind the last one.
      if (files === crashed && index === names.length - 1) continue
      const rest = new Map([...files].filter(([other]) => other !== name))
      t.match(await failureOf(openTestWal(new MemoryFileLayer(rest))), { damages: [{ reason: 'missing' }] })
      const layer = new MemoryFileLayer(rest)
      const wal = await openTestWal(layer, { onDamage: 'keep-aside' })
      const first = Number.parseInt(name, 10)
      const last = (names.map((other) => Number.parseInt(other, 10))[index + 1] ?? 6) - 1
      t.same(wal.recovery.lostRanges, [{ first, last }])
      const lost = (await readAll(wal)).filter(({ kind }) => kind === 'lost')
      t.same(lost.map(decodeLost), [{ first, last }])
      t.same(
        (await readTexts(wal)).filter((text) => wholeLog.includes(text)),
        wholeLog.filter((_, position) => position + 1 < first || position + 1 > last),
      )
    }
  }
})

t.test('all segments gone is damage too', async (t) => {
  const files = await smallLog('closed')
  files.delete(firstSegment)
  t.match(await failureOf(openTestWal(new MemoryFileLayer(files))), { damages: [{ reason: 'missing', firstLost: 1 }] })
  const wal = await openTestWal(new MemoryFileLayer(files), { onDamage: 'keep-aside' })
  t.same(wal.recovery.lostRanges, [{ first: 1, last: 5 }])
  t.equal(await wal.append(rowsEntry('x')), 6)
})

t.test('no flipped byte of the checkpoint or of the mark costs anything, or refuses', async (t) => {
  for (const files of [await smallLog('closed'), await smallLog('closed', 150)]) {
    for (const name of ['checkpoint', 'log-mark']) {
      const size = files.get(name)?.length ?? 0
      for (let offset = 0; offset < size; offset += offset < 64 ? 1 : 97) {
        const wal = await openTestWal(new MemoryFileLayer(flipped(files, name, offset, 0x40)))
        const texts = await readTexts(wal)
        if (texts.join() !== wholeLog.join()) t.fail(`${name} at ${offset}: ${texts}`)
        if (wal.recovery.nextSequence !== 6) t.fail(`${name} at ${offset}: the sequences go on`)
      }
    }
  }
})

t.test('a missing or broken checkpoint costs nothing, and without the mark everything counts as needed', async (t) => {
  const layer = new MemoryFileLayer()
  const wal = await openTestWal(layer, { segmentBytesMax: 150 })
  for (const text of ['a', 'b', 'c', 'd', 'e']) await wal.append(rowsEntry(text))
  await wal.release(toSequence(4))
  const crashed = layer.files()
  await wal.close()
  const closed = layer.files()
  const foreign = (await smallLog('closed')).get('checkpoint') ?? Buffer.alloc(0)
  for (const [reason, change] of [
    ['checksum', (files: Files) => changed(files, 'checkpoint', (content) => content.fill(0, 20))],
    ['checksum', (files: Files) => changed(files, 'checkpoint', () => Buffer.alloc(0))],
    ['missing', (files: Files) => new Map([...files].filter(([name]) => name !== 'checkpoint'))],
    ['foreign', (files: Files) => changed(files, 'checkpoint', () => foreign)],
  ] as const) {
    for (const [files, expected] of [
      [closed, ['4:d', '5:e']],
      [new Map([...crashed].filter(([name]) => name !== 'log-mark')), ['3:c', '4:d', '5:e']],
    ] as const) {
      const damaged = change(files)
      const again = new MemoryFileLayer(damaged)
      const opened = await openTestWal(again)
      t.same(await readTexts(opened), expected, reason)
      t.same(opened.recovery.harmlessLosses, [{ kind: 'checkpoint', reason }])
      t.same(opened.recovery.keptAside, reason === 'missing' ? [] : ['checkpoint.corrupt-1'])
      t.equal(await opened.append(rowsEntry('f')), 6)
      const third = await openTestWal(new MemoryFileLayer(again.files()))
      t.same(third.recovery.harmlessLosses, [], 'it is made anew')
      t.same(await readTexts(third), [...expected, '6:f'])
    }
  }
})

t.test('a segment of another log, or under another name, is damage', async (t) => {
  const ours = await smallLog('closed', 150)
  const theirs = await smallLog('closed', 150)
  const third = '00000000000000000003.wal'
  const mixed = new Map([...ours, [third, theirs.get(third) ?? Buffer.alloc(0)]])
  t.match(await failureOf(openTestWal(new MemoryFileLayer(mixed))), {
    damages: [{ file: third, reason: 'segment-header' }],
  })
  const wal = await openTestWal(new MemoryFileLayer(mixed), { onDamage: 'keep-aside' })
  t.same(wal.recovery.lostRanges, [{ first: 3, last: 3 }], 'none of its entries is taken for ours')
  const renamed = new Map([...ours].filter(([name]) => name !== third))
  renamed.set('00000000000000000002.wal', ours.get(third) ?? Buffer.alloc(0))
  t.type(await failureOf(openTestWal(new MemoryFileLayer(renamed))), WalCorruptError)
})

t.test('a torn write of several entries is no damage, whichever of its blocks reached the disk', async (t) => {
  const layer = new MemoryFileLayer()
  const wal = await openTestWal(layer)
  await wal.append(rowsEntry('synced'))
  await Promise.all(['one', 'two', 'three'].map((text) => wal.append(rowsEntry(text))))
  const start = 32 + entryBytesOf(rowsEntry('synced'))
  const torn = changed(layer.files(), firstSegment, (content) => content.fill(0, start, start + 58))
  const again = await openTestWal(new MemoryFileLayer(torn))
  t.same(await readTexts(again), ['1:synced'])
  t.match(again.recovery.cutTails, [{ offset: start, wholeEntryCount: 2, reason: 'torn' }])
  // The same hole with one more synced entry behind it is damage.
  await wal.append(rowsEntry('later'))
  const holed = changed(layer.files(), firstSegment, (content) => content.fill(0, start, start + 58))
  const damage = { offset: start, reason: 'marker', firstLost: 2, nextGood: { offset: start + 58, sequence: 3 } }
  t.match(await failureOf(openTestWal(new MemoryFileLayer(holed))), { damages: [damage] })
})

t.test('an entry that is cut out, or repeated, is damage though each entry is whole', async (t) => {
  const files = await smallLog('crashed')
  const start = 32 + entryBytesOf(rowsEntry('alpha')) + entryBytesOf(rowsEntry(''))
  const end = start + entryBytesOf(rowsEntry('gamma'))
  const without = changed(files, firstSegment, (content) =>
    Buffer.concat([content.subarray(0, start), content.subarray(end)]),
  )
  const damage = { offset: start, reason: 'sequence', firstLost: 3, nextGood: { offset: start, sequence: 4 } }
  t.match(await failureOf(openTestWal(new MemoryFileLayer(without))), { damages: [damage] })
  const wal = await openTestWal(new MemoryFileLayer(without), { onDamage: 'keep-aside' })
  t.same(wal.recovery.lostRanges, [{ first: 3, last: 3 }])
  t.same(
    (await readTexts(wal)).filter((_, index) => index !== 2),
    wholeLog.filter((_, index) => index !== 2),
  )
  const twice = changed(files, firstSegment, (content) =>
    Buffer.concat([content.subarray(0, end), content.subarray(start)]),
  )
  t.match(await failureOf(openTestWal(new MemoryFileLayer(twice))), { damages: [{ offset: end, reason: 'sequence' }] })
  const again = await openTestWal(new MemoryFileLayer(twice), { onDamage: 'keep-aside' })
  t.same(await readTexts(again), wholeLog)
})

t.test('a segment ends where the next one begins, whatever a failed write left behind it', async (t) => {
  const layer = new MemoryFileLayer()
  const wal = await openTestWal(layer)
  await wal.append(rowsEntry('kept'))
  layer.fault = ({ kind }) => (kind === 'datasync' ? { code: 'EIO' } : null)
  await failureOf(wal.append(rowsEntry('doubtful')))
  layer.fault = () => null
  const abandoned = layer.files().get(firstSegment) ?? Buffer.alloc(0)
  await wal.reopen()
  await wal.append(rowsEntry('new'))
  const end = 32 + entryBytesOf(rowsEntry('kept'))
  t.equal(layer.files().get(firstSegment)?.length, end, 'the doubtful bytes are cut off')
  const files = new MemoryFileLayer(new Map([...layer.files(), [firstSegment, abandoned]]))
  const again = await openTestWal(files)
  t.same(await readTexts(again), ['1:kept', '2:new'])
  t.match(again.recovery.cutTails, [{ file: firstSegment, offset: end, wholeEntryCount: 1, reason: 'abandoned' }])
  t.equal(files.files().get(firstSegment)?.length, end)
})

t.test('bytes in a body that look like entries are never taken for any', async (t) => {
  const layer = new MemoryFileLayer()
  const wal = await openTestWal(layer)
  await wal.append(rowsEntry('first'))
  // The sender knows the format, but not the log id that seeds the checksums.
  const forged = rowsEntry('forged')
  const target = Buffer.alloc(entryBytesOf(forged))
  const salt = saltOf(encodeSegmentHeader(Buffer.alloc(8), toSequence(1)))
  const end = encodeEntryHeader(target, 0, forged, { sequence: 9, groupPosition: 0, hasFollower: false, salt })
  target.set(forged.payload, end)
  await wal.append(rowsEntry(target))
  const files = changed(layer.files(), firstSegment, (content) => content.subarray(0, -1))
  const again = await openTestWal(new MemoryFileLayer(files))
  t.same(await readTexts(again), ['1:first'])
  t.match(again.recovery.cutTails, [{ wholeEntryCount: 0, reason: 'torn' }])
})

t.test('what a newer version wrote is refused by name and place, whatever the options say', async (t) => {
  const files = await smallLog('closed')
  const segment = files.get(firstSegment) ?? Buffer.alloc(0)
  const salt = saltOf(segment.subarray(0, 32))
  for (const [offset, what] of [
    [28, 'kind 99'],
    [29, 'encoding'],
  ] as const) {
    const newer = changed(files, firstSegment, (content) => {
      content[32 + offset] = 99
      content.writeUInt32LE(crc32(content.subarray(32 + 8, 32 + 55), salt), 32 + 4)
      return content
    })
    const failure = await failureOf(openTestWal(new MemoryFileLayer(newer), { onDamage: 'keep-aside' }))
    t.type(failure, WalFormatError)
    t.match(failure, { message: new RegExp(`^${firstSegment} holds at byte 32 .*${what}`) })
  }
  const newerSegment = changed(files, firstSegment, (content) => {
    content.writeUInt32LE(2, 8)
    content.writeUInt32LE(crc32(content.subarray(0, 28)), 28)
    return content
  })
  t.match(await failureOf(openTestWal(new MemoryFileLayer(newerSegment))), { message: /is of format 2/ })
  const newerCheckpoint = changed(files, 'checkpoint', (content) => {
    content.writeUInt32LE(3, 8)
    content.writeUInt32LE(crc32(content.subarray(0, -4)), content.length - 4)
    return content
  })
  t.match(await failureOf(openTestWal(new MemoryFileLayer(newerCheckpoint))), {
    message: /checkpoint .* is of format 3/,
  })
})

t.test('replay says so when a segment rots after it was opened', async (t) => {
  const layer = new MemoryFileLayer()
  const wal = await openTestWal(layer)
  for (const text of ['a', 'b', 'c']) await wal.append(rowsEntry(text))
  const rotten = flipped(layer.files(), firstSegment, 32 + 56 + 10, 1).get(firstSegment)
  layer.put(firstSegment, rotten ?? Buffer.alloc(0))
  t.match(await failureOf(readAll(wal)), { damages: [{ file: firstSegment, firstLost: 2, reason: 'header-checksum' }] })
})

t.test('a second accident is kept aside beside the first', async (t) => {
  const files = flipped(await smallLog('closed'), firstSegment, 40, 1)
  const layer = new MemoryFileLayer(files)
  await openTestWal(layer, { onDamage: 'keep-aside' })
  const again = flipped(layer.files(), firstSegment, (layer.files().get(firstSegment)?.length ?? 0) - 1, 1)
  const wal = await openTestWal(new MemoryFileLayer(again), { onDamage: 'keep-aside' })
  t.same(wal.recovery.keptAside, [`${firstSegment}.corrupt-2`])
  t.same(wal.recovery.lostRanges, [
    { first: 1, last: 1 },
    { first: 5, last: 5 },
  ])
  t.same(await readTexts(wal), ['1:\u0001', '2:', '3:gamma', '4:delta', '5:\u0005'])
})
