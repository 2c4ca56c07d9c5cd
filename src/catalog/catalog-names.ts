import { errors } from '../shared/errors.ts'

export interface NameOwner {
  readonly kind: 'data source' | 'pipe'
  readonly id: string
}

/** The names that are taken. Data sources and pipes share them, as a query reads both by their names. */
export class CatalogNames {
  readonly #owners = new Map<string, NameOwner>()

  /** The id of who has the name; undefined when nobody has. */
  idOf(name: string): string | undefined {
    return this.#owners.get(name)?.id
  }

  /** @throws DATASOURCE_EXISTS, PIPE_EXISTS (409) */
  checkFree(name: string): void {
    const owner = this.#owners.get(name)
    if (owner?.kind === 'data source') throw errors.DATASOURCE_EXISTS({ name })
    if (owner?.kind === 'pipe') throw errors.PIPE_EXISTS({ name })
  }

  take(name: string, owner: NameOwner): void {
    this.#owners.set(name, owner)
  }

  /** Frees a name, unless it is another's by now. */
  free(name: string, id: string): void {
    if (this.idOf(name) === id) this.#owners.delete(name)
  }
}
