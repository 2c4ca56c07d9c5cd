import { randomUUID } from 'node:crypto'
import type { Catalog } from '../../catalog/catalog.ts'
import type { MaterializedNode } from '../../catalog/pipe.types.ts'
import { mebibyte } from '../../shared/bytes.ts'
import { ApiError, errors } from '../../shared/errors/errors.ts'
import { createResourceHex } from '../../shared/ids.ts'
import { toChangeError, toCopyError } from '../../store/caller-errors.ts'
import type { Store } from '../../store/store.types.ts'
import { isTooCostly, StoreError } from '../../store/store-error.ts'
import type { Holds } from '../materialize.types.ts'
import type { PinnedPlan, Populates } from '../populate/populate.types.ts'
import { cutChunks } from '../populate/populate-chunks.ts'
import { fillChunk, filledColumns, readNames } from '../populate/populate-query.ts'
import { populateTables } from '../populate/populate-tables.ts'
import { populatedView } from '../populate/populated-view.ts'
import { type Comparability, type ComparedView, comparability } from './comparability.ts'
import { comparePinned } from './compare-pinned.ts'
import { comparedRequest, comparedView, stagingOf } from './compared-view.ts'
import type { VerifiedPartition, Verifies, VerifyReport } from './verify.types.ts'

export interface VerifiesOptions {
  readonly verifyRowsMax: number
  readonly verifyTimeMaxMs: number
  readonly populateChunkRowsMax: number
}

export interface VerifiesDeps {
  readonly catalog: Pick<Catalog, 'find' | 'lastNameOf'>
  readonly store: Pick<Store, 'comparisons' | 'fill' | 'partitions' | 'pins' | 'tables' | 'views'>
  readonly holds: Holds
  readonly populates: Pick<Populates, 'graph' | 'heldFor' | 'pin' | 'refuseParked' | 'unpin'>
}

/** Comparisons at once: each holds back events for a moment, and reads all rows of two tables. */
const verifiesAtOnceMax = 2
const chunkBytesMax = 64 * mebibyte
export class VerifyService implements Verifies {
  readonly #options: VerifiesOptions
  readonly #deps: VerifiesDeps
  #running = 0

  constructor(options: VerifiesOptions, deps: VerifiesDeps) {
    this.#options = options
    this.#deps = deps
  }

  async verify(node: MaterializedNode, signal: AbortSignal): Promise<VerifyReport> {
    try {
      this.#deps.populates.refuseParked({ view: populatedView(node), compared: lookOnly })
      const compared = comparedView(node, this.#deps.catalog)
      const judged = comparability(compared, await this.#deps.populates.graph())
      const { reasons, leftOut } = judged
      if (reasons.length > 0) return { reasons, leftOut, partitions: [] }
      await this.#refuseLarge(compared)
      if (this.#running >= verifiesAtOnceMax) throw errors.CHANGES_TOO_MANY({ retryAfterSeconds: 1 })
      this.#running += 1
      try {
        const partitions = await this.#compare({ node, compared, judged, signal })
        return { reasons, leftOut, partitions }
      } finally {
        this.#running -= 1
      }
    } catch (thrown) {
      throw toChangeError(thrown)
    }
  }

  /** @throws VERIFY_TOO_LARGE (400) */
  async #refuseLarge({ source, target }: ComparedView): Promise<void> {
    const tables = await this.#deps.store.tables.list([source.id, target.id])
    const rowCount = [...tables.values()].reduce((rows, table) => rows + table.rowCount, 0)
    const { verifyRowsMax: rowsMax } = this.#options
    if (rowCount > rowsMax) throw errors.VERIFY_TOO_LARGE({ rowCount, rowsMax })
  }

  async #compare(run: VerifyRun): Promise<readonly VerifiedPartition[]> {
    const { holds, populates } = this.#deps
    const { node, compared, judged } = run
    const plan: PinnedPlan = {
      view: populatedView(node),
      sourceName: compared.source.name,
      request: comparedRequest,
      filled: [],
      pinId: createResourceHex(),
      compared: { staging: stagingOf(judged), keepsArrivals: false },
    }
    const endMs = performance.now() + this.#options.verifyTimeMaxMs
    const timeLeft = (): number => {
      run.signal.throwIfAborted()
      const leftMs = endMs - performance.now()
      if (leftMs <= 0) throw this.#timeout()
      return leftMs
    }
    await holds.withStill(await populates.heldFor(plan), () => populates.pin(plan))
    try {
      await this.#fill(plan, timeLeft)
      const { removals } = node.view
      return await comparePinned(this.#deps.store, { ...judged, pinId: plan.pinId, removals, timeMaxMs: timeLeft() })
    } catch (thrown) {
      if (thrown instanceof StoreError && isTooCostly(thrown)) throw this.#timeout(thrown)
      throw toVerifyFailure(thrown, node.node.name)
    } finally {
      await populates.unpin(plan)
    }
  }

  async #fill(plan: PinnedPlan, timeLeft: () => number): Promise<void> {
    const { store } = this.#deps
    const { view, pinId } = plan
    const { pin, staging } = populateTables(pinId)
    const graph = await store.views.graph()
    const target = graph.tables.get(view.targetId)
    if (target === undefined) throw errors.DATASOURCE_NOT_FOUND({ name: this.#deps.catalog.lastNameOf(view.targetId) })
    const limits = { rowsMax: this.#options.populateChunkRowsMax, bytesMax: chunkBytesMax, step: 1, isEven: true }
    const into = { table: staging, columns: filledColumns(view, target), threads: 1 }
    const runId = randomUUID()
    for (const [index, chunk] of cutChunks(await store.pins.parts(pin, readNames(view.select)), limits).entries()) {
      timeLeft()
      await fillChunk(store, chunk, { view, graph, pin, condition: null, blockId: `${runId}-${index}`, ...into })
    }
  }

  #timeout(cause?: unknown): ApiError {
    return errors.VERIFY_TIMEOUT({ timeMaxMs: this.#options.verifyTimeMaxMs, cause })
  }
}

const lookOnly = { staging: 'same', keepsArrivals: false } as const

interface VerifyRun {
  readonly node: MaterializedNode
  readonly compared: ComparedView
  readonly judged: Comparability
  readonly signal: AbortSignal
}

function toVerifyFailure(thrown: unknown, view: string): unknown {
  if (thrown instanceof ApiError && thrown.code === 'SQL_INVALID') {
    return errors.VERIFY_FAILED({ view, reason: thrown.message, cause: thrown })
  }
  return toCopyError(thrown, (reason) => errors.VERIFY_FAILED({ view, reason, cause: thrown }))
}
