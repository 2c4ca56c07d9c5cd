/**
 * Takes bodies of events: parses and counts them, writes them into the log, and answers.
 *
 * Bodies of a data source that arrive together are parsed together and written by one batch of the log; the log then syncs
 * the batches of all data sources at once. A body is answered when it is on disk, or, if its sender waits, when the engine
 * has it. What is parsed already is kept for the block if it is large; small bodies are parsed once more, together.
 */
import type { DataSource } from '../../catalog/data-source.types.ts'
import type { BodyCounts } from '../../codec/parse-task.types.ts'
import { bytesAtOnceMax } from '../../schema/columns/row-weight.ts'
import { assert } from '../../shared/assert.ts'
import { errors } from '../../shared/errors/errors.ts'
import { entryBytesOf } from '../../wal/entry-format.ts'
import { bookkeepingEntry, encodeNotes, type Note } from '../../wal/entry-payloads.ts'
import type { Sequence } from '../../wal/sequence.ts'
import type { NewEntry } from '../../wal/wal.types.ts'
import type { EventsOutcome, EventsRequest } from '../ingest.types.ts'
import { schemaPlanOf } from '../ingest-plan.ts'
import type { ParsedRows } from '../insert/block.types.ts'
import { bytesOf, countedRows, parseGroup } from '../insert/block-parser.ts'
import type { MemoryBudget } from '../memory-budget.ts'
import type { ParsePool } from '../parse/parse-pool.ts'
import {
  flagsOf,
  joinedBodies,
  type RecordBody,
  recordsOf,
  refuseLongRecords,
  refuseManyRows,
} from '../parse/record-body.ts'
import type { BacklogLimit } from './backlog-limit.ts'
import type { LineStatus, LoggedBatch } from './events.types.ts'
import type { EventsLine } from './events-line.ts'
import type { EventsLog } from './events-log.ts'
import { bodyKey, type IdempotencyIndex, noteOf, type RequestKey, requestKey } from './idempotency-index.ts'
import { SmallGroups } from './small-groups.ts'

export interface GathererOptions {
  /** Bytes of bodies that are parsed together. */
  readonly frameBytes: number
  readonly recordBytesMax: number
  readonly eventsWaitMaxMs: number
  /** `key`: by the header alone. `body`: also by the bytes of the body. */
  readonly eventsIdempotency: 'body' | 'key'
  readonly now: () => number
  /** When there may be room again: for a data source whose backlog is full, or in memory. */
  readonly retryAfterSeconds: (status?: LineStatus) => number
}

interface GathererRooms {
  readonly pool: ParsePool
  readonly log: Pick<EventsLog, 'append'>
  readonly keys: IdempotencyIndex
  readonly budget: MemoryBudget
  readonly backlog: BacklogLimit
  readonly lineOf: (dataSource: DataSource) => EventsLine
}

interface PendingBody {
  readonly request: EventsRequest
  readonly records: RecordBody
  readonly key: RequestKey | null
  readonly resolve: (taken: TakenBody) => void
  readonly reject: (error: unknown) => void
}

/** A body that is in the log; the sequence is null when there is nothing to wait for: no rows, or stored long ago. */
interface TakenBody {
  readonly counts: Counts
  readonly sequence: Sequence | null
}

interface Counts {
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

export class EventsGatherer {
  private readonly rooms: GathererRooms
  private readonly options: GathererOptions
  private readonly smallGroups = new SmallGroups()
  private readonly gatherings = new Map<string, Gathering>()
  /** Bodies that are neither in the log nor refused, by stream. */
  private readonly underWay = new Map<string, Set<Promise<TakenBody>>>()

  constructor(rooms: GathererRooms, options: GathererOptions) {
    this.rooms = rooms
    this.options = options
  }

  /**
   * Resolves when the body is on disk, or stored if its sender waits.
   * @throws RECORD_TOO_LARGE (413), BACKLOG_FULL, VIEW_BLOCKS (503) with nothing taken; what the log refuses with; VIEW_FAILED (422).
   */
  async append(request: EventsRequest): Promise<EventsOutcome> {
    const line = this.rooms.lineOf(request.dataSource)
    const key = this.keyOf(request)
    if (key !== null) {
      const known = await this.answered(key)
      if (known !== null) return await this.outcomeOf(line, known, request)
    }
    const taken = await this.take(request, line, key)
    if (request.isWaiting) return await this.outcomeOf(line, taken, request)
    return outcome(taken, taken.sequence === null)
  }

  /** Resolves when what was taken of a data source, or of all, is in the log. */
  async settle(stream?: string): Promise<void> {
    const all = stream === undefined ? [...this.underWay.values()] : [this.underWay.get(stream) ?? new Set()]
    await Promise.allSettled(all.flatMap((promises) => [...promises]))
  }

  private keyOf({ dataSource, idempotencyKey, framing, body }: EventsRequest): RequestKey | null {
    if (idempotencyKey !== null) return requestKey([dataSource.id, 'key', idempotencyKey], body)
    if (this.options.eventsIdempotency === 'key') return null
    return bodyKey([dataSource.id, 'body', framing], body)
  }

  /** What the first request with this key was answered with; null when this one is the first, which then is under way. */
  private async answered(key: RequestKey): Promise<TakenBody | null> {
    const { keys } = this.rooms
    for (;;) {
      const known = keys.find(key, this.options.now())
      if (known === undefined) {
        keys.begin(key)
        return null
      }
      if (known.kind === 'answered') {
        if (known.bodyText !== key.bodyText) throw errors.IDEMPOTENCY_KEY_REUSED()
        const { rowCount, quarantinedRowCount, rowsUpTo } = known
        return { counts: { rowCount, quarantinedRowCount }, sequence: rowsUpTo }
      }
      await known.settled
    }
  }

  private async outcomeOf(line: EventsLine, taken: TakenBody, request: EventsRequest): Promise<EventsOutcome> {
    const { sequence } = taken
    const isStored =
      sequence === null || (request.isWaiting && (await line.untilStored(sequence, this.options.eventsWaitMaxMs)))
    return outcome(taken, isStored)
  }

  /** Resolves when the body is in the log. Written with as few promises as it takes: it runs for every request. */
  private take(request: EventsRequest, line: EventsLine, key: RequestKey | null): Promise<TakenBody> {
    const { budget, keys } = this.rooms
    try {
      this.refuseWhenBlocked(request, line)
      if (!budget.tryTake(request.body.length)) throw this.backlogFull()
    } catch (error) {
      if (key !== null) keys.forget(key)
      return Promise.reject(error)
    }
    const logged = new Promise<TakenBody>((resolve, reject) => {
      const records = recordsOf(request.body, request.framing)
      refuseLongRecords(records, this.options.recordBytesMax)
      refuseManyRows(records, request.dataSource.columns)
      this.enqueue({ request, records, key, resolve, reject })
    })
    const letGo = (): void => {
      budget.give(request.body.length)
      if (key !== null) keys.forget(key)
    }
    this.track(line.stream, logged)
    return logged.then(
      (taken) => {
        this.untrack(line.stream, logged)
        // A batch without rows is not in the log, and its line never gives the bytes back.
        if (taken.sequence === null) letGo()
        return taken
      },
      (error: unknown) => {
        this.untrack(line.stream, logged)
        letGo()
        throw error
      },
    )
  }

  private refuseWhenBlocked({ isWaiting }: EventsRequest, line: EventsLine): void {
    const { status } = line
    const { failure } = status
    if (line.isBarred) throw errors.DATASOURCE_CHANGING({ name: line.name, retryAfterSeconds: 1 })
    if (this.rooms.backlog.isReached(status)) throw this.backlogFull(status)
    if (!isWaiting || failure?.kind !== 'view') return
    const retryAfterSeconds = Math.max(1, Math.ceil((failure.retryAtMs - this.options.now()) / 1000))
    throw errors.VIEW_BLOCKS({ reason: failure.message, retryAfterSeconds })
  }

  private backlogFull(status?: LineStatus): Error {
    return errors.BACKLOG_FULL({ retryAfterSeconds: this.options.retryAfterSeconds(status) })
  }

  private enqueue(body: PendingBody): void {
    const { id } = body.request.dataSource
    const gathering = this.gatherings.get(id) ?? { waiting: [], parsing: 0, isScheduled: false }
    this.gatherings.set(id, gathering)
    gathering.waiting.push(body)
    if (gathering.isScheduled) return
    gathering.isScheduled = true
    // One turn of the event loop: requests that were read from their sockets together are parsed together.
    setImmediate(() => {
      gathering.isScheduled = false
      this.parseNext(id, gathering)
    })
  }

  private parseNext(id: string, gathering: Gathering): void {
    while (gathering.waiting.length > 0 && gathering.parsing < parsesAtOnceMax) {
      gathering.parsing += 1
      void this.parseAndLog(takeGroup(gathering.waiting, this.options.frameBytes), () => {
        gathering.parsing -= 1
        this.parseNext(id, gathering)
        if (gathering.parsing === 0 && gathering.waiting.length === 0) this.gatherings.delete(id)
      })
    }
  }

  /** Never rejects: each body learns what became of it. `onParsed` is called before the log is waited for. */
  private async parseAndLog(bodies: readonly PendingBody[], onParsed: () => void): Promise<void> {
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
      const counts = this.smallGroups.count(plan, records)
      const parsed = counts === null ? await parseGroup(this.rooms.pool, plan, records) : countedRows(counts)
      const logging = this.logBodies(bodies, parsed)
      endParsing()
      await logging
    } catch (error) {
      for (const { reject } of bodies) reject(error)
    } finally {
      endParsing()
    }
  }

  private async logBodies(
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
    const nowMs = this.options.now()
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
    const sequences = await this.rooms.log.append(entries)
    const noteSequence = sequences.at(-1)
    for (const { key, note } of noted)
      if (noteSequence !== undefined)
        this.rooms.keys.remember(key, { note, sequence: noteSequence, stream: first.body.request.dataSource.id })
    const { dataSource } = first.body.request
    const logged = { sequences: sequences.slice(0, withRows.length), entries: entries.slice(0, withRows.length) }
    this.rooms.lineOf(dataSource).add(batchOf(withRows, logged, parsed), dataSource)
    for (const [position, { body, counts }] of withRows.entries()) {
      body.resolve({ counts, sequence: sequences[position] ?? null })
    }
  }

  private track(stream: string, logged: Promise<TakenBody>): void {
    const ofStream = this.underWay.get(stream)
    if (ofStream === undefined) this.underWay.set(stream, new Set([logged]))
    else ofStream.add(logged)
  }

  private untrack(stream: string, logged: Promise<TakenBody>): void {
    const ofStream = this.underWay.get(stream)
    ofStream?.delete(logged)
    if (ofStream?.size === 0) this.underWay.delete(stream)
  }
}

function outcome({ counts }: TakenBody, isStored: boolean): EventsOutcome {
  return { successfulRows: counts.rowCount, quarantinedRows: counts.quarantinedRowCount, isStored }
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
