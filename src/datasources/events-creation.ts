/** Data sources that events create: the schema comes from the first events, and so many a minute are allowed. */
import type { DataSource } from '../catalog/data-source.types.ts'
import { inferSchema } from '../catalog/schema-inference.ts'
import { linesOfDocument } from '../ingest/json-lines.ts'
import { ApiError, errors } from '../shared/errors.ts'
import type { CreateRequest, EventsSample } from './datasources.types.ts'

export interface EventsCreationOptions {
  readonly missingDataSource: 'create' | 'refuse'
  readonly eventsCreatesPerMinuteMax: number
  readonly now: () => number
}

interface Creates {
  readonly find: (nameOrId: string) => DataSource | undefined
  readonly create: (request: CreateRequest) => Promise<DataSource>
}

const minuteMs = 60_000
const sampleRecordsMax = 1_000
const sampleBytesMax = 1024 * 1024

export class EventsCreation {
  private readonly options: EventsCreationOptions
  private readonly dataSources: Creates
  /** Under way, by name: senders that come meanwhile wait for the same one. */
  private readonly running = new Map<string, Promise<DataSource>>()
  /** When the last ones were begun; no more than may be in a minute. */
  private createdAtMs: number[] = []

  constructor(options: EventsCreationOptions, dataSources: Creates) {
    this.options = options
    this.dataSources = dataSources
  }

  /** False when events create no data sources. */
  get isAllowed(): boolean {
    return this.options.missingDataSource === 'create'
  }

  /** See `DataSources.createFromEvents`. */
  create(sample: EventsSample): Promise<DataSource> {
    const { name } = sample
    if (!this.isAllowed) throw errors.DATASOURCE_NOT_FOUND({ name })
    const known = this.running.get(name)
    if (known !== undefined) return known
    const creation = this.createNow(sample).finally(() => this.running.delete(name))
    this.running.set(name, creation)
    return creation
  }

  private async createNow({ name, body, framing }: EventsSample): Promise<DataSource> {
    const schema = inferSchema(sampleRecords(framing === 'document' ? (linesOfDocument(body) ?? body) : body))
    if (schema === null) throw errors.SCHEMA_UNKNOWN({ name })
    this.refuseTooMany()
    // It counts from the beginning on: many may be begun at once.
    const atMs = this.options.now()
    this.createdAtMs.push(atMs)
    try {
      const request = { name, description: '', schema, engine: null, type: 'ndjson' } as const
      return await this.dataSources.create(request)
    } catch (error) {
      const position = this.createdAtMs.indexOf(atMs)
      this.createdAtMs = this.createdAtMs.filter((_, index) => index !== position)
      const existing = this.dataSources.find(name)
      // Somebody else created it meanwhile.
      if (existing !== undefined && error instanceof ApiError && error.code === 'DATASOURCE_EXISTS') return existing
      throw error
    }
  }

  private refuseTooMany(): void {
    const perMinuteMax = this.options.eventsCreatesPerMinuteMax
    if (perMinuteMax === 0) return
    const nowMs = this.options.now()
    this.createdAtMs = this.createdAtMs.filter((atMs) => atMs > nowMs - minuteMs && atMs <= nowMs)
    const [oldest] = this.createdAtMs
    if (this.createdAtMs.length < perMinuteMax || oldest === undefined) return
    const retryAfterSeconds = Math.max(1, Math.ceil((oldest + minuteMs - nowMs) / 1000))
    throw errors.CREATES_TOO_MANY({ perMinuteMax, retryAfterSeconds })
  }
}

/** The first records of NDJSON that are objects. */
function sampleRecords(lines: Uint8Array): readonly Readonly<Record<string, unknown>>[] {
  const records: Record<string, unknown>[] = []
  // A record that the limit cuts in two is no JSON, and is left out; the first one is looked at whatever its length.
  const firstEnd = lines.indexOf(0x0a)
  const end = Math.max(sampleBytesMax, firstEnd < 0 ? lines.length : firstEnd)
  for (const line of new TextDecoder().decode(lines.subarray(0, end)).split('\n')) {
    if (records.length >= sampleRecordsMax) break
    const value = parseOrNull(line)
    // JSON.parse gives objects, arrays and scalars, and arrays are none of a record's.
    if (typeof value === 'object' && value !== null && !Array.isArray(value))
      records.push(value as Record<string, unknown>)
  }
  return records
}

function parseOrNull(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    // Counted and kept by the scanner, like any bad line.
    return null
  }
}
