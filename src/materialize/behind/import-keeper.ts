/**
 * What is done with INSERTs of imports that views do not take: they are kept as files before they run, for views that are parked, and with
 * the failure of a view, which is parked then. What cannot be kept leaves views incomplete.
 */

import type { MaterializedNode } from '../../catalog/pipe.types.ts'
import { circumstanceCodes, clickhouseCodes } from '../../store/engine-codes.ts'
import type { AppendKeeper, AppendRequest, KeptAppend, WrittenAppend } from '../../store/store.types.ts'
import { isFaultOfService, isTooCostly, StoreError } from '../../store/store-error.ts'
import { cascadeFrom } from '../view-graph.ts'
import type { BehindDeps, FailedBlock } from './behind.types.ts'
import type { KeptImport } from './kept-imports.ts'
import { type FailedView, isKept, isRepeatable, knowsBlocks, viewsBehind } from './view-reach.ts'

/** Who parks views, and knows which are. */
interface Parking {
  /** Whether there may be views that are behind: asked for each INSERT, so it is not looked up. */
  readonly mayHaveSome: boolean
  readonly isClosed: boolean
  setAside(dataSourceId: string, failure: StoreError, block: FailedBlock): Promise<boolean>
  parkable(dataSourceId: string, failure: StoreError): FailedView | undefined
  noteLacking(viewId: string, failure: StoreError): Promise<void>
  lose(nodes: readonly MaterializedNode[], reason: string): Promise<void>
  keptViews(): readonly MaterializedNode[]
}

const unkept = 'rows came that are not kept, such as those of a replay'

export class ImportKeeper implements AppendKeeper {
  readonly #deps: Pick<BehindDeps, 'catalog' | 'imports' | 'kept' | 'logger' | 'store'>
  readonly #parking: Parking

  constructor(deps: Pick<BehindDeps, 'catalog' | 'imports' | 'kept' | 'logger' | 'store'>, parking: Parking) {
    this.#deps = deps
    this.#parking = parking
  }

  beforeAppend(append: WrittenAppend): Promise<KeptAppend | null> | null {
    if (!this.#parking.mayHaveSome && this.#deps.imports.isEmpty) return null
    return this.#beforeAppend(append)
  }

  async keepFailed(append: WrittenAppend, failure: StoreError): Promise<KeptAppend | null> {
    const { catalog } = this.#deps
    const { table } = append.request
    const failed = this.#parking.parkable(table, failure)
    if (failed === undefined || 'mirror' in failed || failed.node.view.sourceId !== table) return null
    if (!isRepeatable(failed.node.view, catalog.listPipes(), (id) => catalog.find(id))) return null
    return await this.#keep(append)
  }

  async setAside({ request }: WrittenAppend, failure: StoreError, kept: KeptAppend | null): Promise<boolean> {
    const block = { kind: 'import', kept: kept instanceof KeptBlock ? kept.block : null } as const
    return await this.#parking.setAside(request.table, failure, block)
  }

  async notePassed({ request }: WrittenAppend, failure: StoreError, kept: KeptAppend | null): Promise<void> {
    // The next start inserts it again, and the view fails again.
    if (this.#parking.isClosed && kept instanceof KeptBlock) return this.#deps.imports.leave(kept.block)
    const failed = this.#parking.parkable(request.table, failure)
    if (failed !== undefined && 'node' in failed) await this.#parking.noteLacking(failed.node.view.id, failure)
    await kept?.noteStored()
  }

  /** Stores what was being stored when an earlier process ended, and lets go of what is damaged or needed by nobody. */
  async settle(): Promise<void> {
    const { imports, logger } = this.#deps
    for (const one of imports.all) {
      if (await imports.areFilesThere(one)) continue
      logger.error({ block: one.blockId }, 'Files of a block that is kept for a Materialized View are missing.')
      await this.#lose(one, 'files that were kept for it are missing or damaged')
    }
    await imports.tidy()
    for (const one of imports.doubtful) await this.#settle(one)
  }

  async #settle(block: KeptImport): Promise<void> {
    const { catalog, imports, logger, store } = this.#deps
    const request = catalog.find(block.dataSourceId) === undefined ? null : await imports.open(block)
    if (request === null) return await this.#lose(block, 'files that were kept for it are missing or damaged')
    imports.begin(block)
    try {
      await store.append({ ...request, table: block.dataSourceId, outlivesViews: true })
    } catch (err) {
      if (err instanceof StoreError && err.areRowsStored) return
      logger.warn({ err, block: block.blockId }, 'A block of an import that an earlier process left was not stored.')
      // Where it is certain that nothing of it is stored, it has gone by now.
      if (imports.doubtful.includes(block))
        await this.#lose(block, 'it is not known whether rows of an import are stored')
    }
  }

  async #beforeAppend(append: WrittenAppend): Promise<KeptAppend | null> {
    const { imports } = this.#deps
    const { table, blockId } = append.request
    const known = imports.isEmpty ? undefined : imports.find(table, blockId)
    const lacking = this.#lacking(table)
    if (lacking.length === 0) return known === undefined ? null : this.#begin(known, append.request)
    const kept = await this.#keep(append)
    if (kept === null) await this.#parking.lose(lacking, unkept)
    return kept
  }

  #begin(known: KeptImport, { partition }: AppendRequest): KeptAppend {
    if (!known.isStored) this.#deps.imports.begin(known)
    return new KeptBlock(known, { isCut: partition !== undefined }, this)
  }

  /** Null where it cannot be kept. */
  async #keep(append: WrittenAppend): Promise<KeptBlock | null> {
    const { imports, kept, logger } = this.#deps
    const { request, paths } = append
    if (!this.#isKeepable(request, paths)) return null
    try {
      const byteCount = await imports.bytesOf(append)
      if (!(await this.#makeRoom(byteCount))) return null
      const block = await imports.add(append, { place: kept().placeNow(request.table), byteCount })
      return new KeptBlock(block, { isCut: request.partition !== undefined }, this)
    } catch (err) {
      logger.error({ err, block: request.blockId }, 'A block could not be kept for Materialized Views that lack it.')
      return null
    }
  }

  /** Behind a kill it is inserted again, so all that it comes to must know it again. */
  #isKeepable({ table, from, query }: AppendRequest, paths: readonly string[]): boolean {
    if (paths.length === 0 || from !== undefined || query !== undefined) return false
    const { catalog } = this.#deps
    const source = catalog.find(table)
    if (source === undefined) return false
    const targets = cascadeFrom(source.id, catalog.listPipes()).map(({ view }) => view.targetId)
    return knowsBlocks([source.id, ...targets], (id) => catalog.find(id))
  }

  /** Gives up what is kept for views, beginning with the one that needs the most, until there is room. */
  async #makeRoom(byteCount: number): Promise<boolean> {
    const { imports } = this.#deps
    if (!imports.mayHold(byteCount)) return false
    while (!imports.hasRoomFor(byteCount)) {
      const bytesOf = ({ view }: MaterializedNode): number => imports.countsOf(view.id).byteCount
      const [largest] = this.#parking.keptViews().toSorted((one, other) => bytesOf(other) - bytesOf(one))
      if (largest === undefined || bytesOf(largest) === 0) return false
      await this.#parking.lose([largest], 'more waits for it than may be kept')
    }
    return true
  }

  /** Views that are parked behind the table, and that have not all of its blocks lost yet. */
  #lacking(table: string): readonly MaterializedNode[] {
    return viewsBehind(table, this.#deps.catalog.listPipes()).filter(({ view }) => isKept(view))
  }

  /** What becomes of one of its blocks; see `KeptAppend`. */
  noteStored(block: KeptImport): Promise<void> {
    return this.#deps.imports.noteStored(block)
  }

  async noteFailed({ block, isCut }: KeptBlock, failure: unknown, isBegun: boolean): Promise<void> {
    const { imports } = this.#deps
    if (block.isStored) return
    // The engine ends with the service: the next start stores it.
    if (isBegun && this.#parking.isClosed) return imports.leave(block)
    if (isBegun && !isNothingStored(failure, isCut)) {
      await this.#lose(block, 'it is not known whether rows of an import are stored')
    } else await imports.drop(block)
  }

  async #lose(block: KeptImport, reason: string): Promise<void> {
    const { imports } = this.#deps
    await this.#parking.lose(
      this.#parking.keptViews().filter(({ view }) => imports.isNeededBy(block, view.id)),
      reason,
    )
    await imports.drop(block)
  }
}

class KeptBlock implements KeptAppend {
  readonly block: KeptImport
  /** Whether it may be stored partition by partition. */
  readonly isCut: boolean
  readonly #keeper: ImportKeeper

  constructor(block: KeptImport, { isCut }: { readonly isCut: boolean }, keeper: ImportKeeper) {
    this.block = block
    this.isCut = isCut
    this.#keeper = keeper
  }

  noteStored(): Promise<void> {
    return this.#keeper.noteStored(this.block)
  }

  noteFailed(failure: unknown, isBegun: boolean): Promise<void> {
    return this.#keeper.noteFailed(this, failure, isBegun)
  }
}

/** Whether an INSERT failed by its rows before any was stored: a condition over all of them, or those of a table without partitions. */
function isNothingStored(failure: unknown, isCut: boolean): boolean {
  if (!(failure instanceof StoreError) || failure.kind !== 'engine') return false
  const { clickhouseCode: code } = failure
  if (code === undefined || code === clickhouseCodes.thrownIf) return code !== undefined
  return !isCut && !circumstanceCodes.has(code) && !isTooCostly(failure) && !isFaultOfService(failure)
}
