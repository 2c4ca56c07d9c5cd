// Replaces: another content for a data source, and for everything that views make of it.
//
// 1. Events of every table that could be touched are held in the log from the beginning to the end: what is acknowledged
//    meanwhile is stored behind the exchange. Imports into them are refused meanwhile.
// 2. The new content is made in staging tables, of which no reader and no view knows.
// 3. Then all tables get their new content in one exchange (`replace-swap.ts`), and the old content is dropped.
//
// Until the exchange a failure costs nothing but the staging tables; what a kill leaves of them goes at the next start.

import type { Catalog } from '../../catalog/catalog.ts'
import type { DataSource } from '../../catalog/data-source.types.ts'
import type { NodeView } from '../../catalog/pipe.types.ts'
import { expiredWarning } from '../../ingest/bodies/expired-rows.ts'
import { refuseStaleDefinition } from '../../ingest/bodies/stale-definition.ts'
import type { ImportOutcome, Ingest } from '../../ingest/ingest.types.ts'
import type { ImportTables } from '../../ingest/ingest-plan.ts'
import { isPlainTable } from '../../ingest/insert/plain-table.ts'
import type { ViewsBehind } from '../../materialize/behind/views-behind.ts'
import type { Logger } from '../../observe/logger.ts'
import type { CheckedExpression } from '../../schema/expressions/checked-text.types.ts'
import { errors } from '../../shared/errors/errors.ts'
import type { Settings } from '../../storage/settings.ts'
import { toCopyError } from '../../store/caller-errors.ts'
import { quarantineTable } from '../../store/sql/quarantine-table.ts'
import type { Store } from '../../store/store.types.ts'
import type { TableGraph } from '../../store/tables.types.ts'
import type { ReplaceRequest, Replaces } from './replace.types.ts'
import { type Cascade, cascadeOf } from './replace-cascade.ts'
import { checkCondition } from './replace-condition.ts'
import { type MatchingRows, NewContent } from './replace-content.ts'
import { checkKeys } from './replace-keys.ts'
import { dropStagingTables, Staging } from './replace-staging.ts'
import { carryOut, keepQuarantine, prepareSwap, type Swap, SwapNotes, takeBack } from './replace-swap.ts'

export interface ReplacesOptions {
  /** How long a close waits for replaces that run; the next start undoes or ends them. */
  readonly closeTimeoutMs: number
}

type ReplacesStore = Pick<
  Store,
  | 'copy'
  | 'copyQuery'
  | 'exchange'
  | 'partitions'
  | 'parts'
  | 'quarantines'
  | 'rowDeletes'
  | 'sync'
  | 'tables'
  | 'trials'
  | 'views'
>

interface Deps {
  readonly catalog: Pick<Catalog, 'find' | 'replayOf' | 'unfinished'>
  readonly settings: Pick<Settings, 'read' | 'write'>
  readonly store: ReplacesStore
  readonly ingest: Pick<Ingest, 'withHold'>
  /** Told which tables have nothing any more of what they had; absent tells nobody. */
  readonly onComputed?: (tables: ReadonlySet<string>) => Promise<void>
  /** Views that lack blocks; absent where there are none. */
  readonly behind?: Pick<ViewsBehind, 'beforeChange' | 'noteComputed' | 'withoutTries' | 'withParked'>
  /** Whether rows that are kept from before come to one of these tables still; absent is never. */
  readonly isFilled?: (tables: ReadonlySet<string>) => boolean
  readonly logger: Logger
}

/** Each holds the events of its tables and a place of the store for copies. */
const replacesAtOnceMax = 4

/** Opens the module: what an earlier process left of a replace is undone or carried out before this resolves. */
export async function openReplaces(options: ReplacesOptions, deps: Deps): Promise<Replaces> {
  const service = new ReplacesService(options, deps)
  await service.mend()
  return service
}

class ReplacesService implements Replaces {
  readonly #options: ReplacesOptions
  readonly #deps: Deps
  readonly #notes: SwapNotes
  readonly #running = new Set<Promise<unknown>>()
  /** Exchanges under way, by data source. */
  readonly #swapping = new Map<string, Promise<void>>()
  #isClosing = false
  /** What people call a table: the name of its data source, if it has one. */
  readonly #nameOf = (table: string): string => this.#deps.catalog.find(table)?.name ?? table

  constructor(options: ReplacesOptions, deps: Deps) {
    this.#options = options
    this.#deps = deps
    this.#notes = new SwapNotes(deps.settings)
  }

  async mend(): Promise<void> {
    const { store, logger } = this.#deps
    for (const swap of this.#notes.list()) await this.#finish(swap)
    const dropped = await dropStagingTables(store.tables)
    if (dropped.length > 0) logger.info({ tables: dropped }, 'Tables that a replace left behind are dropped.')
  }

  async mendAfterRestart(): Promise<void> {
    await Promise.allSettled(this.#swapping.values())
    for (const swap of this.#notes.list()) if (!this.#swapping.has(swap.dataSourceId)) await this.#finish(swap)
  }

  async replace(request: ReplaceRequest): Promise<ImportOutcome> {
    if (this.#isClosing) throw errors.SHUTTING_DOWN()
    if (this.#running.size >= replacesAtOnceMax) throw errors.CHANGES_TOO_MANY({ retryAfterSeconds: 1 })
    const replace = this.#replaceNow(request)
    this.#running.add(replace)
    try {
      return await replace
    } catch (thrown) {
      throw toCopyError(thrown, () => errors.ENGINE_FAILED({ cause: thrown }))
    } finally {
      this.#running.delete(replace)
    }
  }

  async close(timeMaxMs: number = this.#options.closeTimeoutMs): Promise<void> {
    this.#isClosing = true
    let timer: NodeJS.Timeout | undefined
    const late = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, timeMaxMs)
    })
    await Promise.race([Promise.allSettled(this.#running), late])
    clearTimeout(timer)
  }

  async #replaceNow(request: ReplaceRequest): Promise<ImportOutcome> {
    const { behind, store, catalog, ingest } = this.#deps
    const { dataSource, onHeld } = request
    const { id, name } = dataSource
    const graph = await this.#graph()
    if (catalog.find(id) === undefined) throw errors.DATASOURCE_NOT_FOUND({ name })
    const cascade = cascadeOf(graph, id)
    const table = cascade.landing
    const condition =
      request.condition === null ? null : await checkCondition(store.trials, request.condition, { name, table })
    if (condition !== null) checkKeys(graph, cascade, this.#nameOf)
    this.#refuseHalfGone(name, cascade)
    const held = [...cascade.related].flatMap((related) => catalog.find(related) ?? [])
    const replaceHeld = async (): Promise<ImportOutcome> => {
      request.onBegun?.()
      await this.#refuseChanged(dataSource, cascade)
      for (const swap of this.#notes.list()) if (swap.dataSourceId === id) await this.#finish(swap)
      const staging = new Staging(store.tables, id, { computes: ![dataSource, ...held].every(isPlainTable) })
      try {
        return await this.#replaceHeld(request, { graph, cascade, condition, staging })
      } finally {
        await this.#dropStaging(staging)
      }
    }
    // What a view that is parked lacks is kept until the new content takes the place of the old one.
    const replaceAll = () => ingest.withHold(held, replaceHeld, { onHeld, reason: 'replaced', keepsBlocks: true })
    const { related } = cascade
    const isMeant = ({ sourceId, targetId }: NodeView): boolean => related.has(sourceId) || related.has(targetId)
    return behind === undefined ? await replaceAll() : await behind.withoutTries(isMeant, replaceAll)
  }

  /** With the views that are parked: their targets are computed anew as if they stood. */
  async #graph(): Promise<TableGraph> {
    const { behind, store } = this.#deps
    const graph = await store.views.graph()
    return behind === undefined ? graph : behind.withParked(graph)
  }

  /** A replace that failed at its end, and could not be undone either, is ended before anything else is begun. */
  async #finish(swap: Swap): Promise<void> {
    const { store, logger } = this.#deps
    logger.info({ id: swap.dataSourceId }, 'A replace that was cut off at its end is carried out.')
    await carryOut(store, swap)
    await this.#notes.remove(swap)
    for (const { staging } of [...swap.pairs, swap.quarantine]) await store.tables.drop(staging)
  }

  /** A data source that nobody finds any more keeps its table until its removal has ended: that one cannot be held, and goes. */
  #refuseHalfGone(name: string, { related }: Cascade): void {
    const isHalfGone = this.#deps.catalog.unfinished().some(({ dataSource }) => related.has(dataSource.id))
    if (isHalfGone) throw errors.DATASOURCE_BUSY({ name, what: 'changed' })
  }

  /** What was read before the tables were held still has to be so. */
  async #refuseChanged(dataSource: DataSource, { related }: Cascade): Promise<void> {
    const { store, catalog } = this.#deps
    const { id, name } = dataSource
    refuseStaleDefinition(dataSource, catalog.find(id))
    const now = cascadeOf(await this.#graph(), id)
    const isSame = now.related.size === related.size && [...now.related].every((table) => related.has(table))
    // What a replay still has to store belongs to the old content.
    const isReplayed = [...related]
      .flatMap((table) => catalog.find(table) ?? [])
      .some((it) => catalog.replayOf(it.id) !== null)
    // Rows that are to be deleted must not be copied; none begins to be while the tables are held.
    const deleted = await store.rowDeletes.unfinished([...related])
    const isFilled = this.#deps.isFilled?.(related) === true
    if (!isSame || isReplayed || isFilled || deleted.length > 0) throw errors.DATASOURCE_BUSY({ name, what: 'changed' })
  }

  async #replaceHeld(request: ReplaceRequest, run: ReplaceRun): Promise<ImportOutcome> {
    const { store } = this.#deps
    const { id } = request.dataSource
    const { cascade, condition, staging } = run
    const content = new NewContent({ store, staging, graph: run.graph, nameOf: this.#nameOf })
    const tables = await stageTables(run, content, id)
    const outcome = await request.fill(tables)
    if (outcome.failure !== null) return nothingOf(outcome)
    request.signal?.throwIfAborted()
    const quarantine = { table: quarantineTable(id), staging: tables.quarantine, importId: request.importId }
    if (hasOnlyBadRows(outcome)) {
      await keepQuarantine(store, quarantine)
      return { ...outcome, failure: errors.REPLACE_EMPTY({ name: request.dataSource.name }) }
    }
    let counts: ImportOutcome = outcome
    if (condition !== null) {
      const ages = request.dataSource.engine.options['ttl'] !== undefined
      const stage = (): Promise<MatchingRows> =>
        content.stageMatching(cascade, { input: tables.landing, condition, ages })
      const { rowCount: storedRows, table } = await matchingRows(stage)
      const expired = await expiredWarning(store.parts, request.dataSource, { table, after: 0 })
      const warnings = [...(outcome.warnings ?? []), ...(expired === null ? [] : [expired])]
      counts = { ...outcome, storedRows, unmatchedRows: outcome.storedRows - storedRows, warnings }
    }
    await content.stageTargets(cascade, request.signal)
    if (this.#isClosing) throw errors.SHUTTING_DOWN()
    request.signal?.throwIfAborted()
    const changed = cascade.targets.map(({ table }) => table.name)
    // The new tables do not know the blocks of the old ones.
    await this.#deps.behind?.beforeChange([id, ...changed])
    const swapping = this.#swap(await prepareSwap(store, { dataSourceId: id, quarantine }, content.pairs))
    this.#swapping.set(id, swapping)
    await swapping.finally(() => this.#swapping.delete(id))
    if (condition === null) {
      await this.#tellComputed(cascade)
      await this.#deps.behind?.noteComputed(cascade.targets.flatMap(({ views }) => views))
    }
    return counts
  }

  /** The new content stands, whatever becomes of this. */
  async #tellComputed({ targets }: Cascade): Promise<void> {
    try {
      await this.#deps.onComputed?.(new Set(targets.map(({ table }) => table.name)))
    } catch (err) {
      this.#deps.logger.error(
        { err },
        'It could not be noted that Materialized Views have the rows of their sources again.',
      )
    }
  }

  async #swap(swap: Swap): Promise<void> {
    const { store, logger } = this.#deps
    await this.#notes.add(swap)
    try {
      await carryOut(store, swap)
    } catch (thrown) {
      logger.error({ err: thrown, id: swap.dataSourceId }, 'A replace failed at its end; it is undone.')
      // The note goes only behind what it tells of: if this fails too, the next replace or start carries it out.
      await takeBack(store, swap)
      await this.#notes.remove(swap)
      throw thrown
    }
    await this.#notes.remove(swap)
  }

  /** What fails here is done at the next start, and nobody reads it until then. */
  async #dropStaging(staging: Staging): Promise<void> {
    if (this.#notes.list().some(({ dataSourceId }) => dataSourceId === staging.id)) return
    try {
      await staging.drop()
    } catch (err) {
      this.#deps.logger.error(
        { err, tables: staging.tables },
        'Tables of a replace could not be dropped; the next start drops them.',
      )
    }
  }
}

interface ReplaceRun {
  readonly graph: TableGraph
  readonly cascade: Cascade
  /** Over the columns of the landing table, or null. */
  readonly condition: CheckedExpression | null
  readonly staging: Staging
}

/** The tables that the body is imported into. */
async function stageTables(run: ReplaceRun, content: NewContent, id: DataSource['id']): Promise<ImportTables> {
  const { staging, cascade, condition } = run
  const landing = condition === null ? await content.stageLanding(cascade) : await staging.createPlain(cascade.landing)
  return { landing, quarantine: await staging.createLike(quarantineTable(id)) }
}

/** A condition may fail at values that no check has seen. */
async function matchingRows(stage: () => Promise<MatchingRows>): Promise<MatchingRows> {
  try {
    return await stage()
  } catch (thrown) {
    throw toCopyError(thrown, (reason) => errors.REPLACE_CONDITION_FAILED({ reason, cause: thrown }))
  }
}

/** Nothing of a body that failed is kept. */
function nothingOf({ failure }: ImportOutcome): ImportOutcome {
  return { storedRows: 0, quarantinedRows: 0, invalidLines: 0, shortLines: 0, failure }
}

function hasOnlyBadRows({ storedRows, quarantinedRows, invalidLines }: ImportOutcome): boolean {
  return storedRows === 0 && quarantinedRows + invalidLines > 0
}
