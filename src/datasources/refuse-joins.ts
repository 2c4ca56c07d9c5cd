import type { DataSource } from '../catalog/data-source.types.ts'
import { errors } from '../shared/errors/errors.ts'
import type { DataSources } from './datasources.types.ts'

/**
 * Refuses an append that would bring rows to a Join table, directly or through views. A promise only after definitions have
 * changed.
 *
 * @throws APPEND_UNSUPPORTED (400): such a table knows no tokens, so nothing appended to it would be there exactly once.
 */
export function refuseJoins(
  { id, name, engine }: DataSource,
  dataSources: Pick<DataSources, 'joinBehind'>,
): Promise<void> | undefined {
  refuseJoin(name, engine.name)
  const behind = dataSources.joinBehind(id)
  if (behind instanceof Promise) return behind.then((join) => refuseFed(name, join))
  refuseFed(name, behind)
  return undefined
}

function refuseFed(name: string, join: string | null): void {
  if (join !== null) throw errors.APPEND_UNSUPPORTED({ name, join })
}

/** The same for a data source that is still to be created. @throws APPEND_UNSUPPORTED (400). */
export function refuseJoin(name: string, engine: string): void {
  if (engine.toLowerCase() === 'join') throw errors.APPEND_UNSUPPORTED({ name })
}
