// All that is kept for views that are behind: blocks of events in the log, and those of imports as files, in the order in which they came.

import type { NodeView, ViewBehind } from '../../catalog/pipe.types.ts'
import type { Store } from '../../store/store.types.ts'
import type { FailedBlock, KeptBlocksOfViews, RepeatInto } from './behind.types.ts'
import type { KeptImport, KeptImports } from './kept-imports.ts'
import { keptSourceOf } from './view-reach.ts'

/** Where the blocks begin that are kept for a view, in the log and among those of imports. */
export interface BacklogPlace {
  readonly place: number
  readonly importPlace: number
}

interface BacklogDeps {
  readonly events: () => KeptBlocksOfViews
  readonly imports: KeptImports
  readonly store: Pick<Store, 'append'>
}

/** The view can never have all that it lacks: some of it is gone, or the tables behind do not know it again. */
export class LostBlocksError extends Error {
  override readonly name = 'LostBlocksError'
}

export class Backlog {
  readonly #deps: BacklogDeps

  constructor(deps: BacklogDeps) {
    this.#deps = deps
  }

  /** Keeps all blocks of a data source from now on, or from one of an import on. Precondition: no block is being stored. */
  async keep(viewId: string, dataSourceId: string, firstImport: number | undefined): Promise<BacklogPlace> {
    const { events, imports } = this.#deps
    // Those that are between two tries, as another view fails at them, have not passed this one.
    const importPlace = Math.min(firstImport ?? imports.next, imports.firstUnstored(dataSourceId) ?? imports.next)
    const place = await events().keep(viewId, dataSourceId)
    imports.keep(viewId, dataSourceId, importPlace)
    return { place, importPlace }
  }

  /** Keeps those from an earlier place on, too, which somebody else has kept until now. */
  keepFrom(viewId: string, dataSourceId: string, { place, importPlace }: BacklogPlace): void {
    this.#deps.events().keepFrom(viewId, dataSourceId, place)
    this.#deps.imports.keep(viewId, dataSourceId, importPlace)
  }

  async moveTo(viewId: string, { place, importPlace }: BacklogPlace): Promise<void> {
    this.#deps.events().moveTo(viewId, place)
    await this.#deps.imports.moveTo(viewId, importPlace)
  }

  async letGo(viewId: string): Promise<void> {
    this.#deps.events().letGo(viewId)
    await this.#deps.imports.letGo(viewId)
  }

  countsOf(viewId: string): { readonly blockCount: number; readonly byteCount: number } {
    const [events, imports] = [this.#deps.events().countsOf(viewId), this.#deps.imports.countsOf(viewId)]
    return {
      blockCount: events.blockCount + imports.blockCount,
      byteCount: events.byteCount + imports.byteCount,
    }
  }

  hasGaps(viewId: string): boolean {
    return this.#deps.events().hasGaps(viewId)
  }

  /**
   * Another block that was being stored beside the one that parked a view failed too: it is kept as well, or the view is incomplete. Gives
   * what is to be noted of the view.
   */
  async goBack(view: NodeView, dataSourceId: string, block: FailedBlock): Promise<Partial<ViewBehind>> {
    const { id, behind } = view
    if (behind === undefined || behind.place === null) return {}
    const isForeign = keptSourceOf(view) !== dataSourceId
    if (block.kind === 'events' && !isForeign) return {}
    if (block.kind === 'events' || block.kept === null || isForeign) {
      await this.letGo(id)
      return { place: null }
    }
    const importPlace = Math.min(behind.importPlace ?? 0, block.kept.number)
    this.#deps.imports.keep(id, dataSourceId, importPlace)
    return { importPlace }
  }

  /** Whether blocks of imports are kept for a view from a place on. */
  hasMore(viewId: string, { importPlace }: BacklogPlace): boolean {
    return this.#deps.imports.firstOf(viewId, importPlace) !== undefined
  }

  /**
   * Inserts the rows of the first kept block from a place on into another table, under its tokens; gives the place behind it, or null
   * when there is none, or its own INSERT is under way still. Raises `StoreError`, LostBlocksError, or why the log could not be read.
   */
  async repeatFrom({ place, importPlace }: BacklogPlace, into: RepeatInto): Promise<BacklogPlace | null> {
    const { events, imports } = this.#deps
    const next = events().nextPlace(into.keeper, place)
    const imported = imports.firstOf(into.keeper, importPlace)
    if (imported !== undefined && (next === null || imported.place <= next)) {
      if (!imported.isStored) return null
      await this.#repeatImport(imported, into)
      return { place, importPlace: imported.number + 1 }
    }
    const behind = await events().repeatFrom(place, into)
    return behind === null ? null : { place: behind, importPlace }
  }

  async #repeatImport(imported: KeptImport, { table }: RepeatInto): Promise<void> {
    const request = await this.#deps.imports.open(imported)
    if (request === null) throw new LostBlocksError('files that were kept for it are missing or damaged')
    await this.#deps.store.append({ ...request, table, isKept: true })
  }
}
