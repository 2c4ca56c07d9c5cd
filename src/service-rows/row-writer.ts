/**
 * Brings rows of the service data sources into their tables: gathered in memory, and inserted in batches.
 *
 * - They are bounded in memory, those of an INSERT under way among them. What comes beyond is dropped and counted: nobody waits.
 * - One INSERT runs at a time. A batch that fails because of the state of the engine is kept and comes again under its token,
 *   which stores it once; one that is refused, or fails again and again, is dropped.
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

interface Batch extends ServiceRowBatch {
  readonly rowCount: number
  readonly byteCount: number
  tries: number
}

/** A batch has about so many bytes at most. */
const batchBytesMax = 512 * 1024
const triesMax = 20
/** Drops are told so often at most. */
const toldIntervalMs = 60_000

export class RowWriter {
  readonly #options: RowWriterOptions
  readonly #deps: RowWriterDeps
  readonly #gathered = new Map<ServiceTableName, Gathered>()
  #byteCount = 0
  #held: Batch | null = null
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
    const byteCount = Buffer.byteLength(line) + 1
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
      if (!this.#isClosed && (this.#isAsked || this.#held !== null || this.#gathered.size > 0)) this.wake()
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
    const left = [...this.#gathered.values()].reduce((sum, { lines }) => sum + lines.length, this.#held?.rowCount ?? 0)
    if (left > 0) this.#drop(left)
    this.#tellDropped()
  }

  async #flush(): Promise<void> {
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.#deps.beforeFlush()
    for (;;) {
      if (!this.#deps.isReady()) return
      const batch = this.#held ?? this.#take()
      if (batch === null) return
      this.#held = batch
      if (!(await this.#insert(batch))) return
      this.#held = null
      this.#byteCount -= batch.byteCount
    }
  }

  /** Whether the batch is done with, stored or dropped. */
  async #insert(batch: Batch): Promise<boolean> {
    const { insert, mayRepeat, logger } = this.#deps
    try {
      await insert(batch)
    } catch (err) {
      batch.tries += 1
      if (batch.tries < triesMax && mayRepeat(err)) return false
      logger.warn({ err, table: batch.table }, 'Rows of a service data source could not be stored.')
      this.#drop(batch.rowCount)
    }
    return true
  }

  #take(): Batch | null {
    const [first] = this.#gathered
    if (first === undefined) return null
    const [table, { lines, byteCount }] = first
    assert(lines.length > 0, 'a table that is waited for has rows')
    this.#gathered.delete(table)
    const token = this.#deps.createToken()
    return { table, lines: lines.join('\n'), token, rowCount: lines.length, byteCount, tries: 0 }
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
