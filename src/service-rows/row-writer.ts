/**
 * Brings rows of the service data sources into their tables: gathered in memory, and inserted in batches.
 *
 * - They are bounded in memory, those of an INSERT under way among them. What comes beyond is dropped and counted: nobody waits.
 * - One INSERT runs at a time. A batch that fails because of the state of the engine is kept and comes again under its token,
 *   which stores it once; one that fails again and again is dropped.
 * - The engine refuses a batch as a whole, also for one row. Such a batch is halved until the rows that are refused are alone and are
 *   dropped: they must not cost the rows of other callers.
 */
import type { Logger } from '../observe/logger.ts'
import { assert } from '../shared/assert.ts'
import { within } from '../shared/within.ts'
import type { ServiceRowBatch } from '../store/service-tables.types.ts'
import type { ServiceTableName } from '../store/sql/service-tables.ts'

interface RowWriterOptions {
  /** How long a row waits for others. */
  readonly flushIntervalMs: number
  /** Of all rows in memory. */
  readonly bytesMax: number
}

interface RowWriterDeps {
  /** Raises an error when the rows could not be inserted. */
  readonly insert: (batch: ServiceRowBatch) => Promise<void>
  /** Whether a batch that failed so may be taken later. */
  readonly mayRepeat: (thrown: unknown) => boolean
  /** Whether the engine takes rows now. */
  readonly isReady: () => boolean
  /** Called before a flush, for rows that are made then. */
  readonly beforeFlush: () => void
  /** Another one each time: letters, digits and `-`. */
  readonly createToken: () => string
  readonly logger: Logger
}

interface Gathered {
  lines: string[]
  byteCount: number
}

interface Batch extends Omit<ServiceRowBatch, 'lines'> {
  readonly lines: readonly string[]
  readonly byteCount: number
  tries: number
  /** Of all that was halved out of one batch. */
  readonly refusals: Refusals
}

interface Refusals {
  count: number
  isTold: boolean
}

/** A batch has about so many bytes at most. */
const batchBytesMax = 512 * 1024
const triesMax = 20
/** Enough to find some rows among thousands; where more are refused, it is the table that takes none. */
const refusalsMax = 200
/** Drops are told so often at most. */
const toldIntervalMs = 60_000

export class RowWriter {
  readonly #options: RowWriterOptions
  readonly #deps: RowWriterDeps
  readonly #gathered = new Map<ServiceTableName, Gathered>()
  #byteCount = 0
  /** What the engine has not taken yet, in order: one batch, or what it was halved into. */
  #held: readonly Batch[] = []
  #timer: NodeJS.Timeout | undefined
  #flushing: Promise<void> | null = null
  #isAsked = false
  #droppedCount = 0
  #untoldCount = 0
  #toldAtMs = Number.NEGATIVE_INFINITY
  #isClosed = false

  constructor(options: RowWriterOptions, deps: RowWriterDeps) {
    this.#options = options
    this.#deps = deps
  }

  /** Rows that were dropped, since the start. */
  get droppedCount(): number {
    return this.#droppedCount
  }

  /** Takes a row, as a line of JSON without its line feed; one for which there is no room is dropped. */
  add(table: ServiceTableName, line: string): void {
    const byteCount = bytesOf(line)
    if (this.#isClosed || this.#byteCount + byteCount > this.#options.bytesMax) {
      this.#drop(1)
      return
    }
    const gathered = this.#gatheredFor(table)
    gathered.lines.push(line)
    gathered.byteCount += byteCount
    this.#byteCount += byteCount
    if (gathered.byteCount >= batchBytesMax) void this.flush()
    else this.wake()
  }

  /** Has the next flush come, also where no row waits yet. */
  wake(): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined
      void this.flush()
    }, this.#options.flushIntervalMs).unref()
  }

  /** Inserts what is there, as far as the engine takes it. Never rejects. */
  flush(): Promise<void> {
    // What came since the one that runs has begun may not be in it.
    this.#isAsked = this.#flushing !== null
    this.#flushing ??= this.#flush().finally(() => {
      this.#flushing = null
      if (!this.#isClosed && (this.#isAsked || this.#held.length > 0 || this.#gathered.size > 0)) this.wake()
    })
    return this.#flushing
  }

  /** Inserts what is there, and takes no more. What is not inserted in time is dropped. */
  async close(timeMaxMs: number): Promise<void> {
    const ended = async (): Promise<void> => {
      await this.#flushing
      await this.flush()
    }
    await within(timeMaxMs, ended())
    this.#isClosed = true
    clearTimeout(this.#timer)
    const left = [...this.#gathered.values(), ...this.#held].reduce((sum, { lines }) => sum + lines.length, 0)
    if (left > 0) this.#drop(left)
    this.#tellDropped()
  }

  async #flush(): Promise<void> {
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.#deps.beforeFlush()
    for (;;) {
      if (!this.#deps.isReady()) return
      if (this.#held.length === 0) this.#take()
      const [batch, ...others] = this.#held
      if (batch === undefined) return
      const left = await this.#insert(batch)
      if (left === null) return
      this.#held = [...left, ...others]
      this.#byteCount -= batch.byteCount - byteCountOf(left)
    }
  }

  /** What of the batch is to be inserted in its place: nothing where it is stored or dropped. Null for all of it, later. */
  async #insert(batch: Batch): Promise<readonly Batch[] | null> {
    const { table, lines, token, refusals } = batch
    try {
      await this.#deps.insert({ table, lines: lines.join('\n'), token })
      return []
    } catch (err) {
      batch.tries += 1
      const mayRepeat = this.#deps.mayRepeat(err)
      if (mayRepeat && batch.tries < triesMax) return null
      refusals.count += 1
      if (!mayRepeat && lines.length > 1 && refusals.count < refusalsMax) return this.#halves(batch)
      this.#tellRefused(err, batch)
      this.#drop(lines.length)
      return []
    }
  }

  /** Once for all that was halved out of one batch. */
  #tellRefused(err: unknown, { table, refusals }: Batch): void {
    if (refusals.isTold) return
    refusals.isTold = true
    this.#deps.logger.warn({ err, table }, 'Rows of a service data source could not be stored.')
  }

  #halves({ table, lines, refusals }: Batch): readonly Batch[] {
    const middle = Math.ceil(lines.length / 2)
    return [lines.slice(0, middle), lines.slice(middle)].map((half) => this.#batchOf(table, half, refusals))
  }

  #take(): void {
    const [first] = this.#gathered
    if (first === undefined) return
    const [table, { lines }] = first
    assert(lines.length > 0, 'a table that is waited for has rows')
    this.#gathered.delete(table)
    this.#held = [this.#batchOf(table, lines, { count: 0, isTold: false })]
  }

  #batchOf(table: ServiceTableName, lines: readonly string[], refusals: Refusals): Batch {
    const byteCount = lines.reduce((sum, line) => sum + bytesOf(line), 0)
    return { table, lines, token: this.#deps.createToken(), byteCount, tries: 0, refusals }
  }

  #gatheredFor(table: ServiceTableName): Gathered {
    const found = this.#gathered.get(table)
    if (found !== undefined) return found
    const gathered = { lines: [], byteCount: 0 }
    this.#gathered.set(table, gathered)
    return gathered
  }

  #drop(rowCount: number): void {
    this.#droppedCount += rowCount
    this.#untoldCount += rowCount
    if (performance.now() - this.#toldAtMs >= toldIntervalMs) this.#tellDropped()
  }

  #tellDropped(): void {
    if (this.#untoldCount === 0) return
    this.#toldAtMs = performance.now()
    this.#deps.logger.warn({ rowCount: this.#untoldCount }, 'Rows of service data sources were dropped.')
    this.#untoldCount = 0
  }
}

/** With its line feed. */
function bytesOf(line: string): number {
  return Buffer.byteLength(line) + 1
}

function byteCountOf(batches: readonly Batch[]): number {
  return batches.reduce((sum, { byteCount }) => sum + byteCount, 0)
}
