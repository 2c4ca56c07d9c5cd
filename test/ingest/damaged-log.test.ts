import t from 'tap'
import type { DataSource } from '../../src/catalog/data-source.types.ts'
import type { Ingest } from '../../src/ingest/ingest.types.ts'
import { readMark } from '../../src/wal/log-mark.ts'
import { encodeSegmentHeader, parseSegmentName, readLogId, saltOf } from '../../src/wal/segment-format.ts'
import { SegmentReader } from '../../src/wal/segment-reader.ts'
import { testDataSource } from '../support/ingest/fake-store.ts'
import { eventsOf, openTestIngest } from '../support/ingest/test-ingest.ts'
import { TokenStore } from '../support/ingest/token-store.ts'
import { byTier } from '../support/tier.ts'
import { MemoryFileLayer } from '../support/wal/memory-file-layer.ts'

/** Each of its events is a block that the log calls stored, or that the engine has and the log does not know of yet. */
const stored = testDataSource('n UInt32')
/** Truncated between its events. */
const truncated = testDataSource('n UInt32')
/** Its blocks are named, and none of them is stored. */
const named = testDataSource('n UInt32')
/** Waits since the first entry of the log, so that nothing is released. */
const stuck = testDataSource('n UInt32')
const dataSources = [stored, truncated, named, stuck]
const options = { eventsFlushIdleMs: 1, eventsFlushAgeMs: 1, eventsWaitMaxMs: 60_000 }

interface Disk {
  readonly files: Map<string, Buffer>
  readonly tokens: ReadonlyMap<string, readonly number[]>
  /** Acknowledged, and not truncated since. */
  readonly values: readonly number[]
}

interface FoundEntry {
  readonly file: string
  readonly offset: number
  readonly byteCount: number
  readonly kind: string
  /** What its rows are, when it has some. */
  readonly values: readonly number[]
}

/** Two lives of the service: one that closed, and one that was killed a moment after its last answer. */
async function record(): Promise<Disk> {
  const files = new MemoryFileLayer()
  const store = new TokenStore()
  store.failing.add(stuck.id)
  const values = new Set<number>()
  let next = 0
  const send = async (ingest: Ingest, source: DataSource, isWaiting: boolean): Promise<void> => {
    const some = [next + 1, next + 2]
    next += 2
    await ingest.appendEvents(eventsOf(source, some.map((n) => `{"n":${n}}`).join('\n'), { isWaiting }))
    for (const n of some) values.add(n)
  }
  const truncate = (ingest: Ingest): Promise<void> =>
    ingest.withBarrier({ dataSource: truncated, isFinal: false }, async () => {
      for (const [token, some] of store.tokens)
        if (token.startsWith(truncated.id)) for (const n of some) values.delete(n)
      store.truncate(truncated.id)
    })

  const first = await openTestIngest({ store, dataSources, files }, options)
  first.start()
  await send(first, stuck, false)
  for (const source of [stored, truncated]) await send(first, source, true)
  await truncate(first)
  await send(first, truncated, true)
  await first.close()

  const second = await openTestIngest({ store, dataSources, files }, options)
  second.start()
  for (const source of [stored, truncated]) await send(second, source, true)
  await truncate(second)
  for (const source of [truncated, stored]) await send(second, source, true)
  store.failing.add(named.id)
  for (let round = 0; round < 3; round += 1) await send(second, named, false)
  await Promise.all([0, 1, 2].map(() => send(second, stuck, false)))
  // The first events of each are named when their insert has failed once.
  while (second.eventsStatus(named.id)?.failure === null) await turn()
  await untilMarked(files)
  const disk = { files: files.files(), tokens: new Map(store.tokens), values: [...values] }
  await second.close()
  return disk
}

/** The mark is written beside the appends; nothing was released, so the log has all entries from the first. */
async function untilMarked(files: MemoryFileLayer): Promise<void> {
  for (;;) {
    const mark = await readMark(files, '/data/log-mark')
    if (mark?.next === (await entriesOf(files.files())).length + 1) return
    await turn()
  }
}

function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}

async function entriesOf(files: Map<string, Buffer>): Promise<readonly FoundEntry[]> {
  const layer = new MemoryFileLayer(files)
  const found: FoundEntry[] = []
  for (const [name, content] of files) {
    const first = parseSegmentName(name)
    const logId = first === null ? null : readLogId(content.subarray(0, 32), name)
    if (first === null || logId === null) continue
    const salt = saltOf(encodeSegmentHeader(logId, first))
    const range = { name, salt, offset: 32, sequence: first, end: content.length, until: Number.POSITIVE_INFINITY }
    const reader = new SegmentReader(await layer.open(name, 'read'), range)
    for (const { header, offset, payload } of await reader.nextEntries()) {
      const { headerBytes, payloadBytes, kind = '' } = header
      const texts = kind === 'rows' ? payload.toString().split('\n') : []
      const values = texts.map((text) => Number(/\d+/.exec(text)?.[0]))
      found.push({ file: name, offset, byteCount: headerBytes + payloadBytes, kind, values })
    }
  }
  return found
}

/** Opens what is left of a disk, and gives an account of all rows when everything is stored that can be. */
async function account(disk: Disk, files: Map<string, Buffer>) {
  const store = new TokenStore(disk.tokens)
  const more = { ...options, eventsLogOnDamage: 'keep-aside' } as const
  const ingest = await openTestIngest({ store, dataSources, files: new MemoryFileLayer(files) }, more)
  ingest.start()
  let next = 1_000
  for (const dataSource of dataSources) {
    // As before a truncate, an alter or a replace: they pass only when nothing waits.
    await ingest.withBarrier({ dataSource, isFinal: false }, turn)
    await ingest.withHold([dataSource], turn)
    next += 1
    await ingest.appendEvents(eventsOf(dataSource, `{"n":${next}}`, { isWaiting: true }))
  }
  await ingest.close()
  const all = store.values()
  const lost = [...disk.values, 1001, 1002, 1003, 1004].filter((n) => !all.includes(n))
  const known = new Set([...disk.values, 1001, 1002, 1003, 1004])
  const unexpected = all.filter((n, index) => all.indexOf(n) !== index || !known.has(n))
  return { lost, unexpected }
}

t.test('one damaged entry of the log costs its own rows at most, and blocks no data source', async (t) => {
  const disk = await record()
  t.same(await account(disk, disk.files), { lost: [], unexpected: [] })
  const entries = await entriesOf(disk.files)
  t.same([...new Set(entries.map(({ kind }) => kind))].sort(), ['barrier', 'blockName', 'rows', 'stored'])
  const step = byTier({ quick: 10, full: 3, soak: 1 })
  for (const [index, entry] of entries.entries()) {
    if (index % step !== 0) continue
    const { file, offset, byteCount, kind, values } = entry
    const [part, at] = index % 2 === 0 ? ['header', offset + 20] : ['payload', offset + byteCount - 1]
    const content = Buffer.from(disk.files.get(file) ?? Buffer.alloc(0))
    content[at] = (content[at] ?? 0) ^ 0x10
    const what = `${part} of entry ${index + 1} (${kind})`
    const { lost, unexpected } = await account(disk, new Map([...disk.files, [file, content]]))
    t.same({ lost: lost.filter((n) => !values.includes(n)), unexpected }, { lost: [], unexpected: [] }, what)
  }
})
