import { tableFromIPC } from 'apache-arrow'
import t from 'tap'
import type { DataSource } from '../../src/catalog/data-source.types.ts'
import type { AppendRequest } from '../../src/store/store.types.ts'
import { StoreError } from '../../src/store/store-error.ts'
import { FakeStore, testDataSource } from '../support/ingest/fake-store.ts'
import { eventsOf, openTestIngest } from '../support/ingest/test-ingest.ts'
import { SeededRandom, testSeed } from '../support/seeded-random.ts'
import { byTier } from '../support/tier.ts'
import { MemoryFileLayer, type TraceEvent } from '../support/wal/memory-file-layer.ts'
import { cutModes, filesAfterCut } from '../support/wal/power-cut.ts'

/** Beside the files: the engine took a block, or had its files synced, or a sender was told that its event is on disk. */
type Mark =
  | { readonly kind: 'acknowledged'; readonly n: number }
  | { readonly kind: 'stored'; readonly token: string; readonly values: readonly number[] }
  /** For what was stored when so many things had happened. */
  | { readonly kind: 'synced'; readonly upTo: number }

const sources = [testDataSource('n UInt32'), testDataSource('n UInt32')]
/** Nothing of it is stored in the life that is recorded; it holds back the log, and others must not notice. */
const stuck = testDataSource('n UInt32')
const dataSources = [...sources, stuck]
const options = { eventsLogBytesMax: 16 * 2048, frameBytes: 1024, eventsWaitMaxMs: 60_000 }

/** Takes each block once by its token, as the engine does, and sometimes fails before or after it has. */
class TokenStore extends FakeStore {
  readonly tokens: Map<string, readonly number[]>
  readonly #files: MemoryFileLayer<Mark> | null
  readonly #random: SeededRandom | null

  constructor(
    tokens: Map<string, readonly number[]>,
    files: MemoryFileLayer<Mark> | null,
    random: SeededRandom | null,
  ) {
    super({ isOpen: true })
    this.tokens = tokens
    this.#files = files
    this.#random = random
  }

  override async sync(): Promise<void> {
    const upTo = this.#files?.trace.length ?? 0
    await new Promise((resolve) => setImmediate(resolve))
    this.#files?.mark({ kind: 'synced', upTo })
  }

  override async append(request: AppendRequest): Promise<void> {
    await new Promise((resolve) => setImmediate(resolve))
    const luck = this.#random?.below(8)
    const error = new StoreError({ kind: 'engine', message: 'out of luck', clickhouseCode: 243 })
    if (luck === 0 || (this.#random !== null && request.table === stuck.id)) throw error
    const token = `${request.table} ${request.blockId}`
    if (!this.tokens.has(token)) {
      const parts = request.parts.filter((part) => part instanceof Uint8Array)
      const values = parts.flatMap((part) => [...(tableFromIPC(part).getChild('__0') ?? [])].map(Number))
      this.tokens.set(token, values)
      this.#files?.mark({ kind: 'stored', token, values })
    }
    if (luck === 1) throw error
  }
}

/** One life of the service over a recorded disk: senders of both data sources, some of them waiting. */
async function record(random: SeededRandom): Promise<readonly TraceEvent<Mark>[]> {
  const files = new MemoryFileLayer<Mark>()
  const store = new TokenStore(new Map(), files, random)
  const ingest = await openTestIngest({ store, dataSources, files }, options)
  ingest.start()
  const sendAll = async (sender: number): Promise<void> => {
    const source = sender === 0 ? stuck : sources[sender % 2]
    if (source === undefined) throw new Error('there are two')
    for (let index = 0; index < (sender === 0 ? 12 : 30); index += 1) {
      const n = sender * 1000 + index
      const isWaiting = source !== stuck && random.below(3) === 0
      const more = { idempotencyKey: index % 3 === 0 ? null : `k${n}`, isWaiting }
      await ingest.appendEvents(eventsOf(source, `{"n":${n},"pad":"${'x'.repeat(random.below(300))}"}`, more))
      files.mark({ kind: 'acknowledged', n })
    }
  }
  await Promise.all([0, 1, 2, 3, 4, 5].map(sendAll))
  await ingest.close()
  return files.trace
}

async function drained(ingest: Awaited<ReturnType<typeof openTestIngest>>, source: DataSource): Promise<void> {
  while ((ingest.eventsStatus(source.id)?.waitingRows ?? 0) > 0) await new Promise((resolve) => setImmediate(resolve))
}

/** The blocks that the engine still has: all that it took, or, after a power cut, what was synced and some of the rest. */
function tokensAfter(before: readonly TraceEvent<Mark>[], powerCut: SeededRandom | null) {
  const marks = before.flatMap((event) => (event.kind === 'mark' ? [event.mark] : []))
  const synced = Math.max(0, ...marks.map((mark) => (mark.kind === 'synced' ? mark.upTo : 0)))
  const kept = before.filter((_, index) => powerCut === null || index < synced || powerCut.below(2) === 0)
  const stored = kept.flatMap((event) => (event.kind === 'mark' && event.mark.kind === 'stored' ? [event.mark] : []))
  return new Map(stored.map(({ token, values }) => [token, values]))
}

function filesAfter(before: readonly TraceEvent<Mark>[], powerCut: SeededRandom | null): MemoryFileLayer {
  if (powerCut === null) return MemoryFileLayer.afterKill<never>(before.filter((event) => event.kind !== 'mark'))
  const chance = { mode: powerCut.pick(cutModes), random: powerCut }
  return new MemoryFileLayer(filesAfterCut(new MemoryFileLayer().state(), before, chance))
}

t.test(
  'a process that is killed, or loses its power, at any step has stored each acknowledged event once after the next start',
  async (t) => {
    const seed = testSeed()
    t.comment(`SEED=${seed}`)
    const random = new SeededRandom(seed)
    const trace = await record(random)
    const kinds = new Set(trace.map(({ kind }) => kind))
    t.ok(kinds.has('unlink'), 'segments go while events come')
    const rewrites = trace.filter((event) => event.kind === 'rename' && event.from.endsWith('.compact')).length
    t.ok(rewrites > 0, `${rewrites} segments were written anew while one data source was stuck`)
    const rounds = byTier({ quick: 3, full: 10, soak: 1_000 })
    for (let round = 0; round < rounds; round += 1) {
      const powerCut = round % 2 === 0 ? null : random
      // One whole life is among them: its last blocks are in the engine, and perhaps nowhere else.
      const cut = round === 1 ? trace.length : random.below(trace.length)
      const before = trace.slice(0, cut)
      const tokens = tokensAfter(before, powerCut)
      const files = filesAfter(before, powerCut)
      const ingest = await openTestIngest({ store: new TokenStore(tokens, null, null), dataSources, files }, options)
      ingest.start()
      for (const source of dataSources) await drained(ingest, source)
      await ingest.close()
      const stored = new Set([...tokens.values()].flat())
      const acknowledged = before.flatMap((event) =>
        event.kind === 'mark' && event.mark.kind === 'acknowledged' ? [event.mark.n] : [],
      )
      const lost = acknowledged.filter((n) => !stored.has(n))
      const all = [...tokens.values()].flat()
      const doubled = all.filter((n, index) => all.indexOf(n) !== index)
      const what = `${powerCut === null ? 'killed' : 'power cut'} at ${cut} of ${trace.length}`
      t.strictSame({ lost, doubled }, { lost: [], doubled: [] }, what)
    }
  },
)
