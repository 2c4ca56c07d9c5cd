import t from 'tap'
import {
  bookkeepingEntry,
  encodeBarrier,
  encodeBlockName,
  encodeNotes,
  encodeStored,
} from '../../src/wal/entry-payloads.ts'
import { type Sequence, toSequence } from '../../src/wal/sequence.ts'
import type { Wal } from '../../src/wal/wal.ts'
import type { WalEntry } from '../../src/wal/wal.types.ts'
import { SeededRandom, testSeed } from '../support/seeded-random.ts'
import { byTier } from '../support/tier.ts'
import { type FileCall, MemoryFileLayer, type TraceEvent } from '../support/wal/memory-file-layer.ts'
import { cutModes, filesAfterCut } from '../support/wal/power-cut.ts'
import { openTestWal, readAll, rowsEntry } from '../support/wal/test-wal.ts'

const atMs = 1_700_000_000_000
const blockName = (stream: string, blockId: string, sequences: readonly Sequence[]) =>
  bookkeepingEntry({
    kind: 'blockName',
    stream,
    atMs,
    payload: encodeBlockName({ blockId, sequences, setAside: [], beyond: [] }),
  })
const stored = (stream: string, blockId: string, last: Sequence | null = null) =>
  bookkeepingEntry({
    kind: 'stored',
    stream,
    atMs,
    payload: encodeStored({ blockId, last, rowCount: 1, quarantinedRowCount: 0 }),
  })
const barrier = (stream: string, generation: number) =>
  bookkeepingEntry({ kind: 'barrier', stream, atMs, payload: encodeBarrier({ generation, isFinal: false }) })
const note = (stream: string) =>
  bookkeepingEntry({
    kind: 'note',
    stream,
    atMs,
    payload: encodeNotes([
      { key: Buffer.alloc(24, 1), expiresAtMs: atMs, status: 202, rowCount: 1, quarantinedRowCount: 0 },
    ]),
  })
const row = (stream: string, size: number, fill = 65) => rowsEntry(Buffer.alloc(size, fill), { stream })

const textOf = ({ sequence, kind, stream, payload }: WalEntry): string =>
  `${sequence} ${kind} ${stream} ${payload.length} ${payload[0] ?? ''}`
const textsOf = async (wal: Wal, from?: Sequence) => (await readAll(wal, from)).map(textOf)
const segmentsOf = (files: MemoryFileLayer<unknown>) =>
  [...files.files().keys()].filter((name) => name.endsWith('.wal'))

async function compactAll(wal: Wal, firstNeeded: ReadonlyMap<string, Sequence>): Promise<number | null> {
  const below = wal.boundaryBefore(0)
  if (below === null) throw new Error('there is a segment')
  return await wal.compact({ below, firstNeeded, atMs })
}

t.test('a compaction keeps what a stream still needs, in its place, and nothing of the others', async (t) => {
  const files = new MemoryFileLayer()
  const wal = await openTestWal(files, { segmentBytesMax: 4096 })
  await wal.append(row('stuck', 10))
  const first = await wal.append(row('stuck', 20))
  await wal.appendBatch([row('well', 1900), row('stuck', 30), note('stuck'), row('well', 1800)])
  await wal.append(blockName('well', 'w1', [toSequence(3), toSequence(6)]))
  await wal.append(blockName('stuck', 's1', [toSequence(1)]))
  await wal.append(blockName('stuck', 's2', [first]))
  await wal.append(barrier('well', 1))
  await wal.append(stored('well', 'w1'))
  await wal.append(row('gone', 3900))
  const last = await wal.append(row('well', 3800))
  t.equal(segmentsOf(files).length, 5)
  const bytesBefore = wal.stats().totalBytes
  const freedBytes = await compactAll(wal, new Map([['stuck', first]]))
  const kept = ['2 rows stuck 20 65', '4 rows stuck 30 65', `5 note stuck 36 1`, '9 blockName stuck 6 2']
  const all = await textsOf(wal)
  t.same(all.slice(0, 4), kept)
  t.match(all.slice(4), [`${last} rows well 3800 65`, /settled/, /settled/])
  t.equal(segmentsOf(files).length, 2, 'small ones are joined')
  t.ok((freedBytes ?? 0) > 7000)
  t.ok(wal.stats().totalBytes < bytesBefore - 7000)
  t.equal(wal.generationOf('well'), 1)
  t.equal(
    await wal.compact({ below: last, firstNeeded: new Map([['stuck', first]]), atMs }),
    null,
    'nothing more to gain',
  )
  const { nextSequence } = wal.stats()
  await wal.close()
  const again = await openTestWal(files)
  t.same(await textsOf(again), all)
  t.equal(again.stats().nextSequence, nextSequence)
  t.equal(again.generationOf('well'), 1)
  t.same(again.recovery.damages, [])
  await again.release(nextSequence)
  t.equal(segmentsOf(files).length, 0)
  await again.close()
})

t.test('one event a segment makes no file a segment, and what becomes free later is cut out later', async (t) => {
  const files = new MemoryFileLayer()
  const wal = await openTestWal(files)
  const firstNeeded = new Map<string, Sequence>()
  for (let round = 0; round < 60; round += 1) {
    const sequence = await wal.append(row(round < 2 ? 'early' : 'stuck', 60, round))
    if (!firstNeeded.has(round < 2 ? 'early' : 'stuck')) firstNeeded.set(round < 2 ? 'early' : 'stuck', sequence)
    await wal.append(row('well', 1800))
    await compactAll(wal, firstNeeded).catch(() => null)
  }
  t.ok(segmentsOf(files).length < 40, `${segmentsOf(files).length} files`)
  const rows = (await readAll(wal)).filter(({ kind, stream }) => kind === 'rows' && stream !== 'well')
  t.same(
    rows.map(({ payload }) => payload[0]),
    Array.from({ length: 60 }, (_, round) => round),
  )
  const { totalBytes } = wal.stats()
  firstNeeded.set('stuck', rows[40]?.sequence ?? toSequence(1))
  t.ok(((await compactAll(wal, firstNeeded)) ?? 0) > 1000, 'most of what is not needed any more')
  t.ok(wal.stats().totalBytes < totalBytes)
  await wal.close()
})

t.test('a segment of which little would become free stays as it is, and what is large is copied whole', async (t) => {
  const files = new MemoryFileLayer()
  const wal = await openTestWal(files, {
    entryBytesMax: 3 * 1024 * 1024,
    pendingBytesMax: 8 * 1024 * 1024,
    totalBytesMax: 9e6,
  })
  const first = await wal.append(row('stuck', 1700))
  await wal.append(row('well', 100))
  await wal.appendBatch([row('stuck', 2_500_000, 7), row('well', 2_500_000)])
  await wal.append(row('well', 10))
  const before = files.files().get(segmentsOf(files)[0] ?? '')
  await compactAll(wal, new Map([['stuck', first]]))
  t.same(files.files().get(segmentsOf(files)[0] ?? ''), before)
  const again = await openTestWal(new MemoryFileLayer(files.files()), { entryBytesMax: 3 * 1024 * 1024 })
  const large = (await readAll(again)).find(({ payload }) => payload.length === 2_500_000)
  t.ok(large?.payload.every((byte) => byte === 7))
  t.ok(again.stats().totalBytes < 2_600_000)
  await wal.close()
})

t.test('who reads while segments are replaced reads on in what took their place', async (t) => {
  const files = new MemoryFileLayer()
  const wal = await openTestWal(files)
  for (let n = 0; n < 30; n += 1) await wal.append(row(n % 3 === 0 ? 'stuck' : 'well', 300, n))
  const found: (number | undefined)[] = []
  for await (const { stream, payload, sequence } of wal.replay()) {
    if (sequence === 2 || sequence === 14) {
      await compactAll(wal, new Map([['stuck', toSequence(sequence === 2 ? 1 : 13)]]))
    }
    if (stream === 'stuck' && sequence !== 1) found.push(payload[0])
  }
  t.same(found, [3, 6, 9, 12, 15, 18, 21, 24, 27])
  await wal.close()
})

t.test('of a block that is stored and needed all is kept, so that a start does not take it for another', async (t) => {
  const wal = await openTestWal(new MemoryFileLayer(), { segmentBytesMax: 4096 })
  const before = await wal.append(row('kept', 10))
  await wal.append(blockName('kept', 'k1', [before]))
  await wal.append(stored('kept', 'k1', before))
  const first = await wal.append(row('kept', 20))
  await wal.append(blockName('kept', 'k2', [first]))
  await wal.append(stored('kept', 'k2', first))
  await wal.append(row('well', 3900))
  await wal.append(row('well', 3800))
  await compactAll(wal, new Map([['kept', first]]))
  const kinds = (await readAll(wal)).map(({ kind, stream }) => `${kind} ${stream}`)
  t.same(kinds.slice(0, 3), ['rows kept', 'blockName kept', 'stored kept'])
  await wal.close()
})

t.test('a compaction that the disk fails changes nothing that is needed, and the next one works', async (t) => {
  for (let failing = 1; ; failing += 1) {
    const files = new MemoryFileLayer()
    const wal = await openTestWal(files)
    for (let n = 0; n < 30; n += 1) await wal.append(row(n % 9 === 0 ? 'stuck' : 'well', 300, n))
    let calls = 0
    const isOurs = ({ name, kind }: FileCall) =>
      (kind !== 'close' && name.endsWith('.compact')) || kind === 'unlink' || kind === 'sync-directory'
    files.fault = (call) => {
      if (!isOurs(call)) return null
      calls += 1
      return calls === failing ? { code: failing % 2 === 0 ? 'EIO' : 'ENOSPC' } : null
    }
    const firstNeeded = new Map([['stuck', toSequence(1)]])
    const outcome = await compactAll(wal, firstNeeded).catch((error: unknown) => error)
    const isOver = calls < failing
    files.fault = () => null
    await compactAll(wal, firstNeeded)
    const needed = async (log: Wal) =>
      (await readAll(log)).filter(({ stream }) => stream === 'stuck').map(({ payload }) => payload[0])
    t.same(await needed(wal), [0, 9, 18, 27], `call ${failing}: ${outcome instanceof Error ? outcome.message : 'fine'}`)
    const again = await openTestWal(new MemoryFileLayer(files.files()))
    t.same(await needed(again), [0, 9, 18, 27])
    await wal.close()
    if (isOver) return
  }
})

type Mark =
  | { readonly kind: 'acknowledged'; readonly sequence: Sequence; readonly stream: string; readonly text: string }
  /** Of the stream nothing before it is needed. */
  | { readonly kind: 'settled'; readonly firstNeeded: ReadonlyMap<string, Sequence>; readonly below: Sequence }

async function recordLife(random: SeededRandom): Promise<readonly TraceEvent<Mark>[]> {
  const files = new MemoryFileLayer<Mark>()
  const wal = await openTestWal(files)
  const firstNeeded = new Map<string, Sequence>()
  for (let round = 0; round < 90; round += 1) {
    const stream = random.pick(['stuck', 'slow', 'well', 'well', 'well'])
    const entry = row(stream, random.below(700), round)
    const sequence = await wal.append(entry)
    files.mark({ kind: 'acknowledged', sequence, stream, text: `rows ${stream} ${entry.payload.length} ${round}` })
    if (stream !== 'well' && !firstNeeded.has(stream)) firstNeeded.set(stream, sequence)
    if (random.below(8) === 0) firstNeeded.delete('slow')
    const below = wal.boundaryBefore(random.below(3000))
    if (below === null || random.below(6) !== 0) continue
    const needed = new Map([...firstNeeded].filter(([, first]) => first < below))
    files.mark({ kind: 'settled', firstNeeded: needed, below })
    await wal.compact({ below, firstNeeded: needed, atMs })
  }
  await wal.close()
  return files.trace
}

/** What a log that was opened again lacks of what had been acknowledged and is needed. */
async function missing(wal: Wal, events: readonly TraceEvent<Mark>[]): Promise<readonly string[]> {
  const marks = events.flatMap((event) => (event.kind === 'mark' ? [event.mark] : []))
  const settled = marks.filter((mark) => mark.kind === 'settled')
  const found = new Map(
    (await readAll(wal)).map(({ sequence, kind, stream, payload }) => [
      sequence,
      `${kind} ${stream} ${payload.length} ${payload[0] ?? ''}`,
    ]),
  )
  return marks.flatMap((mark) => {
    if (mark.kind === 'settled') return []
    const firsts = settled.map(({ firstNeeded, below }) => firstNeeded.get(mark.stream) ?? below)
    if (firsts.some((first) => mark.sequence < first)) return []
    const text = found.get(mark.sequence)
    const expected = mark.text.split(' ')
    // An empty payload has no first byte.
    const wanted = expected[2] === '0' ? [...expected.slice(0, 3), ''].join(' ') : mark.text
    return text === wanted ? [] : [`${mark.sequence}: ${text} instead of ${wanted}`]
  })
}

t.test('a log that is cut off at any point of its compactions has all that is needed', async (t) => {
  const seed = testSeed()
  t.comment(`SEED=${seed}`)
  const random = new SeededRandom(seed)
  const trace = await recordLife(random)
  const draftWrites = trace.filter((event) => event.kind === 'create' && event.name.endsWith('.compact')).length
  t.ok(draftWrites > 3, `${draftWrites} segments were written anew`)
  const faults: string[] = []
  const cutStep = byTier({ quick: 6, full: 2, soak: 1 })
  for (let cut = random.below(cutStep); cut <= trace.length; cut += cutStep) {
    const events = trace.slice(0, cut)
    {
      const mode = random.pick(cutModes)
      const files = filesAfterCut({ names: new Map(), inodes: new Map() }, events, { mode, random })
      const layer = new MemoryFileLayer(files)
      const wal = await openTestWal(layer)
      faults.push(...(await missing(wal, events)).map((fault) => `${mode} cut at ${cut}: ${fault}`))
      if ([...layer.files().keys()].some((name) => name.endsWith('.compact'))) faults.push(`a draft is left at ${cut}`)
      await wal.append(row('well', 10))
      await compactAll(
        wal,
        new Map([
          ['stuck', toSequence(1)],
          ['slow', toSequence(1)],
          ['well', toSequence(1)],
        ]),
      ).catch(() => null)
      const again = await openTestWal(new MemoryFileLayer(layer.files()))
      faults.push(...(await missing(again, events)).map((fault) => `${mode} cut at ${cut}, then once more: ${fault}`))
    }
  }
  t.comment(`${trace.length} operations, ${draftWrites} drafts`)
  t.same(faults.slice(0, 10), [])
})
