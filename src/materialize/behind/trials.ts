// Tries of views to take what is kept for them.

import { findView } from '../../catalog/node-views.ts'
import type { NodeView } from '../../catalog/pipe.types.ts'
import { tellCaughtUp } from '../told-views.ts'
import { type Backlog, LostBlocksError } from './backlog.ts'
import type { BehindDeps } from './behind.types.ts'
import { CatchUp, StoppedCatchUpError } from './catch-up.ts'
import { promote } from './promote.ts'
import { isWayKept, repeatedReachOf } from './view-reach.ts'

/** Blocks of the tables behind a view after which they may not know one again: they know 10,000. */
const knownBlocksMax = 9_000

export const otherWay = 'a Materialized View through which its rows come was changed'

export interface Trial {
  /** It ends at its next step. */
  readonly stop: () => void
  /** Rejects where the view still lacks blocks. */
  readonly run: () => Promise<void>
}

interface TrialDeps extends BehindDeps {
  readonly backlog: Backlog
  /** Runs a change while nobody else changes which views the engine has, or from where on blocks are kept for them. */
  readonly alone: (change: () => Promise<void>) => Promise<void>
  /** The same while no block of these tables is being stored. */
  readonly whileClosed: (tables: readonly string[], change: () => Promise<void>) => Promise<void>
  /** Another number after each start of the engine. */
  readonly engineStart: () => number
  /** Tries another view, to the end of that. Never rejects. */
  readonly tryNow: (viewId: string) => Promise<void>
  readonly stop: (viewId: string) => void
}

/** Precondition: blocks are kept for the view. */
export function trialOf(view: NodeView, deps: TrialDeps): Trial {
  return view.behind?.from === undefined ? catchUpOf(view, deps) : promotionOf(view, deps)
}

/** Blocks that have come to the tables to which those come that are repeated for a view. */
export function tableBlocksOf(
  view: NodeView,
  { catalog, store }: Pick<BehindDeps, 'catalog' | 'store'>,
): Promise<number> {
  return store.parts.lastBlocks([...repeatedReachOf(view, catalog.listPipes())])
}

function catchUpOf(view: NodeView, deps: TrialDeps): Trial {
  const source = deps.catalog.find(view.sourceId)
  const { place = null, importPlace = 0 } = view.behind ?? {}
  if (source === undefined || place === null) return { stop: () => undefined, run: async () => undefined }
  const catchUp = new CatchUp(
    view,
    { source, place: { place, importPlace } },
    {
      ...deps,
      whileClosed: (change) => deps.whileClosed([view.sourceId], change),
      tableBlocks: () => tableBlocksOf(view, deps),
    },
  )
  const run = async (): Promise<void> => {
    await refuseLost(view, deps)
    await catchUp.run()
  }
  return { stop: () => catchUp.stop(), run }
}

/** A view that reads what others fill catches up with those above it; see `promote`. */
function promotionOf(view: NodeView, deps: TrialDeps): Trial {
  const { catalog } = deps
  const parked: string[] = []
  let isStopped = false
  const run = async (): Promise<void> => {
    await refuseLost(view, deps)
    if (isStopped) throw new StoppedCatchUpError()
    const tableBlocks = (one: NodeView): Promise<number> => tableBlocksOf(one, deps)
    try {
      await promote(view.id, { ...deps, tableBlocks, onParked: (id) => parked.push(id) })
    } finally {
      for (const id of parked) await deps.tryNow(id)
    }
    const isWhole = [view.id, ...parked].every((id) => findView(catalog.listPipes(), id)?.view.behind === undefined)
    if (isWhole) tellCaughtUp(view.id, deps)
  }
  const stop = (): void => {
    isStopped = true
    for (const id of parked) deps.stop(id)
  }
  return { stop, run }
}

/** @throws LostBlocksError */
async function refuseLost(view: NodeView, deps: TrialDeps): Promise<void> {
  if (!isWayKept(view, deps.catalog.listPipes())) throw new LostBlocksError(otherWay)
  if (deps.backlog.hasGaps(view.id)) throw new LostBlocksError('blocks that were kept for it are lost')
  if ((await tableBlocksOf(view, deps)) - (view.behind?.tableBlocks ?? 0) > knownBlocksMax) {
    throw new LostBlocksError('too many other blocks have come to the tables behind it')
  }
}
