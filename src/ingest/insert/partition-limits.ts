/**
 * How many partitions the rows of one body may be of, and how many a table may have: each is a part of its own, which costs
 * the engine milliseconds when it is written, and again at every start.
 *
 * The engine itself refuses a block of too many partitions, which costs nothing. Partitions are only looked at where the
 * bounds could be passed otherwise: the table is nearly full, or has so many that several blocks of a body could be of more
 * than a body may.
 */

import type { AppendRequest, PartitionBound } from '../../store/store.types.ts'
import type { Partitions } from '../../store/tables.types.ts'

export interface PartitionLimitOptions {
  readonly partitionsPerBodyMax: number
  readonly partitionsMax: number
}

export type PartitionScope = 'body' | 'table'

/** Rows are of more partitions than they may be; nothing of them was inserted. */
export class PartitionsExceededError extends Error {
  override readonly name = 'PartitionsExceededError'
  readonly scope: PartitionScope
  readonly partitionsMax: number
  /** The partitions, as texts, that may be inserted. */
  readonly allowed: ReadonlySet<string>

  constructor(scope: PartitionScope, partitionsMax: number, allowed: ReadonlySet<string>) {
    super(`the rows are of more partitions than the ${partitionsMax} that a ${scope} may have`)
    this.scope = scope
    this.partitionsMax = partitionsMax
    this.allowed = allowed
  }
}

export class PartitionLimits {
  readonly #partitions: Pick<Partitions, 'list'>
  readonly #options: PartitionLimitOptions
  /** Partitions, by table, that may come to be before the table is looked at again. */
  readonly #deps = new Map<string, number>()

  constructor(partitions: Pick<Partitions, 'list'>, options: PartitionLimitOptions) {
    this.#partitions = partitions
    this.#options = options
  }

  /** For the blocks of one body, or for one block of events, that go into `table`. */
  bodyOf(table: string): BodyPartitions {
    return new BodyPartitions(this.#options, {
      known: () => this.#partitionsOf(table),
      takeRoom: (partitionsMax) => this.#takeRoom(table, partitionsMax),
    })
  }

  /** Null when so many partitions more are fine; else those that the table has. */
  async #takeRoom(table: string, partitionsMax: number): Promise<ReadonlySet<string> | null> {
    const room = this.#deps.get(table) ?? 0
    if (room >= partitionsMax) {
      this.#deps.set(table, room - partitionsMax)
      return null
    }
    const known = await this.#partitionsOf(table)
    const found = this.#options.partitionsMax - known.size
    this.#deps.set(table, Math.max(0, found - partitionsMax))
    return found >= partitionsMax ? null : known
  }

  async #partitionsOf(table: string): Promise<ReadonlySet<string>> {
    return new Set((await this.#partitions.list(table)).map(({ text }) => text))
  }
}

type Bounded = Pick<AppendRequest, 'insertPartitionsMax' | 'partition'>

interface TablePartitions {
  readonly known: () => Promise<ReadonlySet<string>>
  readonly takeRoom: (partitionsMax: number) => Promise<ReadonlySet<string> | null>
}

/** What is known of the partitions of one body. */
export class BodyPartitions {
  readonly #options: PartitionLimitOptions
  readonly #table: TablePartitions
  /** Those that its blocks were of, as far as they were looked at. */
  readonly #seen = new Set<string>()
  /** Those that the table had before. */
  #before: Promise<number> | null = null
  #rowCount = 0

  constructor(options: PartitionLimitOptions, table: TablePartitions) {
    this.#options = options
    this.#table = table
  }

  /** Bounds for a block that is one INSERT, whatever partitions it is of. */
  async boundInsert(partition: PartitionBound | undefined, rowCount: number): Promise<Bounded> {
    if (partition === undefined) return {}
    this.#before ??= this.#table.known().then(({ size }) => size)
    await this.#before
    const { partitionsPerBodyMax: insertPartitionsMax } = this.#options
    const known = await this.#table.takeRoom(Math.min(rowCount, insertPartitionsMax))
    if (known === null) return { insertPartitionsMax }
    const judge = (names: readonly string[]): void => this.#judge(names, known)
    const looked = { ...partition, partitionsMax: Number.MAX_SAFE_INTEGER, looksAlways: true, judge }
    return { insertPartitionsMax, partition: looked }
  }

  /** Bounds for a block that is cut by partitions anyway, and looked at for that. */
  async boundCut(partition: PartitionBound | undefined, rowCount: number): Promise<Bounded> {
    if (partition === undefined) return {}
    const known = await this.#table.takeRoom(Math.min(rowCount, this.#options.partitionsPerBodyMax))
    const judge = (names: readonly string[]): void => this.#judge(names, known)
    return { partition: { ...partition, looksAlways: known !== null, judge } }
  }

  /**
   * Counts what the blocks of a body have added by now, each of which the engine bounded by itself.
   * @throws PartitionsExceededError when it is more than a body may.
   */
  async checkAdded(rowCount: number): Promise<void> {
    const { partitionsPerBodyMax } = this.#options
    this.#rowCount += rowCount
    if (this.#before === null || this.#rowCount <= partitionsPerBodyMax) return
    const known = await this.#table.known()
    if (known.size - (await this.#before) <= partitionsPerBodyMax) return
    throw new PartitionsExceededError('body', partitionsPerBodyMax, new Set())
  }

  #judge(names: readonly string[], known: ReadonlySet<string> | null): void {
    const { partitionsPerBodyMax, partitionsMax } = this.#options
    const all = new Set([...this.#seen, ...names])
    if (all.size > partitionsPerBodyMax) {
      throw new PartitionsExceededError('body', partitionsPerBodyMax, new Set([...all].slice(0, partitionsPerBodyMax)))
    }
    if (known !== null) {
      const fresh = names.filter((name) => !known.has(partitionText(name)))
      const room = Math.max(0, partitionsMax - known.size)
      if (fresh.length > room) {
        const refused = new Set(fresh.slice(room))
        throw new PartitionsExceededError('table', partitionsMax, new Set(names.filter((name) => !refused.has(name))))
      }
    }
    for (const name of names) this.#seen.add(name)
  }
}

/** A partition as `system.parts` has it, of the text of its value in a tuple: a key of one text stands there bare. */
function partitionText(name: string): string {
  const inner = name.slice(1, -1)
  if (!inner.startsWith("'")) return inner
  return inner.slice(1, -1).replaceAll(/\\(.)/g, '$1')
}
