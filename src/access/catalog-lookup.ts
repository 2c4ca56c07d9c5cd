import type { Catalog } from '../catalog/catalog.ts'
import { quarantineSuffix } from '../catalog/quarantine-name.ts'
import { isServiceName } from '../catalog/service-name.ts'
import type { AccessDeps } from './access.ts'
import type { NamedResource } from './grant.types.ts'
import type { ResourceKind } from './scopes/scope-types.ts'

/** What scopes and requests name, as the catalog has it now: found just as the modules find it that do the work. */
type LookupCatalog = Pick<Catalog, 'find' | 'findPipe' | 'catalogVersion'>

export class CatalogLookup implements NonNullable<AccessDeps['lookup']> {
  readonly #catalog: LookupCatalog

  constructor(catalog: LookupCatalog) {
    this.#catalog = catalog
  }

  get version(): number {
    return this.#catalog.catalogVersion
  }

  kindOf(id: string): ResourceKind | undefined {
    if (isServiceName(id)) return 'datasource'
    if (this.#catalog.find(id)?.id === id) return 'datasource'
    return this.#catalog.findPipe(id)?.id === id ? 'pipe' : undefined
  }

  find(kind: ResourceKind, nameOrId: string): NamedResource {
    if (kind === 'datasource' && isServiceName(nameOrId)) return { name: nameOrId, id: nameOrId, isQuarantine: false }
    const id = kind === 'datasource' ? this.#catalog.find(nameOrId)?.id : this.#catalog.findPipe(nameOrId)?.id
    if (id !== undefined || kind === 'pipe') return { name: nameOrId, id, isQuarantine: false }
    if (!nameOrId.endsWith(quarantineSuffix)) return { name: nameOrId, id, isQuarantine: false }
    const owner = this.#catalog.find(nameOrId.slice(0, -quarantineSuffix.length))?.id
    return { name: nameOrId, id: owner, isQuarantine: owner !== undefined }
  }
}
