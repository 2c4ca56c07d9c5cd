/** Data sources that events create: the schema comes from the first events, and so many a minute are allowed. */
import type { DataSource } from '../catalog/data-source.types.ts'
import { inferSchema } from '../guess/record-columns.ts'
import { sampleRecords } from '../guess/record-sample.ts'
import { linesOfDocument } from '../ingest/parse/json-lines.ts'
import { errors } from '../shared/errors/errors.ts'
import { createOrFind } from './create-or-find.ts'
import type { DataSources, EventsSample } from './datasources.types.ts'

export interface EventsCreationOptions {
  readonly missingDataSource: 'create' | 'refuse'
  readonly eventsCreatesPerMinuteMax: number
  readonly columnsMax: number
  readonly now: () => number
}

type Creates = Pick<DataSources, 'create' | 'find'>

const minuteMs = 60_000

export class EventsCreation {
  readonly #options: EventsCreationOptions
  readonly #dataSources: Creates
  /** Under way, by name: senders that come meanwhile wait for the same one. */
  readonly #running = new Map<string, Promise<DataSource>>()
  /** When the last ones were begun; no more than may be in a minute. */
  #createdAtMs: number[] = []

  constructor(options: EventsCreationOptions, dataSources: Creates) {
    this.#options = options
    this.#dataSources = dataSources
  }

  /** False when events create no data sources. */
  get isAllowed(): boolean {
    return this.#options.missingDataSource === 'create'
  }

  /** Those that were begun in the last minute. */
  countOfMinute(): number {
    const nowMs = this.#options.now()
    this.#createdAtMs = this.#createdAtMs.filter((atMs) => atMs > nowMs - minuteMs && atMs <= nowMs)
    return this.#createdAtMs.length
  }

  /** See `DataSources.createFromEvents`. */
  create(sample: EventsSample): Promise<DataSource> {
    const { name } = sample
    if (!this.isAllowed) throw errors.DATASOURCE_NOT_FOUND({ name })
    const known = this.#running.get(name)
    if (known !== undefined) return known
    const creation = this.#createNow(sample).finally(() => this.#running.delete(name))
    this.#running.set(name, creation)
    return creation
  }

  async #createNow({ name, body, framing }: EventsSample): Promise<DataSource> {
    const lines = framing === 'document' ? (linesOfDocument(body) ?? body) : body
    const schema = inferSchema(sampleRecords(lines), this.#options)
    if (schema === null) throw errors.SCHEMA_UNKNOWN({ name })
    this.#refuseTooMany()
    // It counts from the beginning on: many may be begun at once.
    const atMs = this.#options.now()
    this.#createdAtMs.push(atMs)
    let isCreated = false
    try {
      const request = { name, description: '', schema, engine: null, type: 'ndjson', isImplicit: true } as const
      const found = await createOrFind(this.#dataSources, request)
      isCreated = found.isCreated
      return found.dataSource
    } finally {
      if (!isCreated) this.#forget(atMs)
    }
  }

  #forget(atMs: number): void {
    const position = this.#createdAtMs.indexOf(atMs)
    this.#createdAtMs = this.#createdAtMs.filter((_, index) => index !== position)
  }

  #refuseTooMany(): void {
    const perMinuteMax = this.#options.eventsCreatesPerMinuteMax
    const count = this.countOfMinute()
    const [oldest] = this.#createdAtMs
    if (perMinuteMax === 0 || count < perMinuteMax || oldest === undefined) return
    const nowMs = this.#options.now()
    const retryAfterSeconds = Math.max(1, Math.ceil((oldest + minuteMs - nowMs) / 1000))
    throw errors.CREATES_TOO_MANY({ perMinuteMax, retryAfterSeconds })
  }
}
