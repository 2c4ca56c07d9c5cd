import type { Catalog } from '../../catalog/catalog.ts'
import { viewLabel } from '../../catalog/node-views.ts'
import type { MaterializedNode } from '../../catalog/pipe.types.ts'
import type { Job } from '../../jobs/jobs.types.ts'
import { errors } from '../../shared/errors/errors.ts'
import { createResourceHex } from '../../shared/ids.ts'
import { toChangeError } from '../../store/caller-errors.ts'
import { tablesBehind } from '../../store/sql/table-graph.ts'
import type { Store } from '../../store/store.types.ts'
import type { TableGraph } from '../../store/tables.types.ts'
import type { PopulateOrigin, PopulatePlan, Populates } from '../populate/populate.types.ts'
import { populatedView } from '../populate/populated-view.ts'
import { comparability } from './comparability.ts'
import { comparedRequest, comparedView, stagingOf } from './compared-view.ts'
import type { RepairRequest, Repairs } from './repair.types.ts'

export interface RepairsDeps {
  readonly catalog: Pick<Catalog, 'find' | 'lastNameOf'>
  readonly store: Pick<Store, 'tables'>
  readonly populates: Pick<Populates, 'add' | 'graph' | 'refuseParked'>
  /** Epoch milliseconds. */
  readonly now: () => number
}

export class RepairService implements Repairs {
  readonly #deps: RepairsDeps

  constructor(deps: RepairsDeps) {
    this.#deps = deps
  }

  async plan(node: MaterializedNode, { isForced, isDry }: RepairRequest): Promise<PopulatePlan> {
    try {
      return await this.#plan(node, { isForced, isDry })
    } catch (thrown) {
      throw toChangeError(thrown)
    }
  }

  async add(plan: PopulatePlan, origin: Omit<PopulateOrigin, 'isPinned'>): Promise<Job> {
    return await this.#deps.populates.add(plan, { ...origin, isPinned: false })
  }

  async #plan(node: MaterializedNode, { isForced, isDry }: RepairRequest): Promise<PopulatePlan> {
    const { catalog, populates, store, now } = this.#deps
    populates.refuseParked({ view: populatedView(node), compared: { staging: 'same', keepsArrivals: !isDry } })
    const compared = comparedView(node, catalog)
    const graph = await populates.graph()
    const judged = comparability(compared, graph)
    const { reasons, obstacles, columns, manner } = judged
    const refused = isForced ? obstacles : reasons
    if (refused.length > 0) {
      const advice = obstacles.length > 0 ? '' : '; force=true makes its partitions of the rows that the source has now'
      throw errors.REPAIR_REFUSED({ view: viewLabel(node), reason: `${refused.join('; ')}${advice}` })
    }
    if (!isForced && !isDry) refuseReaders(node, graph)
    const { source, target } = compared
    const { rowCount = 0, byteCount = 0 } = (await store.tables.list([source.id])).get(source.id) ?? {}
    return {
      ...{ view: populatedView(node), source, sourceName: source.name, target },
      request: comparedRequest,
      seconds: Math.floor(now() / 1_000),
      reads: { rowCount, byteCount, partitionCount: 0 },
      warnings: readersOf(node, graph).length > 0 && !isDry ? [staleReaders] : [],
      filled: isDry ? [] : [...tablesBehind(graph, target.id)],
      pinId: createResourceHex(),
      compared: { staging: stagingOf(judged), keepsArrivals: !isDry },
      repair: { isForced, isDry, columns, manner },
    }
  }
}

const staleReaders =
  'Materialized Views read the Data Source that is repaired, and keep what they made of its old rows. Each is incomplete behind it until it is filled anew; remedy in views_behind says how'

/** @throws REPAIR_REFUSED (409) */
function refuseReaders(node: MaterializedNode, graph: TableGraph): void {
  if (readersOf(node, graph).length === 0) return
  const reason =
    'Materialized Views read its Data Source, and would keep what they made of its old rows; force=true leaves them as they are, and tells them as incomplete until each is filled anew'
  throw errors.REPAIR_REFUSED({ view: viewLabel(node), reason })
}

function readersOf({ view }: MaterializedNode, { views }: TableGraph): TableGraph['views'] {
  return views.filter(({ source }) => source === view.targetId)
}
