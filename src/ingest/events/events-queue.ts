/**
 * The events of one data source that no block has yet, in the order of the log: batches in memory, and behind them a range
 * that is in the log alone and is read back when its time has come.
 *
 * 1. Every batch that is in memory is counted in the budget, and given back when its block is stored or it leaves memory.
 * 2. The range begins behind the last batch in memory: what comes while there is one joins it.
 */
import { assert } from '../../shared/assert.ts'
import type { Sequence } from '../../wal/sequence.ts'
import { toSequence } from '../../wal/sequence.ts'
import type { MemoryBudget } from '../memory-budget.ts'
import type { FlushRule, LoggedBatch, SequenceRange } from './events.types.ts'
import { FlushClock } from './flush-clock.ts'

interface EventsQueueDeps {
  readonly rule: FlushRule
  readonly budget: Pick<MemoryBudget, 'bytesMax' | 'give'>
  /** Milliseconds that never go back. */
  readonly clock: () => number
  /** Told when what has gathered is old enough, or the time of `wakeAt` has come. */
  readonly onTime: () => void
}

export class EventsQueue {
  readonly #deps: EventsQueueDeps
  readonly #flushClock: FlushClock
  #batches: LoggedBatch[] = []
  #rowCount = 0
  #heldBytes = 0
  #lastAdded = 0
  #behind: SequenceRange | null
  #epoch = 0

  /** `behind` is what an earlier process left in the log. */
  constructor(deps: EventsQueueDeps, behind: SequenceRange | null) {
    this.#deps = deps
    this.#behind = behind
    this.#flushClock = new FlushClock(deps.rule, deps.clock, deps.onTime)
  }

  /** Grows whenever batches leave memory: what was read from the log before then comes in no more. */
  get epoch(): number {
    return this.#epoch
  }

  /** What is in the log alone; null when all is in memory. */
  get behind(): SequenceRange | null {
    return this.#behind
  }

  /** The first entry that no block has, and the last; null when blocks have all. */
  get first(): Sequence | null {
    return this.#batches[0]?.sequences[0] ?? this.#behind?.first ?? null
  }

  get last(): Sequence | null {
    return this.#behind?.last ?? this.#batches.at(-1)?.sequences.at(-1) ?? null
  }

  /**
   * Takes what was just written into the log: into memory, if it may go there and nothing before it is in the log alone.
   * False when it is in the log alone too.
   */
  add(batch: LoggedBatch, mayHold: boolean): boolean {
    const first = firstOf(batch)
    const last = lastOf(batch)
    assert(first > this.#lastAdded, 'batches come in the order of the log')
    this.#lastAdded = last
    if (mayHold && this.#behind === null) {
      this.#hold(batch)
      return true
    }
    this.#deps.budget.give(batch.heldBytes)
    this.#fallBehind({ first, last })
    return false
  }

  /** Whether an entry that is read back in this epoch is missing in memory. */
  wants(sequence: Sequence, epoch: number): boolean {
    if (epoch !== this.#epoch || this.#behind === null) return false
    return sequence >= this.#behind.first && sequence <= this.#behind.last
  }

  /** Takes the next entry that was read back. Precondition: it is wanted. */
  takeBack(batch: LoggedBatch): void {
    this.#readUpTo(lastOf(batch))
    this.#hold(batch)
  }

  /** All entries up to `last` were read in this epoch: those that were not given have nothing to store. */
  endReading(epoch: number, last: Sequence): void {
    if (epoch === this.#epoch && this.#behind !== null && last >= this.#behind.first) this.#readUpTo(last)
  }

  /** Whether what is in memory is to become a block; `isAwaited` when somebody waits until it is stored. */
  isDue(isAwaited: boolean): boolean {
    if (this.#batches.length === 0) return false
    const { rule, budget } = this.#deps
    // A share of the whole budget: the limits of a block may be larger than what may be held.
    if (this.#heldBytes >= Math.min(rule.eventsFlushBytesMax, budget.bytesMax / 4)) return true
    return this.#rowCount >= rule.eventsFlushRowsMax || isAwaited || this.#flushClock.isOver
  }

  /** Takes out the batches of the next block: up to its limits, but at least one. */
  take(): readonly LoggedBatch[] {
    const { eventsFlushRowsMax, eventsFlushBytesMax } = this.#deps.rule
    let count = 0
    let rowCount = 0
    let heldBytes = 0
    for (const batch of this.#batches) {
      rowCount += rowsOf(batch)
      heldBytes += batch.heldBytes
      if (count > 0 && (rowCount > eventsFlushRowsMax || heldBytes > eventsFlushBytesMax)) break
      count += 1
    }
    const taken = this.#batches.slice(0, count)
    this.#replace(this.#batches.slice(count))
    return taken
  }

  /** Puts batches back in front: they became no block. */
  putBack(taken: readonly LoggedBatch[]): void {
    this.#replace([...taken, ...this.#batches])
  }

  /** Gives up the memory: all of it is in the log alone from now on. */
  letGo(): void {
    const batches = this.#batches
    this.#replace([])
    const [first] = batches
    const last = batches.at(-1)
    if (first === undefined || last === undefined) return
    for (const { heldBytes } of batches) this.#deps.budget.give(heldBytes)
    this.#fallBehind({ first: firstOf(first), last: lastOf(last) })
    this.#epoch += 1
  }

  /** Sets the timer for `onTime`: to `timeMs` of the clock, or, when it is null, to when what has gathered is old enough. */
  wakeAt(timeMs: number | null): void {
    this.#flushClock.arm(timeMs)
  }

  /** Calls `onTime` no more. */
  close(): void {
    this.#flushClock.close()
  }

  #hold(batch: LoggedBatch): void {
    this.#batches.push(batch)
    this.#rowCount += rowsOf(batch)
    this.#heldBytes += batch.heldBytes
    this.#flushClock.noteBody()
  }

  #replace(batches: LoggedBatch[]): void {
    this.#batches = batches
    this.#rowCount = batches.reduce((total, batch) => total + rowsOf(batch), 0)
    this.#heldBytes = batches.reduce((total, batch) => total + batch.heldBytes, 0)
    if (batches.length === 0) this.#flushClock.reset()
  }

  #fallBehind({ first, last }: SequenceRange): void {
    const behind = this.#behind ?? { first, last }
    this.#behind = {
      first: first < behind.first ? first : behind.first,
      last: last > behind.last ? last : behind.last,
    }
  }

  #readUpTo(last: Sequence): void {
    if (this.#behind === null) return
    this.#behind = last >= this.#behind.last ? null : { first: toSequence(last + 1), last: this.#behind.last }
  }
}

/** Rows of a batch, those for the quarantine included. */
export function rowsOf({ rowCount, quarantinedRowCount }: LoggedBatch): number {
  return rowCount + quarantinedRowCount
}

/** The place of a batch's first entry in the log. */
export function firstOf({ sequences: [first] }: LoggedBatch): Sequence {
  assert(first !== undefined, 'a batch has entries')
  return first
}

function lastOf({ sequences }: LoggedBatch): Sequence {
  const last = sequences.at(-1)
  assert(last !== undefined, 'a batch has entries')
  return last
}
