import type { Logger } from '../observe/logger.ts'
import { noRecorder, type WorkRecorder } from '../observe/work-recorder.types.ts'
import { createResourceHex } from '../shared/ids.ts'
import type { ServiceTableDays } from '../store/service-tables.types.ts'
import type { SupervisedStore } from '../store/store.types.ts'
import { isFaultOfEngine, StoreError } from '../store/store-error.ts'
import type { RowSecrets } from './row-secrets.ts'
import { RowWriter } from './row-writer.ts'
import { ServiceRecorder } from './service-recorder.ts'

export interface ServiceRowsOptions {
  readonly serviceSources: 'on' | 'off'
  readonly serviceRowsFlushMs: number
  readonly serviceRowsBytesMax: number
  readonly serviceRequestDays: number
  readonly serviceTotalDays: number
  readonly serviceOperationDays: number
}

export interface ServiceRowsDeps {
  readonly store: Pick<SupervisedStore, 'serviceTables' | 'unreadyReason'>
  readonly secrets: RowSecrets
  readonly logger: Logger
}

export interface ServiceRows {
  readonly recorder: WorkRecorder
  /** Stores what was told. */
  close(timeMaxMs: number): Promise<void>
}

/** Opens the service data sources, which take rows from now on. A table that cannot be made is tried again before its first rows. */
export async function openServiceRows(options: ServiceRowsOptions, deps: ServiceRowsDeps): Promise<ServiceRows> {
  if (options.serviceSources === 'off') return { recorder: noRecorder, close: async () => undefined }
  const { store, secrets, logger } = deps
  const tables = new PreparedTables(options, deps)
  await tables.prepare()
  const writer = new RowWriter(
    { flushIntervalMs: options.serviceRowsFlushMs, bytesMax: options.serviceRowsBytesMax },
    {
      insert: async (batch) => {
        if (await tables.prepare()) await store.serviceTables.insert(batch)
        else throw new UnpreparedError()
      },
      mayRepeat,
      isReady: () => store.unreadyReason === null,
      beforeFlush: () => recorder.drain(),
      createToken: createResourceHex,
      logger,
    },
  )
  const recorder = new ServiceRecorder(writer, secrets)
  return { recorder, close: (timeMaxMs) => writer.close(timeMaxMs) }
}

class UnpreparedError extends Error {
  override readonly name = 'UnpreparedError'
}

class PreparedTables {
  readonly #days: ServiceTableDays
  readonly #deps: Pick<ServiceRowsDeps, 'logger' | 'store'>
  #isPrepared = false

  constructor(options: ServiceRowsOptions, deps: Pick<ServiceRowsDeps, 'logger' | 'store'>) {
    this.#days = {
      requests: options.serviceRequestDays,
      totals: options.serviceTotalDays,
      operations: options.serviceOperationDays,
    }
    this.#deps = deps
  }

  /** Whether all tables are there. A start goes on without them: nobody's rows depend on them. */
  async prepare(): Promise<boolean> {
    if (this.#isPrepared) return true
    try {
      await this.#deps.store.serviceTables.prepare(this.#days)
      this.#isPrepared = true
    } catch (err) {
      this.#deps.logger.warn({ err }, 'The tables of the service data sources could not be made; it is tried again.')
    }
    return this.#isPrepared
  }
}

/** What is so because of the state of the engine passes. */
function mayRepeat(thrown: unknown): boolean {
  if (thrown instanceof UnpreparedError) return true
  if (!(thrown instanceof StoreError)) return false
  switch (thrown.kind) {
    case 'busy':
    case 'silent':
    case 'stopped':
      return true
    default:
      return thrown.diskFault !== null || (thrown.kind === 'engine' && isFaultOfEngine(thrown))
  }
}
