import { tableFromIPC } from 'apache-arrow'
import t from 'tap'
import type { DataSource } from '../../src/catalog/data-source.types.ts'
import type { AppendRequest } from '../../src/store/store.types.ts'
import { StoreError } from '../../src/store/store-error.ts'
import { SeededRandom, testSeed } from '../support/seeded-random.ts'
import { MemoryFileLayer, type TraceEvent } from '../wal/memory-file-layer.ts'
import { FakeStore, testDataSource } from './fake-store.ts'
import { eventsOf, openTestIngest } from './test-ingest.ts'

/** What happened beside the files: the engine took a block, or a sender was told that its event is on disk. */
type Mark =
  | { readonly kind: 'acknowledged'; readonly n: number }
  | { readonly kind: 'stored'; readonly token: string; readonly values: readonly number[] }

const sources = [testDataSource('n UInt32'), testDataSource('n UInt32')]
const options = { eventsLogBytesMax: 16 * 2048, frameBytes: 1024, eventsWaitMaxMs: 60_000 }

/** Takes each block once by its token, as the engine does, and sometimes fails before or after it has. */
class TokenStore extends FakeStore {
  readonly tokens: Map<string, readonly number[]>
  private readonly onStored: (mark: Mark) => void
  private readonly random: SeededRandom | null

  constructor(tokens: Map<string, readonly number[]>, onStored: (mark: Mark) => void, random: SeededRandom | null) {
    super({ isOpen: true })
    this.tokens = tokens
    this.onStored = onStored
    this.random = random
  }

  override async append(request: AppendRequest): Promise<void> {
    await new Promise((resolve) => setImmediate(resolve))
    const luck = this.random?.below(8)
    const error = new StoreError({ kind: 'engine', message: 'out of luck', clickhouseCode: 243 })
    if (luck === 0) throw error
    const token = `${request.table} ${request.blockId}`
    if (!this.tokens.has(token)) {
      const parts = request.parts.filter((part) => part instanceof Uint8Array)
      const values = parts.flatMap((part) => [...(tableFromIPC(part).getChild('__0') ?? [])].map(Number))
      this.tokens.set(token, values)
      this.onStored({ kind: 'stored', token, values })
    }
    if (luck === 1) throw error
  }
}

/** One life of the service over a recorded disk: senders of both data sources, some of them waiting. */
async function record(random: SeededRandom): Promise<readonly TraceEvent<Mark>[]> {
  const files = new MemoryFileLayer<Mark>()
  const store = new TokenStore(new Map(), (mark) => files.mark(mark), random)
  const ingest = await openTestIngest({ store, dataSources: sources, files }, options)
  ingest.start()
  const sendAll = async (sender: number): Promise<void> => {
    for (let index = 0; index < 20; index += 1) {
      const n = sender * 1000 + index
      const source = sources[sender % 2]
      if (source === undefined) throw new Error('there are two')
      const more = { idempotencyKey: index % 3 === 0 ? null : `k${n}`, isWaiting: random.below(3) === 0 }
      await ingest.appendEvents(eventsOf(source, `{"n":${n},"pad":"${'x'.repeat(random.below(300))}"}`, more))
      files.mark({ kind: 'acknowledged', n })
    }
  }
  await Promise.all([1, 2, 3, 4, 5].map(sendAll))
  await ingest.close()
  return files.trace
}

async function drained(ingest: Awaited<ReturnType<typeof openTestIngest>>, source: DataSource): Promise<void> {
  while ((ingest.eventsStatus(source.id)?.waitingRows ?? 0) > 0) await new Promise((resolve) => setImmediate(resolve))
}

t.test(
  'a process that is killed at any step has stored each acknowledged event once after the next start',
  async (t) => {
    const seed = testSeed()
    t.comment(`SEED=${seed}`)
    const random = new SeededRandom(seed)
    const trace = await record(random)
    const kinds = new Set(trace.map(({ kind }) => kind))
    t.ok(kinds.has('unlink'), 'segments go while events come')
    for (let round = 0; round < 24; round += 1) {
      const cut = random.below(trace.length)
      const before = trace.slice(0, cut)
      const marks = before.flatMap((event) => (event.kind === 'mark' ? [event.mark] : []))
      const tokens = new Map(
        marks.flatMap((mark) => (mark.kind === 'stored' ? [[mark.token, mark.values] as const] : [])),
      )
      const store = new TokenStore(tokens, () => undefined, null)
      const ingest = await openTestIngest(
        { store, dataSources: sources, files: MemoryFileLayer.afterKill(before) },
        options,
      )
      ingest.start()
      for (const source of sources) await drained(ingest, source)
      await ingest.close()
      const stored = [...tokens.values()].flat()
      const lost = marks.flatMap((mark) => (mark.kind === 'acknowledged' && !stored.includes(mark.n) ? [mark.n] : []))
      const doubled = stored.filter((n, index) => stored.indexOf(n) !== index)
      t.strictSame({ lost, doubled }, { lost: [], doubled: [] }, `cut at ${cut} of ${trace.length}`)
    }
  },
)
