/**
 * What is done with INSERTs of imports that views do not take: they are kept as files before they run, for views that are parked, and with
 * the failure of a view, which is parked then. What cannot be kept leaves views incomplete.
 *
 * While no view is parked they are files as long as they run, so that a start ends those which a kill came into.
 */

import type { MaterializedNode } from '../../catalog/pipe.types.ts'
import { partitionKeyOf } from '../../schema/definitions/table-definition.ts'
import type { AppendKeeper, AppendRequest, KeptAppend, WrittenAppend } from '../../store/store.types.ts'
import { mayHaveStored, StoreError } from '../../store/store-error.ts'
import { cascadeFrom } from '../view-graph.ts'
import type { BehindDeps, FailedBlock } from './behind.types.ts'
import type { InsertUnderWay, LeftInsert } from './inserts-under-way.ts'
import type { KeptImport } from './kept-imports.ts'
import { type FailedView, isKept, keptSourceOf, knowsBlocks, repeatableFrom, viewsBehind } from './view-reach.ts'

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

const unkept = 'rows came that could not be kept'

type ImportKeeperDeps = Pick<BehindDeps, 'catalog' | 'imports' | 'kept' | 'logger' | 'now' | 'store' | 'underWay'>

export class ImportKeeper implements AppendKeeper {
  readonly #deps: ImportKeeperDeps
  readonly #parking: Parking

  constructor(deps: ImportKeeperDeps, parking: Parking) {
    this.#deps = deps
    this.#parking = parking
  }

  beforeAppend(append: WrittenAppend, before: KeptAppend | null): Promise<KeptAppend | null> | KeptAppend | null {
    // Views that were parked since have it among what they need.
    if (before instanceof KeptBlock) return before
    if (this.#parking.mayHaveSome || !this.#deps.imports.isEmpty) return this.#beforeAppend(append, before)
    return before ?? this.#noteUnderWay(append)
  }

  /** A block of events is about to be stored: nobody keeps it for views for which blocks of another data source are kept. */
  beforeBlock(dataSourceId: string): Promise<void> | null {
    return this.#parking.mayHaveSome ? this.#lacking(dataSourceId).then(() => undefined) : null
  }

  async keepFailed(append: WrittenAppend, failure: StoreError, before: KeptAppend | null): Promise<KeptAppend | null> {
    if (before instanceof KeptBlock) return before
    const { catalog } = this.#deps
    const { table } = append.request
    const failed = this.#parking.parkable(table, failure)
    if (failed === undefined || 'mirror' in failed) return before
    const from = repeatableFrom(failed.node.view, catalog.listPipes(), (id) => catalog.find(id))
    if (from?.sourceId !== table) return before
    const kept = await this.#keep(append)
    // A start runs it again of what is kept.
    if (kept !== null) await before?.noteStored()
    return kept ?? before
  }

  async setAside({ request }: WrittenAppend, failure: StoreError, kept: KeptAppend | null): Promise<boolean> {
    const block = { kind: 'import', kept: kept instanceof KeptBlock ? kept.block : null } as const
    return await this.#parking.setAside(request.table, failure, block)
  }

  async notePassed({ request }: WrittenAppend, failure: StoreError, kept: KeptAppend | null): Promise<void> {
    // The next start inserts it again, and the view fails again.
    if (this.#parking.isClosed && kept instanceof KeptBlock) return this.#deps.imports.leave(kept.block)
    if (this.#parking.isClosed && kept !== null) return
    for (const viewId of this.#passed(request.table, failure)) await this.#parking.noteLacking(viewId, failure)
    await kept?.noteStored()
  }

  /** Views that may lack rows: the engine tells of one that failed, and passes over all that do. Those that are parked have their own. */
  #passed(table: string, failure: StoreError): ReadonlySet<string> {
    const failed = this.#parking.parkable(table, failure)
    if (failed === undefined) return new Set()
    const passed = this.#passedBy(table)
    return new Set([...('node' in failed ? [failed.node] : []), ...passed].map(({ view }) => view.id))
  }

  /** The views that a block of a table passes, at any depth: an INSERT may have ended in front of each of them. */
  #passedBy(table: string): readonly MaterializedNode[] {
    const { catalog } = this.#deps
    const source = catalog.find(table)
    if (source === undefined) return []
    const reached = new Set([source.id])
    return cascadeFrom(source.id, catalog.listPipes()).filter(({ view }) => {
      if (!reached.has(view.sourceId) || view.behind?.isParked === true) return false
      reached.add(view.targetId)
      return true
    })
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
    await this.#endLeft()
  }

  /** Runs again what an earlier process was ended in the middle of: its rows may be in the table and not in all that views fill of it. */
  async #endLeft(): Promise<void> {
    const { catalog, underWay } = this.#deps
    for (const number of underWay.left) {
      const left = await underWay.read(number)
      if (left === null) continue
      if (catalog.find(left.table) !== undefined) await this.#endOne(left)
      await this.endUnderWay(left)
    }
  }

  async #endOne(left: LeftInsert): Promise<void> {
    const { logger, store, underWay } = this.#deps
    try {
      await store.append({ ...(await underWay.open(left)), table: left.table, outlivesViews: true })
      logger.info(
        { block: left.request.blockId },
        'A block of an import that a kill came into is in its table and in all views.',
      )
    } catch (err) {
      if (!(err instanceof StoreError && err.areRowsStored)) await this.#noteDoubtful(left, err)
    }
  }

  /** Its rows may be in the table, and not in what views fill of it. */
  async #noteDoubtful({ table, request }: LeftInsert, err: unknown): Promise<void> {
    this.#deps.logger.warn(
      { err, block: request.blockId },
      'A block of an import that an earlier process left was not stored.',
    )
    if (!mayHaveStored(err, this.#isCut({ ...request, table }))) return
    for (const { view } of this.#passedBy(table)) await this.#parking.noteLacking(view.id, storeErrorOf(err))
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

  async #beforeAppend(append: WrittenAppend, before: KeptAppend | null): Promise<KeptAppend | null> {
    const { imports } = this.#deps
    const { table, blockId } = append.request
    const known = imports.isEmpty ? undefined : imports.find(table, blockId)
    const lacking = await this.#lacking(table)
    if (lacking.length === 0 && known !== undefined) return this.#begin(known, append.request)
    if (lacking.length === 0) return before ?? (await this.#noteUnderWay(append))
    const kept = await this.#keep(append)
    // A start runs it again of what is kept.
    if (kept !== null) await before?.noteStored()
    else await this.#parking.lose(lacking, unkept)
    return kept ?? before ?? (await this.#noteUnderWay(append))
  }

  /** Null at once where no view sees its rows. */
  #noteUnderWay(append: WrittenAppend): Promise<KeptAppend | null> | null {
    const { table, from } = append.request
    // Whoever inserts out of a table does so again behind a kill.
    if (from !== undefined) return null
    return this.#passedBy(table).length > 0 && this.#isKeepable(append) ? this.#addUnderWay(append) : null
  }

  async #addUnderWay(append: WrittenAppend): Promise<KeptAppend | null> {
    const { logger, underWay } = this.#deps
    try {
      const insert = await underWay.add(append)
      return insert === null ? null : new AppendUnderWay(insert, this.#begunOf(append.request), this)
    } catch (err) {
      const block = append.request.blockId
      logger.warn({ err, block }, 'A block could not be noted: a kill may leave it in its table and not in all views.')
      return null
    }
  }

  #begin(known: KeptImport, request: AppendRequest): KeptAppend {
    if (!known.isStored) this.#deps.imports.begin(known)
    return new KeptBlock(known, this.#begunOf(request), this)
  }

  /** Null where it cannot be kept. */
  async #keep(append: WrittenAppend): Promise<KeptBlock | null> {
    const { logger } = this.#deps
    const { request } = append
    if (!this.#isKeepable(append)) return null
    try {
      return request.from === undefined ? await this.#keepFiles(append) : await this.#keepRows(request, request.from)
    } catch (err) {
      logger.error({ err, block: request.blockId }, 'A block could not be kept for Materialized Views that lack it.')
      return null
    }
  }

  async #keepFiles(append: WrittenAppend): Promise<KeptBlock | null> {
    const { imports, kept } = this.#deps
    const { request } = append
    const byteCount = await imports.bytesOf(append)
    if (!(await this.#makeRoom(byteCount))) return null
    const block = await imports.add(append, { place: kept().placeNow(request.table), byteCount })
    return new KeptBlock(block, this.#begunOf(request), this)
  }

  /** Rows of a table that is soon gone, such as those of a block of which some are refused. */
  async #keepRows(
    { from: _, fromRows: condition, ...request }: AppendRequest,
    table: string,
  ): Promise<KeptBlock | null> {
    const { store } = this.#deps
    const part = await store.writeRows({ table, condition })
    try {
      const layout = { fields: [], targets: request.layout.targets }
      return await this.#keepFiles({ request: { ...request, layout, isNative: true }, paths: [part.path] })
    } finally {
      await store.discard([part])
    }
  }

  /** Behind a kill it is inserted again, so all that it comes to must know it again. */
  #isKeepable({ request: { table, from, query }, paths }: WrittenAppend): boolean {
    if ((paths.length === 0 && from === undefined) || query !== undefined) return false
    const { catalog } = this.#deps
    const source = catalog.find(table)
    if (source === undefined) return false
    const targets = cascadeFrom(source.id, catalog.listPipes()).map(({ view }) => view.targetId)
    return knowsBlocks([source.id, ...targets], (id) => catalog.find(id))
  }

  /** Whether it may be stored partition by partition. */
  #isCut({ table, partition }: Pick<AppendRequest, 'partition' | 'table'>): boolean {
    const source = this.#deps.catalog.find(table)
    return partition !== undefined || (source !== undefined && partitionKeyOf(source.engine) !== undefined)
  }

  #begunOf(request: AppendRequest): BegunAppend {
    const { table, blockId } = request
    return { table, blockId, isCut: this.#isCut(request), sinceSeconds: Math.floor(this.#deps.now() / 1000) }
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

  /** Views that are parked behind the table, and for which its blocks are kept. Of those for which others are, nobody keeps this one. */
  async #lacking(table: string): Promise<readonly MaterializedNode[]> {
    const lacking = viewsBehind(table, this.#deps.catalog.listPipes()).filter(({ view }) => isKept(view))
    const isOwn = ({ view }: MaterializedNode): boolean => keptSourceOf(view) === table
    const others = lacking.filter((one) => !isOwn(one))
    if (others.length > 0) await this.#parking.lose(others, unkept)
    return lacking.filter(isOwn)
  }

  /** What becomes of one of its blocks; see `KeptAppend`. */
  noteStored(block: KeptImport): Promise<void> {
    return this.#deps.imports.noteStored(block)
  }

  async noteFailed({ block, begun }: KeptBlock, failure: unknown, isBegun: boolean): Promise<void> {
    const { imports } = this.#deps
    if (block.isStored) return
    // The engine ends with the service: the next start stores it.
    if (isBegun && this.#parking.isClosed) return imports.leave(block)
    if (isBegun && mayHaveStored(failure, begun.isCut)) {
      await this.#lose(block, 'it is not known whether rows of an import are stored')
      await this.#noteDoubt(begun, failure)
    } else await imports.drop(block)
  }

  /** What fails here is told: the next start runs it once more. */
  async endUnderWay(insert: InsertUnderWay): Promise<void> {
    const { logger, underWay } = this.#deps
    try {
      await underWay.end(insert)
    } catch (err) {
      logger.warn({ err }, 'Files of a block whose INSERT has ended could not be removed.')
    }
  }

  /** Where the engine ends with the service, or views cannot be told to lack it, the next start runs it again. */
  async noteFailedUnderWay(insert: InsertUnderWay, begun: BegunAppend, failure: unknown): Promise<void> {
    if (!mayHaveStored(failure, begun.isCut)) return await this.endUnderWay(insert)
    if (!this.#parking.isClosed && (await this.#noteDoubt(begun, failure))) await this.endUnderWay(insert)
  }

  /**
   * An INSERT failed so that its rows may be in its table and not in all that views fill of it, or in these alone. Whoever sent them was told that it
   * failed, and may send them again: so it is not run once more, and the views are told as incomplete. True when that is noted, or nothing is
   * stored. Never rejects.
   */
  async #noteDoubt({ table, blockId, sinceSeconds }: BegunAppend, failure: unknown): Promise<boolean> {
    const { logger } = this.#deps
    const passed = this.#passedBy(table)
    try {
      if (passed.length === 0 || !(await this.#haveRowsCome(table, sinceSeconds))) return true
      logger.warn(
        { err: failure, block: blockId },
        'A block of an import failed, and may be in its table and not in all views.',
      )
      for (const { view } of passed) await this.#parking.noteLacking(view.id, storeErrorOf(failure))
      return true
    } catch (err) {
      const message =
        'A block of an import may be in its table and not in all views, and these could not be told to lack it.'
      logger.error({ err, block: blockId }, message)
      return false
    }
  }

  /** Whether rows have come to a table, or to what views fill of it, since a moment; true where nobody knows. */
  async #haveRowsCome(table: string, sinceSeconds: number): Promise<boolean> {
    const { catalog, logger, store } = this.#deps
    const source = catalog.find(table)
    if (source === undefined) return false
    const targets = cascadeFrom(source.id, catalog.listPipes()).map(({ view }) => view.targetId)
    try {
      return (await store.parts.countSince([source.id, ...targets], sinceSeconds)) > 0
    } catch (err) {
      logger.debug({ err, table }, 'The engine did not tell whether rows have come.')
      return true
    }
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

/** An INSERT that is about to begin. */
interface BegunAppend {
  readonly table: string
  readonly blockId: string
  /** Whether it may be stored partition by partition. */
  readonly isCut: boolean
  readonly sinceSeconds: number
}

class KeptBlock implements KeptAppend {
  readonly block: KeptImport
  readonly begun: BegunAppend
  readonly #keeper: ImportKeeper

  constructor(block: KeptImport, begun: BegunAppend, keeper: ImportKeeper) {
    this.block = block
    this.begun = begun
    this.#keeper = keeper
  }

  noteStored(): Promise<void> {
    return this.#keeper.noteStored(this.block)
  }

  noteFailed(failure: unknown, isBegun: boolean): Promise<void> {
    return this.#keeper.noteFailed(this, failure, isBegun)
  }
}

/** One that is not kept for a view, as long as it runs. */
class AppendUnderWay implements KeptAppend {
  readonly #insert: InsertUnderWay
  readonly #begun: BegunAppend
  readonly #keeper: ImportKeeper

  constructor(insert: InsertUnderWay, begun: BegunAppend, keeper: ImportKeeper) {
    this.#insert = insert
    this.#begun = begun
    this.#keeper = keeper
  }

  noteStored(): Promise<void> {
    return this.#keeper.endUnderWay(this.#insert)
  }

  noteFailed(failure: unknown, isBegun: boolean): Promise<void> {
    if (!isBegun) return this.#keeper.endUnderWay(this.#insert)
    return this.#keeper.noteFailedUnderWay(this.#insert, this.#begun, failure)
  }
}

function storeErrorOf(failure: unknown): StoreError {
  if (failure instanceof StoreError) return failure
  return new StoreError({ kind: 'engine', message: String(failure), cause: failure })
}
