/** Blocks of events that are kept for views which are behind, as those know them who look after the views; see `KeptBlocks`. */

import { assert } from '../../shared/assert.ts'
import { kibibyte } from '../../shared/bytes.ts'
import { type Sequence, toSequence } from '../../wal/sequence.ts'
import type { KeptEventsOfViews, RepeatedInto } from '../ingest.types.ts'
import type { NamedBlock } from '../insert/block.types.ts'
import type { RecordBody } from '../parse/record-body.ts'
import type { BlockStore } from './block-store.ts'
import type { EventsByDataSource } from './events-by-data-source.ts'
import { type KeptBlocks, type KeptCounts, type KeptSize, placeBehind } from './kept-blocks.ts'

/** Blocks whose bodies are read together, as each pass over the log costs more than most blocks. */
const loadedBlocksMax = 100
/** Bytes of them in the log, where they may be packed: what they unpack to is in memory. */
const loadedBytesMax = 256 * kibibyte

/** A view is set aside at the second failure, and blocks under way beside it may take this long to end. */
const passMsMax = 15_000

/** By block. */
type Bodies = ReadonlyMap<string, readonly RecordBody[]>

interface KeptEventsDeps {
  readonly kept: KeptBlocks
  readonly sources: Pick<EventsByDataSource, 'find'>
  readonly blocks: Pick<BlockStore, 'repeat'>
  /** Bodies out of the log. */
  readonly load: (sequences: readonly Sequence[]) => Promise<readonly RecordBody[]>
  /** The sequence of the next entry of the log. */
  readonly nextSequence: () => Sequence
}

export class KeptEvents implements KeptEventsOfViews {
  readonly #deps: KeptEventsDeps
  /** Data sources of whose blocks damage took some that were kept. */
  readonly #withGaps = new Set<string>()
  /** What was read for keepers that are being repeated to. */
  readonly #loaded = new Map<string, Bodies>()

  constructor(deps: KeptEventsDeps) {
    this.#deps = deps
  }

  get size(): KeptSize {
    return this.#deps.kept.size
  }

  noteGaps(dataSourceId: string): void {
    this.#withGaps.add(dataSourceId)
  }

  async keep(keeper: string, dataSourceId: string): Promise<number> {
    // Whoever appended what is on disk hears of it before this, and counts it as outstanding.
    await new Promise<void>((resolve) => setImmediate(resolve))
    const place = this.placeNow(dataSourceId)
    this.#deps.kept.keep({ keeper, dataSourceId, place })
    return place
  }

  keepFrom(keeper: string, dataSourceId: string, place: number): void {
    this.#deps.kept.keep({ keeper, dataSourceId, place: toSequence(place) })
  }

  placeNow(dataSourceId: string): Sequence {
    const { sources, nextSequence } = this.#deps
    return sources.find(dataSourceId)?.firstOutstanding ?? nextSequence()
  }

  async untilPassed(dataSourceId: string): Promise<void> {
    const events = this.#deps.sources.find(dataSourceId)
    const first = events?.firstOutstanding ?? null
    if (events?.status.failure?.kind !== 'view' || first === null) return
    await events.untilQueryable(first, passMsMax, new AbortController().signal)
  }

  nextPlace(keeper: string, from: number): number | null {
    return this.#deps.kept.blocksOf(keeper).find((one) => placeBehind(one) > from)?.sequences[0] ?? null
  }

  moveTo(keeper: string, place: number): void {
    this.#deps.kept.moveTo(keeper, toSequence(place))
  }

  letGo(keeper: string): void {
    this.#loaded.delete(keeper)
    this.#deps.kept.letGo(keeper)
  }

  countsOf(keeper: string): KeptCounts {
    return this.#deps.kept.countsOf(keeper)
  }

  hasGaps(keeper: string): boolean {
    const place = this.#deps.kept.placeOf(keeper)
    return place === undefined || this.#withGaps.has(place.dataSourceId)
  }

  async repeatFrom(place: number, { keeper, dataSource, table }: RepeatedInto): Promise<number | null> {
    const { kept, blocks } = this.#deps
    const all = kept.blocksOf(keeper)
    const first = all.findIndex((one) => placeBehind(one) > place)
    const block = all[first]
    if (block === undefined) {
      this.#loaded.delete(keeper)
      return null
    }
    const known = this.#loaded.get(keeper)?.get(block.blockId)
    const bodies = known ?? (await this.#load(keeper, all.slice(first, first + loadedBlocksMax))).get(block.blockId)
    assert(bodies !== undefined, 'the bodies of a block are loaded')
    await blocks.repeat({ dataSource, block, table }, bodies)
    return placeBehind(block)
  }

  /** The bodies of the first blocks, by one pass over the log. */
  async #load(keeper: string, blocks: readonly NamedBlock[]): Promise<Bodies> {
    const some: NamedBlock[] = []
    let byteCount = 0
    for (const block of blocks) {
      byteCount += block.loggedBytes
      if (some.length > 0 && byteCount > loadedBytesMax) break
      some.push(block)
    }
    const bodies = await this.#deps.load(some.flatMap(({ sequences }) => sequences))
    const loaded = new Map<string, readonly RecordBody[]>()
    let start = 0
    for (const { blockId, sequences } of some) {
      loaded.set(blockId, bodies.slice(start, start + sequences.length))
      start += sequences.length
    }
    this.#loaded.set(keeper, loaded)
    return loaded
  }
}
