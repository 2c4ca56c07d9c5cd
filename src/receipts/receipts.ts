/**
 * Receipts: what was acknowledged to a sender, as a text, and queries that wait until they see it.
 *
 * 1. A receipt is about all rows of a data source up to a place of the log, so the last one of a sender stands for those before.
 * 2. Who reads waits for a receipt only where the query reads its data source, or what views make of that: then for the rows, and not at
 *    all for a view that lacks them, which is told.
 * 3. Waiting takes no memory but the request's own, and there is a bound of how many wait, and how long.
 */
import type { Catalog } from '../catalog/catalog.ts'
import { viewLabel } from '../catalog/node-views.ts'
import type { Ingest } from '../ingest/ingest.types.ts'
import type { BehindView } from '../materialize/behind/behind.types.ts'
import { reachOf } from '../materialize/behind/view-reach.ts'
import type { ViewsBehind } from '../materialize/behind/views-behind.ts'
import { cascadeFrom } from '../materialize/view-graph.ts'
import { errors } from '../shared/errors/errors.ts'
import type { Settings } from '../storage/settings.ts'
import { quarantineTable } from '../store/sql/quarantine-table.ts'
import { ProcessLives } from './process-lives.ts'
import { processIdOf, ReceiptSeal, type SealedPlace } from './receipt-seal.ts'

export interface ReceiptOptions {
  readonly receiptWaitMaxMs: number
  readonly receiptWaitsMax: number
}

interface ReceiptDeps {
  readonly settings: Settings
  readonly catalog: Pick<Catalog, 'find' | 'listPipes'>
  readonly ingest: Pick<Ingest, 'isLost' | 'isQueryable' | 'logPlace' | 'untilQueryable'>
  readonly behind: Pick<ViewsBehind, 'of'>
  /** Milliseconds that never go back. */
  readonly clock: () => number
}

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
  readonly #own: ReceiptSeal
  /** Of earlier processes. */
  readonly #others = new Map<string, ReceiptSeal>()
  #waitingCount = 0

  constructor(options: ReceiptOptions, deps: Omit<ReceiptDeps, 'settings'> & { readonly lives: ProcessLives }) {
    this.#options = options
    this.#deps = deps
    this.#own = new ReceiptSeal(deps.lives.secret, deps.lives.processId)
  }

  /** A receipt for rows of a data source that were acknowledged up to a place of the log. */
  textOf(dataSourceId: SealedPlace['dataSourceId'], place: number): string {
    return this.#own.seal(dataSourceId, place)
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
    signal: AbortSignal,
  ): Promise<void> {
    const { clock } = this.#deps
    const endMs = clock() + this.#options.receiptWaitMaxMs
    const read = new Set(tables)
    for (const receipt of receipts) {
      if (!this.#isFor(receipt, read)) continue
      await this.#untilStored(receipt, { timeMaxMs: Math.max(1, endMs - clock()), signal })
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
    return opened.place <= lastPlace ? opened : { ...opened, place: Number.POSITIVE_INFINITY }
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

  async #untilStored(
    { dataSourceId, place }: SealedPlace,
    { timeMaxMs, signal }: { readonly timeMaxMs: number; readonly signal: AbortSignal },
  ): Promise<void> {
    const { ingest } = this.#deps
    if (place === Number.POSITIVE_INFINITY || ingest.isLost(place)) {
      throw errors.RECEIPT_NOT_REACHED({ reason: 'its rows were lost with a part of the log', view: null })
    }
    if (ingest.isQueryable({ dataSourceId, place })) return
    if (this.#waitingCount >= this.#options.receiptWaitsMax)
      throw errors.RECEIPT_WAITS_TOO_MANY({ retryAfterSeconds: 1 })
    this.#waitingCount += 1
    try {
      if (await ingest.untilQueryable({ dataSourceId, place, timeMaxMs, signal })) return
    } finally {
      this.#waitingCount -= 1
    }
    signal.throwIfAborted()
    const seconds = this.#options.receiptWaitMaxMs / 1000
    throw errors.RECEIPT_NOT_REACHED({ reason: `its rows could not be queried within ${seconds} seconds`, view: null })
  }

  #refuseBehind({ dataSourceId, place }: SealedPlace, read: ReadonlySet<string>): void {
    const lacking = this.#deps.behind.of(dataSourceId)
    if (lacking.length === 0) return
    const pipes = this.#deps.catalog.listPipes()
    const found = lacking.find(({ node: { view } }) => {
      const first = view.behind?.place ?? 0
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
