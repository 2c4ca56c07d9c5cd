// Keys of events that no column takes, for the field `new_columns_detected` of a data source. Keys that nobody wants are passed
// over by the codec without a look, and that stays so: a few records of a few bodies a second are looked at beside it, after
// their answer. It is advice, kept in memory alone.

import type { DataSource } from '../catalog/data-source.types.ts'
import { inferColumns } from '../guess/record-columns.ts'
import { sampleRecords } from '../guess/record-sample.ts'
import type { EventsRequest } from '../ingest/ingest.types.ts'
import { linesOfDocument } from '../ingest/parse/json-lines.ts'
import { Allowance } from '../shared/allowance.ts'
import { beginningOf } from '../shared/beginning-of.ts'
import { BoundedCache } from '../shared/bounded-cache.ts'
import { ApiError } from '../shared/errors/errors.ts'

/** Looks that may come at once, and a second after these. */
const looksAtOnce = 20
const looksPerSecond = 5
const betweenLooksMs = 1_000
const bodyBytesMax = 16 * 1024
const recordsMax = 20
const columnsMax = 50
const nameCharsMax = 100
const dataSourcesMax = 1_000

type Columns = ReadonlyMap<string, string>

interface Kept {
  /** Another list after each change of the schema, which may have brought what was missing. */
  readonly columns: DataSource['columns']
  readonly found: Map<string, string>
  lookedAtMs: number
}

type Events = Pick<EventsRequest, 'body' | 'dataSource' | 'framing'>

export class NewColumns {
  readonly #now: () => number
  readonly #kept = new BoundedCache<Kept>({ entriesMax: dataSourcesMax, weightMax: dataSourcesMax })
  readonly #looks: Allowance

  /** @param now epoch milliseconds. */
  constructor(now: () => number) {
    this.#now = now
    this.#looks = new Allowance({ atOnce: looksAtOnce, perMs: looksPerSecond / 1_000 }, now)
  }

  /** Names with types, as a schema that is guessed would have them; none where all keys have their columns. */
  of({ id, columns }: Pick<DataSource, 'columns' | 'id'>): Columns {
    const kept = this.#kept.get(id)
    return kept === undefined || kept.columns !== columns ? noColumns : kept.found
  }

  /** Looks at the beginning of a body, unless others were looked at lately. Returns at once. */
  look(events: Events): void {
    const kept = this.#keptOf(events.dataSource)
    const nowMs = this.#now()
    if (Math.abs(nowMs - kept.lookedAtMs) < betweenLooksMs || kept.found.size >= columnsMax) return
    if (!this.#looks.take()) return
    kept.lookedAtMs = nowMs
    // Behind the answer.
    setImmediate(() => note(kept, events))
  }

  #keptOf({ id, columns }: DataSource): Kept {
    const known = this.#kept.get(id)
    if (known !== undefined && known.columns === columns) return known
    const kept = { columns, found: new Map<string, string>(), lookedAtMs: Number.NEGATIVE_INFINITY }
    this.#kept.set(id, kept, 1)
    return kept
  }
}

const noColumns: Columns = new Map()

function note({ columns, found }: Kept, { body, framing }: Events): void {
  for (const { name, keys, typeText } of columnsIn(body, framing)) {
    if (found.size >= columnsMax) return
    if (!columns.some((column) => takes(column, keys))) found.set(beginningOf(name, nameCharsMax), typeText)
  }
}

function columnsIn(body: Uint8Array, framing: Events['framing']) {
  const head = body.subarray(0, bodyBytesMax)
  const lines = framing === 'document' ? linesOfDocument(body.length > bodyBytesMax ? new Uint8Array() : body) : head
  try {
    return lines === null ? [] : inferColumns(sampleRecords(lines).slice(0, recordsMax), { columnsMax: 500 })
  } catch (error) {
    // More keys, or deeper ones, than are looked at.
    if (error instanceof ApiError) return []
    throw error
  }
}

/** A column without a path takes the key of its name, and one with a path all that is below it. */
function takes({ name, jsonPath }: DataSource['columns'][number], keys: readonly string[]): boolean {
  const path = jsonPath?.keys ?? [name]
  return path.every((key, depth) => depth >= keys.length || keys[depth] === key)
}
