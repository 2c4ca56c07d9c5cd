import type { BehindDeps } from './behind.types.ts'
import { rootsOf } from './view-reach.ts'

/** How long blocks under way may take to end before a view is parked or let in again. */
export const closeMsMax = 10_000

/**
 * Drops a view that brings rows to a populate or a repair and does not take one: what it brings them to cannot be used without, and the job
 * sees so. True when it is gone.
 */
export async function dropMirror(
  name: string,
  sourceId: string,
  { catalog, gate, logger, store }: Pick<BehindDeps, 'catalog' | 'gate' | 'logger' | 'store'>,
): Promise<boolean> {
  if (!(await store.views.sees(name, sourceId))) return !(await store.views.names()).includes(name)
  const isDone = await gate.whileClosed([...rootsOf({ sourceId }, catalog.listPipes())], closeMsMax, () =>
    store.views.drop(name),
  )
  if (isDone) logger.warn({ view: name }, 'A populate or repair does not take a row that came meanwhile, and fails.')
  return isDone
}
