import type { Catalog } from '../../catalog/catalog.ts'
import type { DataSource } from '../../catalog/data-source.types.ts'
import type { MaterializedNode } from '../../catalog/pipe.types.ts'
import type { Logger } from '../../observe/logger.ts'
import type { AppendGate } from '../../store/append-gate.ts'
import type { Store } from '../../store/store.types.ts'
import type { ViewEngine } from '../materialize.types.ts'
import type { InsertsUnderWay } from './inserts-under-way.ts'
import type { BacklogSize, KeptImport, KeptImports } from './kept-imports.ts'

/** What is kept of events for views that are behind; see `ingest`. */
export interface KeptBlocksOfViews {
  keep(viewId: string, dataSourceId: string): Promise<number>
  keepFrom(viewId: string, dataSourceId: string, place: number): void
  placeNow(dataSourceId: string): number
  untilPassed(dataSourceId: string): Promise<void>
  nextPlace(viewId: string, from: number): number | null
  moveTo(viewId: string, place: number): void
  letGo(viewId: string): void
  countsOf(viewId: string): { readonly blockCount: number; readonly byteCount: number }
  hasGaps(viewId: string): boolean
  /** Of all that is kept, whoever needs it. */
  readonly size: BacklogSize
  repeatFrom(place: number, into: RepeatInto): Promise<number | null>
}

export interface RepeatInto {
  readonly keeper: string
  readonly dataSource: DataSource
  readonly table: string
}

export interface BehindDeps {
  readonly catalog: Pick<Catalog, 'find' | 'findPipe' | 'listPipes' | 'replacePipe'>
  readonly store: Pick<Store, 'append' | 'discard' | 'sync' | 'writeRows'> & {
    readonly views: ViewEngine
    readonly tables: Pick<Store['tables'], 'drop' | 'list' | 'recreateLike'>
    readonly parts: Pick<Store['parts'], 'countSince' | 'lastBlocks'>
  }
  readonly gate: Pick<AppendGate, 'whileClosed'>
  /** Of events; there by the time that the first block is stored. */
  readonly kept: () => KeptBlocksOfViews
  readonly imports: KeptImports
  readonly underWay: InsertsUnderWay
  readonly logger: Pick<Logger, 'debug' | 'error' | 'info' | 'warn'>
  /** Epoch milliseconds. */
  readonly now: () => number
  /** Milliseconds of a clock that is never set back. */
  readonly steadyMs: () => number
}

/** Where a block is that a view did not take: in the log of events, kept as files, or nowhere. */
export type FailedBlock = { readonly kind: 'events' } | { readonly kind: 'import'; readonly kept: KeptImport | null }

/** Views that are behind, in numbers; a node with several SELECTs is one of them. */
export interface ViewsBehindState {
  readonly behind: readonly {
    readonly pipe: string
    readonly node: string
    readonly isIncomplete: boolean
    readonly blockCount: number
    readonly byteCount: number
  }[]
  readonly backlogs: readonly (BacklogSize & { readonly of: 'events' | 'imports' })[]
}

/** A view that is behind, as it is told. */
export interface BehindView {
  readonly node: MaterializedNode
  readonly sinceMs: number
  /**
   * - `parked`: no block passes it; those that it lacks are kept, and it catches up.
   * - `incomplete`: it lacks blocks that nobody keeps.
   */
  readonly state: 'incomplete' | 'parked'
  /** Whether blocks pass it. */
  readonly isPassed: boolean
  readonly blockCount: number
  readonly byteCount: number
  /** Why it did not take a block, in the engine's words; null where only the name of the error is known. */
  readonly reason: string | null
  readonly errorName: string
  /** What to do, in sentences that name its pipe and its node. */
  readonly remedy: string
  /** When it is tried next, epoch milliseconds; null when it is being tried. */
  readonly retryAtMs: number | null
}
