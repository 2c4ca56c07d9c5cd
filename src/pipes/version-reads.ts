// What pipes read under a name with a version, `views__v3`, where nothing has that very name. Such a read is a matter of what
// there is: something new of the name would take it, and what goes would leave it to something else. Nobody would be told, so
// both are refused.

import type { Catalog } from '../catalog/catalog.ts'
import type { PipeNode } from '../catalog/pipe.types.ts'
import { withoutQuarantine } from '../catalog/quarantine-name.ts'
import { hasVersion, splitVersion } from '../catalog/versioned-name.ts'
import { branchReads, mayBeMade, namedInNode } from '../query/branch-reads.ts'
import { errors } from '../shared/errors/errors.ts'
import { isTemplate } from '../template/compile-template.ts'
import type { ReadCatalog } from './read-catalog.types.ts'

type VersionCatalog = ReadCatalog & Pick<Catalog, 'unversioned'>

/**
 * Refuses a name that something new is to have, or, by `id`, something that there is.
 *
 * @throws DATASOURCE_USED, PIPE_USED (409) when pipes read something else under that name.
 */
export function checkTaken(name: string, id: string | null, catalog: VersionCatalog): void {
  const owner = catalog.unversioned(name)
  if (owner === undefined || owner.id === id) return
  const users = readersUnder({ id: owner.id, names: (one) => one === name, made: name }, catalog)
  if (users.length === 0) return
  const usedError = owner.kind === 'pipe' ? errors.PIPE_USED : errors.DATASOURCE_USED
  const advice = `something of the name '${name}' would change what they read: put '${owner.name}' into their SQL first`
  throw usedError({ name: owner.name, users, advice })
}

interface Freed {
  readonly kind: 'data source' | 'pipe'
  readonly id: string
  readonly name: string
}

/**
 * Refuses that something goes whose readers would read something else then.
 *
 * @throws DATASOURCE_USED, PIPE_USED (409).
 */
export function checkFreed({ kind, id, name }: Freed, catalog: VersionCatalog): void {
  const parts = splitVersion(name)
  if (parts === null) return
  const { base, version } = parts
  const left = catalog.find(base) ?? catalog.findPipe(base)
  if (left?.name !== base || !hasVersion('declaredVersion' in left ? left : {}, version)) return
  const users = readersUnder({ id, names: (one) => one === name, made: null }, catalog)
  if (users.length === 0) return
  const usedError = kind === 'pipe' ? errors.PIPE_USED : errors.DATASOURCE_USED
  const advice = `they would read '${base}' in its place, so that it can not be dropped by force either: change their SQL first`
  throw usedError({ name, users, advice })
}

/** Refuses a version by which pipes would lose what they read. @throws DATASOURCE_USED (409). */
export function checkVersion({ id, name }: Pick<Freed, 'id' | 'name'>, version: number, catalog: VersionCatalog): void {
  const isLost = (one: string): boolean => {
    const parts = one === name ? null : splitVersion(one)
    return parts !== null && parts.version !== version
  }
  const users = readersUnder({ id, names: isLost, made: null }, catalog)
  if (users.length === 0) return
  const advice = `they would not find it under the version ${version}: put '${name}' into their SQL first`
  throw errors.DATASOURCE_USED({ name, users, advice })
}

/** Whether the SQL of a node may name anything by a version at all; most does not, and needs no closer look. */
export function mayReadVersion({ sql }: Pick<PipeNode, 'sql'>): boolean {
  return sql.includes('__v') || (isTemplate(sql) && mayMakeName.test(sql))
}

/** Where a value or a tag stands, of which the name of a table may be made. */
const mayMakeName = /\{\{|\w\{[%#]|[%#]\}\w/

interface Reads {
  /** Of what is read. */
  readonly id: string
  /** Under which names. */
  readonly names: (name: string) => boolean
  /** A name that a template may make when it runs; null for none. */
  readonly made: string | null
}

/** The pipes that read something under such a name in any branch, as a refusal names them. */
function readersUnder({ id, names, made }: Reads, catalog: VersionCatalog): readonly string[] {
  return catalog.listPipes().flatMap((pipe) => {
    for (const [position, node] of pipe.nodes.entries()) {
      if (!mayReadVersion(node)) continue
      const named = namedInNode(node)
      const { tables, possible } = named
      const reads = branchReads(catalog, pipe, position, isTemplate(node.sql) ? [...tables, ...possible] : tables)
      const read = reads.find(({ table, resourceId }) => {
        return resourceId === id && names(withoutQuarantine(table.name))
      })
      if (read !== undefined) return [`${pipe.name} (as '${read.table.name}')`]
      if (made !== null && mayBeMade(named, { id, name: made })) return [`${pipe.name} (in a branch of its template)`]
    }
    return []
  })
}
