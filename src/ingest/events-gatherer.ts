/**
 * Gathers small bodies of events into blocks, one data source at a time.
 *
 * Work-conserving: a body that finds its data source idle goes at once; bodies that arrive while a block is being stored
 * wait and become the next block together. A body is stored as a whole, in one block, and answered after that.
 */
import { framePaddingBytes } from '../codec/frame-assembler.ts'
import type { BodyCounts, ParseResult, ParseTask } from '../codec/parse-task.types.ts'
import { assert } from '../shared/assert.ts'
import { errors } from '../shared/errors.ts'
import type { AppendRequest, Store } from '../store/store.types.ts'
import { toFailure, toRefusal } from './append-error.ts'
import { createBlockId } from './block-id.ts'
import type { EventsOutcome, EventsRequest } from './ingest.types.ts'
import { type IngestPlan, ingestPlanOf } from './ingest-plan.ts'
import type { ParsePool } from './parse-pool.ts'

export interface EventsOptions {
  /** Bytes of all bodies that wait or are being stored; beyond it senders are refused. */
  readonly pendingBytesMax: number
  /** Bytes of bodies that make one block. */
  readonly blockBytesMax: number
}

interface PendingBody {
  readonly request: EventsRequest
  readonly resolve: (outcome: EventsOutcome) => void
  readonly reject: (error: unknown) => void
}

interface Line {
  readonly waiting: PendingBody[]
  isFlushing: boolean
}

/** Seconds after which a refused sender may try again: blocks take some tens of milliseconds. */
const retryAfterSeconds = 1
const lineFeed = 0x0a

export class EventsGatherer {
  private readonly pool: ParsePool
  private readonly store: Store
  private readonly options: EventsOptions
  private readonly lines = new Map<string, Line>()
  private pendingBytes = 0
  private readonly flushes = new Set<Promise<void>>()

  constructor(pool: ParsePool, store: Store, options: EventsOptions) {
    this.pool = pool
    this.store = store
    this.options = options
  }

  /** @throws BACKLOG_FULL (503) when too much waits already; nothing of the body is stored then. */
  append(request: EventsRequest): Promise<EventsOutcome> {
    // A body that finds nothing waiting is taken whatever its size, which the front desk bounds: else it never would be.
    if (this.pendingBytes > 0 && this.pendingBytes + request.body.length > this.options.pendingBytesMax) {
      throw errors.BACKLOG_FULL({ retryAfterSeconds })
    }
    this.pendingBytes += request.body.length
    return new Promise<EventsOutcome>((resolve, reject) => {
      this.enqueue({ request, resolve, reject })
    }).finally(() => {
      this.pendingBytes -= request.body.length
    })
  }

  /** Resolves when every body that was taken has its answer. */
  async close(): Promise<void> {
    while (this.flushes.size > 0) await Promise.all(this.flushes)
  }

  private enqueue(body: PendingBody): void {
    const { id } = body.request.dataSource
    const line = this.lines.get(id) ?? { waiting: [], isFlushing: false }
    this.lines.set(id, line)
    line.waiting.push(body)
    if (line.isFlushing) return
    line.isFlushing = true
    const flush = this.flush(id, line).finally(() => this.flushes.delete(flush))
    this.flushes.add(flush)
  }

  private async flush(id: string, line: Line): Promise<void> {
    // One turn of the event loop: requests that were read from their sockets together become one block.
    await new Promise<void>((resolve) => setImmediate(resolve))
    while (line.waiting.length > 0) await this.storeBlock(this.takeBlock(line.waiting))
    this.lines.delete(id)
  }

  /** The next bodies of one framing, up to a block's size, but at least one. */
  private takeBlock(waiting: PendingBody[]): readonly PendingBody[] {
    const framing = waiting[0]?.request.framing
    const version = waiting[0]?.request.dataSource.version
    let byteCount = 0
    let count = 0
    for (const { request } of waiting) {
      byteCount += request.body.length
      if (request.framing !== framing || request.dataSource.version !== version) break
      if (count > 0 && byteCount > this.options.blockBytesMax) break
      count += 1
    }
    return waiting.splice(0, count)
  }

  /** Never rejects: each body learns what became of it. */
  private async storeBlock(bodies: readonly PendingBody[]): Promise<void> {
    try {
      const [first] = bodies
      assert(first !== undefined, 'a block has bodies')
      const plan = ingestPlanOf(first.request.dataSource, null)
      let counts: readonly BodyCounts[] = []
      const { done } = await this.pool.submit(taskOf(plan, bodies), async (result) => {
        counts = result.bodies
        await this.appendParts(plan, result)
      })
      await done
      for (const [position, { resolve }] of bodies.entries()) {
        const { rows = 0, quarantined = 0 } = counts[position] ?? {}
        resolve({ successfulRows: rows, quarantinedRows: quarantined })
      }
    } catch (error) {
      for (const { reject } of bodies) reject(error)
    }
  }

  private async appendParts(plan: IngestPlan, result: ParseResult): Promise<void> {
    const { block, rowCount, quarantineBlock, quarantinedRowCount } = result
    if (block !== null) await this.appendPart({ ...plan.landing, parts: [block], rowCount }, toRefusal)
    if (quarantineBlock === null) return
    const part = { ...plan.quarantine, parts: [quarantineBlock], rowCount: quarantinedRowCount }
    // With the rows stored already, no answer may say that nothing is.
    await this.appendPart(part, block === null ? toRefusal : toFailure)
  }

  private async appendPart(part: Omit<AppendRequest, 'blockId'>, toError: (thrown: unknown) => unknown): Promise<void> {
    try {
      await this.store.append({ ...part, blockId: createBlockId() })
    } catch (error) {
      throw toError(error)
    }
  }
}

/** Copies the bodies behind one another into a frame, each ended by a line feed. */
function taskOf(plan: IngestPlan, bodies: readonly PendingBody[]): ParseTask {
  const byteCount = bodies.reduce((total, { request }) => total + request.body.length + 1, 0)
  const frame = new Uint8Array(byteCount + framePaddingBytes)
  const bodyEnds: number[] = []
  let offset = 0
  for (const { request } of bodies) {
    frame.set(request.body, offset)
    offset += request.body.length
    frame[offset] = lineFeed
    offset += 1
    bodyEnds.push(offset)
  }
  const record =
    bodies[0]?.request.framing === 'document' ? ({ kind: 'document' } as const) : ({ kind: 'ndjson' } as const)
  return {
    planKey: plan.planKey,
    columns: plan.columns,
    frame,
    byteCount,
    start: 0,
    bodyEnds,
    record,
    keepsInvalidLines: true,
    partPaths: null,
  }
}
