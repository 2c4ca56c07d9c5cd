import { errors } from '../shared/errors.ts'
import type { Store } from '../store/store.types.ts'
import { EventsGatherer } from './events-gatherer.ts'
import { BodyImport, type ImportOptions } from './import-body.ts'
import type { EventsOutcome, EventsRequest, ImportOutcome, ImportRequest, Ingest } from './ingest.types.ts'
import { ParsePool, type ParsePoolOptions } from './parse-pool.ts'

export interface IngestOptions extends ImportOptions, ParsePoolOptions {
  readonly eventsPendingBytesMax: number
}

/** Opens the way in: the worker pool, and what gathers for the store. */
export function openIngest(options: IngestOptions, { store }: { readonly store: Store }): Ingest {
  return new OpenIngest(options, store)
}

class OpenIngest implements Ingest {
  private readonly options: IngestOptions
  private readonly store: Store
  private readonly pool: ParsePool
  private readonly events: EventsGatherer
  private readonly imports = new Set<Promise<ImportOutcome>>()
  private isClosing = false

  constructor(options: IngestOptions, store: Store) {
    this.options = options
    this.store = store
    this.pool = new ParsePool(options)
    this.events = new EventsGatherer(this.pool, store, {
      pendingBytesMax: options.eventsPendingBytesMax,
      blockBytesMax: options.frameBytes,
    })
  }

  async importBody(request: ImportRequest): Promise<ImportOutcome> {
    this.refuseWhenClosing()
    const running = new BodyImport(request, { pool: this.pool, store: this.store }, this.options).run()
    this.imports.add(running)
    try {
      return await running
    } finally {
      this.imports.delete(running)
    }
  }

  async appendEvents(request: EventsRequest): Promise<EventsOutcome> {
    this.refuseWhenClosing()
    return await this.events.append(request)
  }

  async close(): Promise<void> {
    this.isClosing = true
    await Promise.all(this.imports)
    await this.events.close()
    await this.pool.close()
  }

  private refuseWhenClosing(): void {
    if (this.isClosing) throw errors.SHUTTING_DOWN({})
  }
}
