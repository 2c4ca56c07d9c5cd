/** What becomes of the blocks of an import: for whoever listens while it loads, and for the import result. */
import { randomUUID } from 'node:crypto'
import { Readable } from 'node:stream'
import type { BlockReport, BlockStatus, ImportWatcher } from '../ingest/ingest.types.ts'
import type { DebugDetail, ImportOrder } from './request/import-order.ts'

/** The lines of `progress=true`, which the import result ends. */
export interface ProgressStream {
  readonly lines: Readable
  end(result: object): void
}

interface StatusEntry {
  readonly block_id: string
  readonly status: BlockStatus
  /** Epoch seconds. */
  readonly timestamp: number
}

/** More blocks than the largest body has with frames of their usual size; further ones are loaded, and not told. */
const blocksMax = 10_000
/** A block passes through five statuses. */
const entriesMax = 5 * blocksMax

export class ImportProgress {
  /** Undefined when nobody wants to know. */
  readonly watcher: ImportWatcher | undefined
  private readonly debug: ReadonlySet<DebugDetail>
  private readonly now: () => number
  private readonly blockIds: string[] = []
  private readonly reports: (object | undefined)[] = []
  private readonly entries: StatusEntry[] = []
  private lines: Readable | null = null

  constructor({ debug, hasProgress }: Pick<ImportOrder, 'debug' | 'hasProgress'>, now: () => number) {
    this.debug = debug
    this.now = now
    if (debug.size === 0 && !hasProgress) return
    this.watcher = {
      hasReports: debug.has('blocks'),
      onStatus: (block, status) => this.noteStatus(block, status),
      onParsed: (block, report) => this.noteReport(block, report),
    }
  }

  /** The columns are guessed from the beginning of the first block. */
  onGuessing(): void {
    this.noteStatus(0, 'guessing')
  }

  /** What was noted so far, and from now on each status as it comes. */
  stream(): ProgressStream {
    const lines = new Readable({ read() {} })
    for (const entry of this.entries) lines.push(lineOf(entry))
    this.lines = lines
    return {
      lines,
      end: (result) => {
        this.lines = null
        lines.push(lineOf(result))
        lines.push(null)
      },
    }
  }

  /** The fields of the import result that `debug` asks for. */
  details(): Readonly<Record<string, unknown>> {
    const { debug } = this
    return {
      ...(debug.has('blocks') ? { blocks: this.reports.filter((report) => report !== undefined) } : {}),
      ...(debug.has('block_log') ? { block_log: this.entries } : {}),
      // There are no hooks that an import could run.
      ...(debug.has('hook_log') ? { hook_log: [] } : {}),
    }
  }

  private noteStatus(block: number, status: BlockStatus): void {
    if (this.entries.length >= entriesMax) return
    const entry = { block_id: this.idOf(block), status, timestamp: this.now() / 1000 }
    this.entries.push(entry)
    this.lines?.push(lineOf(entry))
  }

  private noteReport(block: number, report: BlockReport): void {
    if (block >= blocksMax || !this.debug.has('blocks')) return
    const seconds = report.timeMs / 1000
    this.reports[block] = {
      block_id: this.idOf(block),
      process_return: [
        {
          lines: report.lines,
          parser: report.parser,
          quarantine: report.quarantinedRows,
          time: seconds,
          invalid_lines: report.invalidLines,
          empty_lines: report.emptyLines,
          bytes: report.byteCount,
        },
      ],
      processing_time: seconds,
      processing_error: null,
      processing_error_type: null,
    }
  }

  private idOf(block: number): string {
    const known = this.blockIds[block]
    if (known !== undefined) return known
    const id = randomUUID()
    if (block < blocksMax) this.blockIds[block] = id
    return id
  }
}

function lineOf(value: object): string {
  return `${JSON.stringify(value)}\n`
}
