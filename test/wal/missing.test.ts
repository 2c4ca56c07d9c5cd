import t from 'tap'
import { readMark } from '../../src/wal/log-mark.ts'
import { toSequence } from '../../src/wal/sequence.ts'
import type { Wal } from '../../src/wal/wal.ts'
import { WalCorruptError } from '../../src/wal/wal-errors.ts'
import { MemoryFileLayer } from '../support/wal/memory-file-layer.ts'
import { failureOf, openTestWal, readTexts, rowsEntry } from '../support/wal/test-wal.ts'

type Files = Map<string, Buffer>

const names = [1, 3, 4, 5].map((first) => `${String(first).padStart(20, '0')}.wal`)
const [firstName = '', secondName = ''] = names
const wholeLog = ['1:alpha', '2:', '3:gamma', '4:delta', '5:epsilon']
const waitingRows = () => 5

/** The mark is written beside the appends. */
async function untilMarked(layer: MemoryFileLayer, wal: Wal, settled = 1): Promise<void> {
  for (;;) {
    const mark = await readMark(layer, '/log-mark')
    if (mark?.next === wal.stats().nextSequence && mark.settled === settled) return
    await new Promise((resolve) => setImmediate(resolve))
  }
}

/** Five entries in four segments, of a process that was killed a moment later; the first so many of them are stored. */
async function killedLog(storedCount = 0): Promise<Files> {
  const layer = new MemoryFileLayer()
  const wal = await openTestWal(layer, { segmentBytesMax: 150, waitingRows })
  for (const text of ['alpha', '', 'gamma', 'delta', 'epsilon']) await wal.append(rowsEntry(text))
  wal.settle(toSequence(storedCount + 1))
  await untilMarked(layer, wal, storedCount + 1)
  return layer.files()
}

const without = (files: Files, ...gone: readonly string[]): Files =>
  new Map([...files].filter(([name]) => !gone.includes(name)))
const changed = (files: Files, name: string, change: (content: Buffer) => Buffer): Files =>
  new Map([...files, [name, change(Buffer.from(files.get(name) ?? Buffer.alloc(0)))]])

const accidents: readonly {
  readonly what: string
  readonly change: (files: Files) => Files
  readonly code: 'damaged' | 'missing'
  /** Entries that are lost, when the log goes on without them. */
  readonly lost: readonly number[]
  readonly message: RegExp
}[] = [
  {
    what: 'the whole log is deleted',
    change: (files) => without(files, 'checkpoint', ...names),
    code: 'missing',
    lost: [1, 2, 3, 4, 5],
    message: /0001\.wal is gone, and with it the entries 1 to 5; at most 5 rows waited/,
  },
  {
    what: 'all segments are deleted',
    change: (files) => without(files, ...names),
    code: 'missing',
    lost: [1, 2, 3, 4, 5],
    message: /entries 1 to 5; at most 5 rows waited/,
  },
  {
    what: 'the first segment is deleted',
    change: (files) => without(files, firstName),
    code: 'missing',
    lost: [1, 2],
    message: /0001\.wal is gone, and with it the entries 1 to 2/,
  },
  {
    what: 'a segment between is deleted',
    change: (files) => without(files, secondName),
    code: 'damaged',
    lost: [3],
    message: /0001\.wal at byte .*entry 3 is missing/,
  },
  {
    what: 'the last segment is deleted',
    change: (files) => without(files, names[3] ?? ''),
    code: 'damaged',
    lost: [5],
    message: /0004\.wal at byte .*entry 5 is missing/,
  },
  ...names.map((name, index) => ({
    what: `${name} is emptied`,
    change: (files: Files) => changed(files, name, () => Buffer.alloc(0)),
    code: 'damaged' as const,
    lost: [[1, 2], [3], [4], [5]][index] ?? [],
    message: new RegExp(`${name} at byte 0 \\(segment-header\\)`),
  })),
  ...names.map((name, index) => ({
    what: `the last byte of ${name} is cut off`,
    change: (files: Files) => changed(files, name, (content) => content.subarray(0, -1)),
    code: 'damaged' as const,
    lost: [[2], [3], [4], [5]][index] ?? [],
    message: new RegExp(`${name} at byte \\d+ \\(`),
  })),
  ...names.map((name, index) => ({
    what: `${name} ends behind its header`,
    change: (files: Files) => changed(files, name, (content) => content.subarray(0, 32)),
    code: 'damaged' as const,
    lost: [[1, 2], [3], [4], [5]][index] ?? [],
    message: new RegExp(`${name} at byte 32`),
  })),
  {
    what: 'all files of the log are emptied',
    change: (files) =>
      new Map([...files].map(([name, content]) => [name, name === 'log-mark' ? content : Buffer.alloc(0)])),
    code: 'damaged',
    lost: [1, 2, 3, 4, 5],
    message: /0001\.wal at byte 0/,
  },
  {
    what: "two segments have each other's content",
    change: (files) =>
      new Map([
        ...files,
        [firstName, files.get(secondName) ?? Buffer.alloc(0)],
        [secondName, files.get(firstName) ?? Buffer.alloc(0)],
      ]),
    code: 'damaged',
    lost: [1, 2, 3],
    message: /0001\.wal at byte 0 .*0003\.wal at byte 0/,
  },
]

for (const { what, change, code, lost, message } of accidents) {
  t.test(
    `${what}: a start says so, changes nothing, and goes on without what is lost when it is told to`,
    async (t) => {
      const files = change(await killedLog())
      const layer = new MemoryFileLayer(files)
      const failure = await failureOf(openTestWal(layer))
      t.type(failure, WalCorruptError)
      t.match(failure, { message, isMissing: code === 'missing' })
      t.same(layer.files(), files)
      const again = await openTestWal(layer, { onDamage: 'keep-aside' })
      t.same(
        again.recovery.lostRanges.flatMap(({ first, last }) =>
          Array.from({ length: last - first + 1 }, (_, i) => first + i),
        ),
        lost,
      )
      t.same(
        (await readTexts(again)).filter((text) => wholeLog.includes(text)),
        wholeLog.filter((_, index) => !lost.includes(index + 1)),
      )
      t.equal(await again.append(rowsEntry('next')), 6, 'no sequence is used twice')
      await again.close()
      const third = await openTestWal(layer)
      t.same(third.recovery.harmlessLosses, [])
    },
  )
}

for (const gone of [names, [...names, 'checkpoint']]) {
  t.test(`a log that is gone with ${gone.length} files refuses no start when all that it had is stored`, async (t) => {
    const layer = new MemoryFileLayer(without(await killedLog(5), ...gone))
    const wal = await openTestWal(layer)
    t.match(wal.recovery.harmlessLosses.at(-1), { kind: 'stored-segments', first: 1, last: 5 })
    t.same(wal.recovery.lostRanges, [])
    t.equal(await wal.append(rowsEntry('next')), 6)
    const again = await openTestWal(new MemoryFileLayer(layer.files()))
    t.same(again.recovery.harmlessLosses, [])
    t.same(await readTexts(again), ['6:next'])
  })
}

t.test('a log that is gone refuses the start while one of its entries is not stored', async (t) => {
  const files = without(await killedLog(4), 'checkpoint', ...names)
  t.type(await failureOf(openTestWal(new MemoryFileLayer(files))), WalCorruptError)
})

t.test('the log of another data directory is not taken for the one that was there', async (t) => {
  const ours = await killedLog()
  const theirs = await killedLog()
  const swapped = new Map([...theirs, ['log-mark', ours.get('log-mark') ?? Buffer.alloc(0)]])
  t.match(await failureOf(openTestWal(new MemoryFileLayer(swapped))), {
    message: /log-mark belongs to another log, whose entries from 1 to 5 are gone/,
    isMissing: true,
  })
  const layer = new MemoryFileLayer(swapped)
  const wal = await openTestWal(layer, { onDamage: 'keep-aside' })
  t.same(await readTexts(wal), wholeLog)
  t.same((await openTestWal(new MemoryFileLayer(layer.files()))).recovery.damages, [])
})

t.test('a checkpoint of an earlier time costs nothing', async (t) => {
  const layer = new MemoryFileLayer()
  const wal = await openTestWal(layer, { segmentBytesMax: 150 })
  const early = layer.files().get('checkpoint') ?? Buffer.alloc(0)
  for (const text of ['a', 'b', 'c', 'd', 'e']) await wal.append(rowsEntry(text))
  await wal.release(toSequence(4))
  await untilMarked(layer, wal, 4)
  const again = await openTestWal(new MemoryFileLayer(new Map([...layer.files(), ['checkpoint', early]])))
  t.same(await readTexts(again), ['4:d', '5:e'])
})

t.test('a mark that is lost, torn or cannot be written costs nothing', async (t) => {
  const files = await killedLog()
  for (const [what, damaged] of [
    ['lost', without(files, 'log-mark')],
    ['emptied', changed(files, 'log-mark', () => Buffer.alloc(0))],
    ['cut', changed(files, 'log-mark', (content) => content.subarray(0, 30))],
    ['overwritten', changed(files, 'log-mark', (content) => content.fill(7))],
  ] as const) {
    const layer = new MemoryFileLayer(damaged)
    const wal = await openTestWal(layer)
    t.same(await readTexts(wal), wholeLog, what)
    t.match(await readMark(layer, '/log-mark'), { next: 6 }, 'it is written anew')
  }
  const layer = new MemoryFileLayer(files)
  const events: { kind: string }[] = []
  const wal = await openTestWal(layer, { onEvent: (event) => events.push(event) })
  layer.markFault = ({ kind }) => (kind === 'write' ? { code: 'ENOSPC' } : null)
  for (let entry = 0; entry < 3; entry += 1) await wal.append(rowsEntry('x'))
  while (events.length === 0) await new Promise((resolve) => setImmediate(resolve))
  layer.markFault = () => null
  await wal.append(rowsEntry('y'))
  await untilMarked(layer, wal)
  t.same(
    events.map(({ kind }) => kind),
    ['mark-failed'],
    'it is told once',
  )
})
