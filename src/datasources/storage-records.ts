import type { Logger } from '../observe/logger.ts'
import type { WorkRecorder } from '../observe/work-recorder.types.ts'
import type { DataSources } from './datasources.types.ts'

interface StorageRecordsDeps {
  readonly dataSources: Pick<DataSources, 'list' | 'statistics'>
  readonly workRecorder: WorkRecorder
  readonly logger: Logger
  /** Epoch milliseconds. */
  readonly now: () => number
}

const intervalMs = 3_600_000

/** Tells the size of each data source, at the start and once an hour: readers of a day or an hour find a row for it. */
export class StorageRecords {
  readonly #deps: StorageRecordsDeps
  #timer: NodeJS.Timeout | undefined

  constructor(deps: StorageRecordsDeps) {
    this.#deps = deps
  }

  start(): void {
    if (!this.#deps.workRecorder.isOn) return
    void this.tell()
    this.#timer = setInterval(() => void this.tell(), intervalMs).unref()
  }

  close(): void {
    clearInterval(this.#timer)
  }

  /** Never rejects: the next hour has the next rows. */
  async tell(): Promise<void> {
    const { dataSources, workRecorder, logger, now } = this.#deps
    try {
      const sizes = await dataSources.statistics()
      const atMs = now()
      for (const dataSource of dataSources.list()) {
        const size = sizes.get(dataSource.id)
        if (size === undefined) continue
        const { landing, quarantine } = size
        const set = { quarantinedRows: quarantine.rowCount, quarantinedBytes: quarantine.byteCount }
        workRecorder.storage({ atMs, dataSource, rows: landing.rowCount, bytes: landing.byteCount, ...set })
      }
    } catch (err) {
      logger.warn({ err }, 'The sizes of the data sources could not be told.')
    }
  }
}
