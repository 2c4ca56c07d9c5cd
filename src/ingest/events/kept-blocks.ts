/**
 * Blocks of events that are stored and stay in the log, because some view behind their data source has not got them yet.
 *
 * 1. Who keeps blocks of a data source (a *keeper*, such as a view that is behind) has a place in the log: all blocks from there on are
 *    kept. Nobody else notices: they are stored, answered and counted as always.
 * 2. The log forgets nothing of the data source from the first place on.
 */
import type { Sequence } from '../../wal/sequence.ts'
import { toSequence } from '../../wal/sequence.ts'
import type { NamedBlock } from '../insert/block.types.ts'

/** Of whom blocks of which data source are kept, and from where on. */
export interface KeptPlace {
  readonly keeper: string
  readonly dataSourceId: string
  readonly place: Sequence
}

export interface KeptCounts {
  readonly blockCount: number
  /** In the log. */
  readonly byteCount: number
}

/** Of all that is kept, in the log. */
export interface KeptSize {
  readonly bytes: number
  readonly bytesMax: number
}

export interface KeptBlocksOptions {
  /** In the log, of all that is kept; what is beyond it is told, and kept all the same until somebody lets go. */
  readonly bytesMax: number
  readonly onBeyond: () => void
}

export class KeptBlocks {
  readonly #options: KeptBlocksOptions
  readonly #places = new Map<string, KeptPlace>()
  /** By data source, in the order of the log. */
  readonly #blocks = new Map<string, NamedBlock[]>()
  #byteCount = 0

  constructor(options: KeptBlocksOptions) {
    this.#options = options
  }

  /** Keeps all blocks of a data source from a place on; those that are stored already are gone. */
  keep(place: KeptPlace): void {
    this.#places.set(place.keeper, place)
  }

  /** The keeper needs none any more. */
  letGo(keeper: string): void {
    const place = this.#places.get(keeper)
    this.#places.delete(keeper)
    if (place !== undefined) this.#trim(place.dataSourceId)
  }

  /** Blocks that an earlier process has stored and kept, in the order of the log. */
  recover(dataSourceId: string, blocks: readonly NamedBlock[]): void {
    this.#blocks.set(dataSourceId, [...blocks])
    this.#byteCount += bytesOf(blocks)
    this.#trim(dataSourceId)
  }

  /** A block is stored. */
  noteStored(dataSourceId: string, block: NamedBlock): void {
    if (this.#places.size === 0 || this.#firstOf(dataSourceId) === null) return
    const known = this.#blocks.get(dataSourceId)
    if (known === undefined) this.#blocks.set(dataSourceId, [block])
    else known.push(block)
    this.#byteCount += block.loggedBytes
    if (this.#byteCount > this.#options.bytesMax) this.#options.onBeyond()
  }

  placeOf(keeper: string): KeptPlace | undefined {
    return this.#places.get(keeper)
  }

  /** What is kept for a keeper, in the order of the log. */
  blocksOf(keeper: string): readonly NamedBlock[] {
    const place = this.#places.get(keeper)
    if (place === undefined) return []
    const blocks = this.#blocks.get(place.dataSourceId) ?? []
    return blocks.slice(beforeCount(blocks, place.place))
  }

  countsOf(keeper: string): KeptCounts {
    const blocks = this.blocksOf(keeper)
    return { blockCount: blocks.length, byteCount: bytesOf(blocks) }
  }

  /** Of all that is kept, in the log. */
  get size(): KeptSize {
    return { bytes: this.#byteCount, bytesMax: this.#options.bytesMax }
  }

  /** Where the log is needed from; null when nothing is kept. */
  first(): Sequence | null {
    let least: Sequence | null = null
    for (const { place } of this.#places.values()) if (least === null || place < least) least = place
    return least
  }

  /** By data source, where it is needed from, where that lies before `below`. */
  firstBefore(below: Sequence): ReadonlyMap<string, Sequence> {
    const firsts = new Map<string, Sequence>()
    for (const { dataSourceId } of this.#places.values()) {
      const first = this.#firstOf(dataSourceId)
      if (first !== null && first < below) firsts.set(dataSourceId, first)
    }
    return firsts
  }

  /** The keeper has the blocks before the place. */
  moveTo(keeper: string, place: Sequence): void {
    const known = this.#places.get(keeper)
    if (known === undefined) return
    this.#places.set(keeper, { ...known, place })
    this.#trim(known.dataSourceId)
  }

  #firstOf(dataSourceId: string): Sequence | null {
    let least: Sequence | null = null
    for (const one of this.#places.values()) {
      if (one.dataSourceId === dataSourceId && (least === null || one.place < least)) least = one.place
    }
    return least
  }

  #trim(dataSourceId: string): void {
    const first = this.#firstOf(dataSourceId)
    const blocks = this.#blocks.get(dataSourceId)
    if (blocks === undefined) return
    const count = first === null ? blocks.length : beforeCount(blocks, first)
    this.#byteCount -= bytesOf(blocks.splice(0, count))
    if (first === null) this.#blocks.delete(dataSourceId)
  }
}

/** The place behind a block. */
export function placeBehind({ sequences }: NamedBlock): Sequence {
  return toSequence((sequences.at(-1) ?? 0) + 1)
}

/** How many of the blocks end before the place. */
function beforeCount(blocks: readonly NamedBlock[], place: Sequence): number {
  const first = blocks.findIndex(({ sequences }) => (sequences.at(-1) ?? 0) >= place)
  return first < 0 ? blocks.length : first
}

function bytesOf(blocks: readonly NamedBlock[]): number {
  return blocks.reduce((total, { loggedBytes }) => total + loggedBytes, 0)
}
