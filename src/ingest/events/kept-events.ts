/** Blocks of events that are kept for views which are behind, as those know them who look after the views; see `KeptBlocks`. */

import { type Sequence, toSequence } from '../../wal/sequence.ts'
import type { KeptEventsOfViews, RepeatedInto } from '../ingest.types.ts'
import type { BlockStore } from './block-store.ts'
import type { EventsByDataSource } from './events-by-data-source.ts'
import { type KeptBlocks, type KeptCounts, placeBehind } from './kept-blocks.ts'

interface KeptEventsDeps {
  readonly kept: KeptBlocks
  readonly sources: Pick<EventsByDataSource, 'find'>
  readonly blocks: Pick<BlockStore, 'repeat'>
  /** The sequence of the next entry of the log. */
  readonly nextSequence: () => Sequence
}

export class KeptEvents implements KeptEventsOfViews {
  readonly #deps: KeptEventsDeps
  /** Data sources of whose blocks damage took some that were kept. */
  readonly #withGaps = new Set<string>()

  constructor(deps: KeptEventsDeps) {
    this.#deps = deps
  }

  noteGaps(dataSourceId: string): void {
    this.#withGaps.add(dataSourceId)
  }

  async keep(keeper: string, dataSourceId: string): Promise<number> {
    const { kept, sources, nextSequence } = this.#deps
    // Whoever appended what is on disk hears of it before this, and counts it as outstanding.
    await new Promise<void>((resolve) => setImmediate(resolve))
    const place = sources.find(dataSourceId)?.firstOutstanding ?? nextSequence()
    kept.keep({ keeper, dataSourceId, place })
    return place
  }

  moveTo(keeper: string, place: number): void {
    this.#deps.kept.moveTo(keeper, toSequence(place))
  }

  letGo(keeper: string): void {
    this.#deps.kept.letGo(keeper)
  }

  countsOf(keeper: string): KeptCounts {
    return this.#deps.kept.countsOf(keeper)
  }

  hasGaps(keeper: string): boolean {
    const place = this.#deps.kept.placeOf(keeper)
    return place === undefined || this.#withGaps.has(place.dataSourceId)
  }

  async repeatFrom(place: number, into: RepeatedInto): Promise<number | null> {
    const { kept, blocks } = this.#deps
    const block = kept.blocksOf(into.keeper).find(({ sequences }) => (sequences.at(-1) ?? 0) >= place)
    if (block === undefined) return null
    await blocks.repeat(into.dataSource, block, into.table)
    return placeBehind(block)
  }
}
