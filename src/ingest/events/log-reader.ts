/**
 * Reads back from the log what is not in memory: named blocks, and the events of data sources that have fallen behind.
 *
 * One pass serves all data sources that may go on, holding no more in memory than the budget allows. A data source that
 * fails in the middle of a pass is left where it is; whatever it was given by then is in the log like the rest.
 */
import type { Logger } from '../../observe/logger.ts'
import { entryBytesOf } from '../../wal/entry-format.ts'
import type { Sequence } from '../../wal/sequence.ts'
import type { WalEntry } from '../../wal/wal.types.ts'
import type { MemoryBudget } from '../memory-budget.ts'
import { type RecordBody, recordsOfEntry } from '../parse/record-body.ts'
import type { LoggedBatch } from './events.types.ts'
import type { EventsLog } from './events-log.ts'

/** A data source whose events, or some of them, are in the log alone. */
export interface BehindSource {
  readonly stream: string
  /** Grows whenever what it was given is in the log alone again: what a reader read before then is stale. */
  readonly epoch: number
  /** True when it is behind, and nothing keeps it from going on. */
  readonly mayRead: boolean
  /** The first entry that is in the log alone. */
  readonly behindFrom: Sequence | null
  wants(sequence: Sequence, epoch: number): boolean
  /** Takes the next entry; false when it has failed meanwhile. */
  feed(batch: LoggedBatch, epoch: number): boolean
  /** All entries up to `last` have been read. */
  endReading(epoch: number, last: Sequence): void
}

interface ReaderDeps {
  readonly log: Pick<EventsLog, 'replay'>
  readonly budget: MemoryBudget
  readonly sources: () => Iterable<BehindSource>
  readonly logger: Logger
}

/** A data source that takes part in a pass, until it fails. */
interface Reading {
  readonly source: BehindSource
  readonly epoch: number
}

const retryMs = 1_000

export class LogReader {
  readonly #deps: ReaderDeps
  #running: Promise<void> | null = null
  #retry: NodeJS.Timeout | undefined
  #isClosed = false

  constructor(deps: ReaderDeps) {
    this.#deps = deps
  }

  /** Some data source is behind and may go on. */
  wake(): void {
    if (this.#isClosed) return
    this.#running ??= this.#run().finally(() => {
      this.#running = null
      if (this.#due().length > 0 && this.#retry === undefined) this.#wakeLater()
    })
  }

  /** The bodies of the entries, which must all be in the log; `sequences` ascend. */
  async load(sequences: readonly Sequence[]): Promise<readonly RecordBody[]> {
    const wanted = new Set<number>(sequences)
    const bodies: RecordBody[] = []
    for await (const entry of this.#deps.log.replay(sequences[0])) {
      if (!wanted.has(entry.sequence) || entry.kind !== 'rows') continue
      bodies.push(await recordsOfEntry(entry))
      if (bodies.length === wanted.size) return bodies
    }
    throw new Error(`the log lacks entries of a block: ${bodies.length} of ${wanted.size} are there`)
  }

  async close(): Promise<void> {
    this.#isClosed = true
    clearTimeout(this.#retry)
    await this.#running
  }

  #wakeLater(): void {
    this.#retry = setTimeout(() => {
      this.#retry = undefined
      this.wake()
    }, retryMs)
    this.#retry.unref()
  }

  #due(): readonly BehindSource[] {
    return this.#isClosed ? [] : [...this.#deps.sources()].filter((source) => source.mayRead)
  }

  async #run(): Promise<void> {
    for (let due = this.#due(); due.length > 0; due = this.#due()) {
      try {
        await this.#pass(due)
      } catch (err) {
        this.#deps.logger.error({ err }, 'The log could not be read; it is tried again.')
        return
      }
    }
  }

  async #pass(due: readonly BehindSource[]): Promise<void> {
    const readings = new Map(due.map((source) => [source.stream, { source, epoch: source.epoch }]))
    const firsts = due.flatMap((source) => source.behindFrom ?? [])
    const from = firsts.reduce((least, first) => (first < least ? first : least))
    let last = from
    for await (const entry of this.#deps.log.replay(from)) {
      if (this.#isClosed) return
      if (entry.kind === 'rows') await this.#give(entry, readings)
      last = entry.sequence
    }
    for (const { source, epoch } of readings.values()) source.endReading(epoch, last)
  }

  /** Waits until there is room in memory. */
  async #give(entry: WalEntry, readings: Map<string, Reading>): Promise<void> {
    const reading = readings.get(entry.stream)
    if (reading === undefined || !reading.source.wants(entry.sequence, reading.epoch)) return
    const records = await recordsOfEntry(entry)
    const heldBytes = records.bytes.length
    await this.#deps.budget.take(heldBytes)
    const { acceptedAtMs, rowCount, quarantinedRowCount, sequence } = entry
    const content = { kind: 'bodies', bodies: [records] } as const
    const batch = {
      sequences: [sequence],
      acceptedAtMs,
      loggedBytes: entryBytesOf(entry),
      heldBytes,
      rowCount,
      quarantinedRowCount,
      content,
    }
    if (!reading.source.feed(batch, reading.epoch)) this.#deps.budget.give(heldBytes)
  }
}
