/** What becomes of the blocks of an import: for whoever listens while it loads, and for its result. */
import { randomUUID } from 'node:crypto'
import type { BlockReport, BlockStatus, ImportWatcher } from '../ingest/ingest.types.ts'
import type { BlockReportEntry, BlockStatusEntry, ImportRequest, Progress } from './imports.types.ts'

/** More blocks than the largest body has with frames of their usual size; further ones are loaded, and not told. */
const blocksMax = 10_000
/** A block passes through five statuses. */
const entriesMax = 5 * blocksMax

export class ImportProgress implements Progress {
  /** Undefined when nobody wants to know. */
  readonly watcher: ImportWatcher | undefined
  readonly statuses: BlockStatusEntry[] = []
  readonly #hasReports: boolean
  readonly #now: () => number
  readonly #blockIds: string[] = []
  /** By the block's place in the body. */
  readonly #reports: (BlockReportEntry | undefined)[] = []
  #onStatus: (entry: BlockStatusEntry) => void = () => {}

  /**
   * @param now epoch milliseconds.
   * @param countsAll false leaves out of reports what takes a look at each byte.
   */
  constructor(watched: ImportRequest['watched'], now: () => number, { countsAll = true } = {}) {
    this.#hasReports = watched === 'reports'
    this.#now = now
    if (watched === 'nothing') return
    this.watcher = {
      hasReports: this.#hasReports && countsAll,
      onStatus: (block, status) => this.#noteStatus(block, status),
      onParsed: (block, report) => this.#noteReport(block, report),
    }
  }

  get reports(): readonly BlockReportEntry[] {
    return this.#reports.filter((entry) => entry !== undefined)
  }

  listen(onStatus: (entry: BlockStatusEntry) => void): void {
    this.#onStatus = onStatus
  }

  /** The columns are guessed from the beginning of the first block. */
  noteGuessing(): void {
    this.watcher?.onStatus(0, 'guessing')
  }

  #noteStatus(block: number, status: BlockStatus): void {
    if (this.statuses.length >= entriesMax) return
    const entry = { blockId: this.#idOf(block), status, atMs: this.#now() }
    this.statuses.push(entry)
    this.#onStatus(entry)
  }

  #noteReport(block: number, report: BlockReport): void {
    if (block >= blocksMax || !this.#hasReports) return
    this.#reports[block] = { blockId: this.#idOf(block), report }
  }

  #idOf(block: number): string {
    const known = this.#blockIds[block]
    if (known !== undefined) return known
    const id = randomUUID()
    if (block < blocksMax) this.#blockIds[block] = id
    return id
  }
}
