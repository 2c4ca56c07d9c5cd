/**
 * Parses the bodies of a data source and writes them into the log.
 *
 * Bodies that arrive together are parsed together and written by one batch of the log; the log then syncs the batches of all
 * data sources at once. What is parsed already is kept for the block if it is large; small bodies are parsed once more,
 * together.
 */
import type { DataSource } from '../../catalog/data-source.types.ts'
import type { BodyCounts } from '../../codec/parse-task.types.ts'
import { bytesAtOnceMax } from '../../schema/columns/row-weight.ts'
import { assert } from '../../shared/assert.ts'
import { entryBytesOf } from '../../wal/entry-format.ts'
import { bookkeepingEntry, encodeNotes, type Note } from '../../wal/entry-payloads.ts'
import type { Sequence } from '../../wal/sequence.ts'
import type { NewEntry } from '../../wal/wal.types.ts'
import type { EventsRequest } from '../ingest.types.ts'
import { schemaPlanOf } from '../ingest-plan.ts'
import type { ParsedRows } from '../insert/block.types.ts'
import { bytesOf, countedRows, parseGroup } from '../insert/block-parser.ts'
import type { ParsePool } from '../parse/parse-pool.ts'
import { flagsOf, joinedBodies, type RecordBody } from '../parse/record-body.ts'
import type { LoggedBatch } from './events.types.ts'
import type { EventsLog } from './events-log.ts'
import { type IdempotencyIndex, noteOf, type RequestKey } from './idempotency-index.ts'
import { SmallGroups } from './small-groups.ts'

interface BodyBatcherDeps {
  readonly pool: ParsePool
  readonly log: Pick<EventsLog, 'append'>
  readonly keys: Pick<IdempotencyIndex, 'remember'>
  /** Told of each batch as soon as it is in the log, in its order. */
  readonly onLogged: (dataSource: DataSource, batch: LoggedBatch) => void
}

interface BodyBatcherOptions {
  /** Bytes of bodies that are parsed together. */
  readonly frameBytes: number
  readonly now: () => number
}

/** A body on its way into the log, and who is told of it. */
export interface PendingBody {
  readonly request: EventsRequest
  readonly records: RecordBody
  readonly key: RequestKey | null
  readonly resolve: (taken: TakenBody) => void
  readonly reject: (error: unknown) => void
}

/** A body that is in the log; the sequence is null when there is nothing to wait for: no rows, or stored long ago. */
export interface TakenBody {
  readonly counts: Counts
  readonly sequence: Sequence | null
}

export interface Counts {
  readonly rowCount: number
  readonly quarantinedRowCount: number
}

/** The bodies of one data source on their way into the log. */
interface Gathering {
  readonly waiting: PendingBody[]
  parsing: number
  isScheduled: boolean
}

/** Parses of one data source at once: one body's worth is parsed while the batch before it is on its way to the disk. */
const parsesAtOnceMax = 2
/** From here on parsed rows are kept: parsing them again would cost more than one part more in the block. */
const keptPartsBytesMin = 256 * 1024

export class BodyBatcher {
  readonly #deps: BodyBatcherDeps
  readonly #options: BodyBatcherOptions
  readonly #smallGroups = new SmallGroups()
  readonly #gatherings = new Map<string, Gathering>()

  constructor(deps: BodyBatcherDeps, options: BodyBatcherOptions) {
    this.#deps = deps
    this.#options = options
  }

  /** Parses and logs the body soon; it is told what became of it. */
  add(body: PendingBody): void {
    const { id } = body.request.dataSource
    const gathering = this.#gatherings.get(id) ?? { waiting: [], parsing: 0, isScheduled: false }
    this.#gatherings.set(id, gathering)
    gathering.waiting.push(body)
    if (gathering.isScheduled) return
    gathering.isScheduled = true
    // One turn of the event loop: requests that were read from their sockets together are parsed together.
    setImmediate(() => {
      gathering.isScheduled = false
      this.#parseNext(id, gathering)
    })
  }

  #parseNext(id: string, gathering: Gathering): void {
    while (gathering.waiting.length > 0 && gathering.parsing < parsesAtOnceMax) {
      gathering.parsing += 1
      void this.#parseAndLog(takeGroup(gathering.waiting, this.#options.frameBytes), () => {
        gathering.parsing -= 1
        this.#parseNext(id, gathering)
        if (gathering.parsing === 0 && gathering.waiting.length === 0) this.#gatherings.delete(id)
      })
    }
  }

  /** Never rejects: each body learns what became of it. `onParsed` is called before the log is waited for. */
  async #parseAndLog(bodies: readonly PendingBody[], onParsed: () => void): Promise<void> {
    let isParsing = true
    const endParsing = (): void => {
      if (isParsing) onParsed()
      isParsing = false
    }
    try {
      const [first] = bodies
      assert(first !== undefined, 'a group has bodies')
      const plan = schemaPlanOf(first.request.dataSource)
      const records = bodies.map((body) => body.records)
      const counts = this.#smallGroups.count(plan, records)
      const parsed = counts === null ? await parseGroup(this.#deps.pool, plan, records) : countedRows(counts)
      const logging = this.#logBodies(bodies, parsed)
      endParsing()
      await logging
    } catch (error) {
      for (const { reject } of bodies) reject(error)
    } finally {
      endParsing()
    }
  }

  async #logBodies(
    bodies: readonly PendingBody[],
    parsed: ParsedRows & { readonly bodies: readonly BodyCounts[] },
  ): Promise<void> {
    const withRows: { readonly body: PendingBody; readonly counts: Counts }[] = []
    for (let position = 0; position < bodies.length; position += 1) {
      const body = bodies[position]
      const found = parsed.bodies[position]
      assert(body !== undefined && found !== undefined, 'every body is counted')
      const counts = { rowCount: found.rows, quarantinedRowCount: found.quarantined }
      if (found.rows + found.quarantined > 0) withRows.push({ body, counts })
      else body.resolve({ counts, sequence: null })
    }
    const [first] = withRows
    if (first === undefined) return
    const nowMs = this.#options.now()
    const noted = withRows.flatMap(({ body, counts }) =>
      body.key === null ? [] : [{ key: body.key, note: noteOf(body.key, counts, nowMs) }],
    )
    const entries = withRows.map(({ body, counts }) => entryOf(body, counts, nowMs))
    if (noted.length > 0)
      entries.push(
        noteEntry(
          noted.map(({ note }) => note),
          first.body,
          nowMs,
        ),
      )
    const sequences = await this.#deps.log.append(entries)
    const noteSequence = sequences.at(-1)
    for (const { key, note } of noted)
      if (noteSequence !== undefined)
        this.#deps.keys.remember(key, { note, sequence: noteSequence, stream: first.body.request.dataSource.id })
    const { dataSource } = first.body.request
    const logged = { sequences: sequences.slice(0, withRows.length), entries: entries.slice(0, withRows.length) }
    this.#deps.onLogged(dataSource, batchOf(withRows, logged, parsed))
    for (const [position, { body, counts }] of withRows.entries()) {
      body.resolve({ counts, sequence: sequences[position] ?? null })
    }
  }
}

/** The next bodies of one framing and one version of the schema, up to a frame, but at least one. */
function takeGroup(waiting: PendingBody[], frameBytes: number): readonly PendingBody[] {
  const [first] = waiting
  const bytesMax = first === undefined ? 0 : bytesAtOnceMax(first.request.dataSource.columns, frameBytes)
  let byteCount = 0
  let count = 0
  for (const { records, request } of waiting) {
    byteCount += records.bytes.length + 1
    if (records.framing !== first?.records.framing) break
    if (request.dataSource.version !== first.request.dataSource.version) break
    if (count > 0 && byteCount > bytesMax) break
    count += 1
  }
  return waiting.splice(0, count)
}

function entryOf({ request, records }: PendingBody, counts: Counts, nowMs: number): NewEntry {
  const { dataSource, packed, framing } = request
  return {
    kind: 'rows',
    stream: dataSource.id,
    version: dataSource.version,
    encoding: packed.encoding,
    flags: flagsOf(framing, records.rules),
    acceptedAtMs: nowMs,
    ...counts,
    payload: packed.bytes,
  }
}

/** One entry for the notes of all bodies, behind them in the same batch. */
function noteEntry(notes: readonly Note[], { request }: PendingBody, nowMs: number): NewEntry {
  return bookkeepingEntry({ kind: 'note', stream: request.dataSource.id, atMs: nowMs, payload: encodeNotes(notes) })
}

function batchOf(
  withRows: readonly { readonly body: PendingBody; readonly counts: Counts }[],
  { sequences, entries }: { readonly sequences: readonly Sequence[]; readonly entries: readonly NewEntry[] },
  parsed: ParsedRows,
): LoggedBatch {
  const bodies = withRows.map(({ body }) => body)
  return {
    sequences,
    acceptedAtMs: entries[0]?.acceptedAtMs ?? 0,
    loggedBytes: entries.reduce((total, entry) => total + entryBytesOf(entry), 0),
    heldBytes: bodies.reduce((total, { request }) => total + request.body.length, 0),
    rowCount: parsed.rowCount,
    quarantinedRowCount: parsed.quarantinedRowCount,
    content:
      bytesOf(parsed) >= keptPartsBytesMin
        ? { kind: 'parsed', rows: parsed }
        : { kind: 'bodies', bodies: joinedBodies(bodies.map(({ records }) => records)) },
  }
}
