import type { DataSource } from '../../../src/catalog/data-source.types.ts'
import type { IngestViews } from '../../../src/ingest/events/events-ingest.ts'
import { type IngestOptions, openIngest } from '../../../src/ingest/ingest.ts'
import type { EventsRequest, Ingest } from '../../../src/ingest/ingest.types.ts'
import type { Logger } from '../../../src/observe/logger.ts'
import type { Store } from '../../../src/store/store.types.ts'
import type { FileLayer } from '../../../src/wal/file-layer.ts'
import { silentLogger } from '../store/test-store.ts'
import { MemoryFileLayer } from '../wal/memory-file-layer.ts'

const mebibyte = 1024 * 1024

/** Small limits; events are flushed at once. */
const testOptions: IngestOptions = {
  workers: 1,
  framesInFlightMax: 4,
  frameBytes: 4096,
  recordBytesMax: 1024,
  sampleBytesMax: 1024,
  decompressedBytesMax: 1_000_000,
  parquetBytesMax: mebibyte,
  insertRowsMax: 200,
  insertBytesMax: 8192,
  insertsInFlightMax: 2,
  partitionsPerBodyMax: 1000,
  partitionsMax: 10_000,
  dataDir: '/data',
  eventsBodyBytesMax: mebibyte,
  eventsPendingBytesMax: mebibyte,
  eventsBacklogBytesMax: mebibyte,
  viewsBacklogBytesMax: mebibyte,
  eventsLogBytesMax: 64 * mebibyte,
  eventsLogOnDamage: 'refuse',
  eventsFlushRowsMax: 10_000,
  eventsFlushBytesMax: mebibyte,
  eventsFlushIdleMs: 1,
  eventsFlushAgeMs: 5,
  eventsWaitMaxMs: 20_000,
  eventsIdempotency: 'key',
  idempotencyKeysMax: 1000,
  closeTimeoutMs: 2_000,
}

export interface TestIngestDeps {
  readonly store: Store
  readonly dataSources: readonly DataSource[]
  readonly files?: FileLayer
  readonly logger?: Logger
  readonly now?: () => number
  readonly views?: IngestViews
  readonly whileRemoving?: <Result>(ids: readonly string[], change: () => Promise<Result>) => Promise<Result>
}

/** The way in over a log in memory, not started; whoever opens it closes it. */
export async function openTestIngest(deps: TestIngestDeps, given: Partial<IngestOptions> = {}): Promise<Ingest> {
  const { store, dataSources, files = new MemoryFileLayer(), logger = silentLogger, now = Date.now, ...others } = deps
  const catalog = { find: (id: string) => dataSources.find((source) => source.id === id) }
  return await openIngest({ ...testOptions, ...given }, { store, catalog, logger, now, files, ...others })
}

/** A request as the routes make it of a plain body. */
export function eventsOf(dataSource: DataSource, text: string, more: Partial<EventsRequest> = {}): EventsRequest {
  const body = Buffer.from(text)
  const packed = { bytes: body, encoding: 'identity' } as const
  return { dataSource, body, packed, framing: 'lines', isWaiting: false, idempotencyKey: null, ...more }
}
