/**
 * Receipts: what was acknowledged to a sender, as a text, and queries that wait until they see it.
 *
 * 1. A receipt is about all rows of a data source up to a place of the log, so the last one of a sender stands for those before.
 * 2. Who reads waits for a receipt only where the query reads its data source, or what views make of that: then for the rows, and not at
 *    all for a view that lacks them, which is told.
 * 3. The receipt of an import that runs as a job is about the rows that it has stored at its end.
 * 4. Waiting takes no memory but the request's own, and there is a bound of how many wait, in all and for one token, and how long.
 */
import type { Catalog } from '../catalog/catalog.ts'
import type { DataSourceId } from '../catalog/data-source.types.ts'
import { parseDataSourceId } from '../catalog/data-source-id.ts'
import { viewLabel } from '../catalog/node-views.ts'
import type { Ingest } from '../ingest/ingest.types.ts'
import type { Job, Jobs } from '../jobs/jobs.types.ts'
import type { BehindView } from '../materialize/behind/behind.types.ts'
import { reachOf } from '../materialize/behind/view-reach.ts'
import type { ViewsBehind } from '../materialize/behind/views-behind.ts'
import { cascadeFrom } from '../materialize/view-graph.ts'
import { errors } from '../shared/errors/errors.ts'
import type { Settings } from '../storage/settings.ts'
import { quarantineTable } from '../store/sql/quarantine-table.ts'
import { JobEnds } from './job-ends.ts'
import { ProcessLives } from './process-lives.ts'
import { processIdOf, ReceiptSeal, type SealedPlace } from './receipt-seal.ts'

export interface ReceiptOptions {
  readonly receiptWaitMaxMs: number
  readonly receiptWaitsMax: number
}

interface ReceiptDeps {
  readonly settings: Pick<Settings, 'read' | 'write'>
  readonly catalog: Pick<Catalog, 'find' | 'listPipes'>
  readonly ingest: Pick<Ingest, 'isLost' | 'isQueryable' | 'logPlace' | 'untilQueryable'>
  readonly behind: Pick<ViewsBehind, 'of'>
  readonly jobs: Pick<Jobs, 'find' | 'watch'>
  /** Milliseconds that never go back. */
  readonly clock: () => number
}

/** Who asks for a query that is to wait. */
export interface ReceiptWaiter {
  /** Whose share of the waits it takes: an id of its token. */
  readonly ownerId: string
  readonly signal: AbortSignal
}

interface WaitBound extends ReceiptWaiter {
  readonly timeMaxMs: number
}

/** Of an import that is yet to make its data source: until then no query reads it. */
const unknownDataSource = parseDataSourceId(`t_${'0'.repeat(32)}`)

function uuidOf(hex: string): string {
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')
}

/** What one token may have of the waits at once, so that others find places. */
const ownerShare = 1 / 4

/** Receipts that a request may send back at once. */
export const receiptsMax = 32

/** Notes that a process begins, whose receipts these are. @throws DISK_UNAVAILABLE (503) */
export async function openReceipts(options: ReceiptOptions, deps: ReceiptDeps): Promise<Receipts> {
  const lives = await ProcessLives.begin(deps.settings, deps.ingest.logPlace)
  return new Receipts(options, { ...deps, lives })
}

export class Receipts {
  readonly #options: ReceiptOptions
  readonly #deps: Omit<ReceiptDeps, 'settings'> & { readonly lives: ProcessLives }
  readonly #jobEnds: JobEnds
  readonly #own: ReceiptSeal
  /** Of earlier processes. */
  readonly #others = new Map<string, ReceiptSeal>()
  #waitingCount = 0
  readonly #waitingByOwner = new Map<string, number>()

  constructor(options: ReceiptOptions, deps: Omit<ReceiptDeps, 'settings'> & { readonly lives: ProcessLives }) {
    this.#options = options
    this.#deps = deps
    this.#jobEnds = new JobEnds(deps.jobs)
    this.#own = new ReceiptSeal(deps.lives.secret, deps.lives.processId)
  }

  /** A receipt for rows of a data source that were acknowledged up to a place of the log. */
  textOf(dataSourceId: DataSourceId, place: number): string {
    return this.#own.seal(dataSourceId, place)
  }

  /** A receipt for the rows of an import that has ended, and all that are acknowledged by now. */
  textOfImport(dataSourceId: DataSourceId, importId: string): string {
    return this.#own.seal(dataSourceId, this.#deps.ingest.logPlace, importId.replaceAll('-', ''))
  }

  /** The same for an import that runs as a job, with the rows that it will have brought by its end. */
  textOfJob({ id, subject }: Pick<Job, 'id' | 'subject'>): string {
    const known = subject === null ? unknownDataSource : parseDataSourceId(subject.id)
    return this.#own.seal(known, this.#deps.ingest.logPlace, id.replaceAll('-', ''))
  }

  /**
   * What texts say that were given here.
   * @throws RECEIPT_INVALID (400) when one was not, or there are too many.
   */
  read(texts: readonly string[]): readonly SealedPlace[] {
    if (texts.length > receiptsMax) {
      throw errors.RECEIPT_INVALID({ reason: `there are more than ${receiptsMax} of them in one request` })
    }
    return texts.map((text) => this.#readOne(text))
  }

  /**
   * Resolves when a query of these tables sees all rows of the receipts that are for it.
   * @throws RECEIPT_NOT_REACHED (408) when it does not in time, RECEIPT_WAITS_TOO_MANY (503).
   */
  async untilQueryable(
    receipts: readonly SealedPlace[],
    tables: readonly string[],
    waiter: ReceiptWaiter,
  ): Promise<void> {
    const { clock } = this.#deps
    const endMs = clock() + this.#options.receiptWaitMaxMs
    const read = new Set(tables)
    const bound = (): WaitBound => ({ timeMaxMs: Math.max(1, endMs - clock()), ...waiter })
    for (const receipt of receipts) {
      if (!this.#isFor(receipt, read)) continue
      const job = this.#jobOf(receipt)
      if (job !== undefined) await this.#untilEnded(job, bound())
      await this.#untilStored(receipt, bound())
      this.#refuseBehind(receipt, read)
    }
  }

  #readOne(text: string): SealedPlace {
    const processId = processIdOf(text)
    if (processId === null) throw errors.RECEIPT_INVALID({ reason: 'it is not a receipt, or not the whole of one' })
    const lastPlace = this.#deps.lives.lastPlaceOf(processId)
    const opened = lastPlace === null ? null : this.#sealOf(processId).open(text)
    if (lastPlace === null || opened === null)
      throw errors.RECEIPT_INVALID({ reason: 'it was not given by this service' })
    // The end of the log is gone, and its places may have been given to others.
    const known = opened.place <= lastPlace ? opened : { ...opened, place: Number.POSITIVE_INFINITY }
    const subject = this.#jobOf(known)?.subject ?? null
    return subject === null ? known : { ...known, dataSourceId: parseDataSourceId(subject.id) }
  }

  /** The job of an import, as long as it is known. */
  #jobOf({ importHex }: SealedPlace): Job | undefined {
    return importHex === null ? undefined : this.#deps.jobs.find(uuidOf(importHex))
  }

  #sealOf(processId: string): ReceiptSeal {
    const { lives } = this.#deps
    if (processId === lives.processId) return this.#own
    const known = this.#others.get(processId) ?? new ReceiptSeal(lives.secret, processId)
    this.#others.set(processId, known)
    return known
  }

  /** Whether a query of these tables reads the data source of a receipt, or what views make of it. One that is gone has nothing to show. */
  #isFor({ dataSourceId }: SealedPlace, read: ReadonlySet<string>): boolean {
    const { catalog } = this.#deps
    if (catalog.find(dataSourceId) === undefined) return false
    if (read.has(dataSourceId) || read.has(quarantineTable(dataSourceId))) return true
    return cascadeFrom(dataSourceId, catalog.listPipes()).some(({ view }) => read.has(view.targetId))
  }

  async #untilEnded({ id }: Job, bound: WaitBound): Promise<void> {
    if (this.#jobEnds.hasEnded(id)) return
    const isOver = await this.#asOneOfFew(bound, () => this.#jobEnds.until(id, bound))
    if (isOver) return
    bound.signal.throwIfAborted()
    throw this.#late('its import has not ended')
  }

  async #untilStored({ dataSourceId, place }: SealedPlace, bound: WaitBound): Promise<void> {
    const { ingest } = this.#deps
    const { timeMaxMs, signal } = bound
    if (place === Number.POSITIVE_INFINITY || ingest.isLost(place)) {
      throw errors.RECEIPT_NOT_REACHED({ reason: 'its rows were lost with a part of the log', view: null })
    }
    if (ingest.isQueryable({ dataSourceId, place })) return
    const wait = (): Promise<boolean> => ingest.untilQueryable({ dataSourceId, place, timeMaxMs, signal })
    if (await this.#asOneOfFew(bound, wait)) return
    signal.throwIfAborted()
    throw this.#late('its rows could not be queried')
  }

  async #asOneOfFew({ ownerId }: ReceiptWaiter, wait: () => Promise<boolean>): Promise<boolean> {
    const { receiptWaitsMax } = this.#options
    const ownerWaitsMax = Math.ceil(receiptWaitsMax * ownerShare)
    const ownCount = this.#waitingByOwner.get(ownerId) ?? 0
    if (ownCount >= ownerWaitsMax) throw errors.RECEIPT_WAITS_TOO_MANY({ ownerWaitsMax, retryAfterSeconds: 1 })
    if (this.#waitingCount >= receiptWaitsMax) {
      throw errors.RECEIPT_WAITS_TOO_MANY({ ownerWaitsMax: null, retryAfterSeconds: 1 })
    }
    this.#countWait(ownerId, 1)
    try {
      return await wait()
    } finally {
      this.#countWait(ownerId, -1)
    }
  }

  #countWait(ownerId: string, change: 1 | -1): void {
    this.#waitingCount += change
    const count = (this.#waitingByOwner.get(ownerId) ?? 0) + change
    if (count === 0) this.#waitingByOwner.delete(ownerId)
    else this.#waitingByOwner.set(ownerId, count)
  }

  #late(what: string): Error {
    const seconds = this.#options.receiptWaitMaxMs / 1000
    return errors.RECEIPT_NOT_REACHED({ reason: `${what} within ${seconds} seconds`, view: null })
  }

  #refuseBehind({ dataSourceId, place, importHex }: SealedPlace, read: ReadonlySet<string>): void {
    const lacking = this.#deps.behind.of(dataSourceId)
    if (lacking.length === 0) return
    const pipes = this.#deps.catalog.listPipes()
    const found = lacking.find(({ node: { view } }) => {
      // Which blocks of imports it lacks, no place in the log of events tells.
      const first = importHex === null ? (view.behind?.place ?? 0) : 0
      return first <= place && [...reachOf(view, pipes)].some((table) => read.has(table))
    })
    if (found !== undefined) throw notReachedFor(found)
  }
}

function notReachedFor({ node, state }: BehindView): Error {
  const reason =
    state === 'parked'
      ? 'it failed, and the rows wait until it works'
      : 'it failed, and is incomplete until it is populated anew'
  return errors.RECEIPT_NOT_REACHED({ reason, view: { label: viewLabel(node), pipe: node.pipe.name } })
}
