import { errors } from '../shared/errors/errors.ts'
import { hasVersion, splitVersion } from './versioned-name.ts'

export interface NameOwner {
  readonly kind: 'data source' | 'pipe'
  readonly id: string
  /** The version that a data source was given; absent for none. */
  readonly declaredVersion?: number
}

/** What a name with a version behind it speaks of, whatever its version is. */
export interface Unversioned extends NameOwner {
  readonly name: string
}

const lastNamesMax = 1_000

/** The names that are taken. Data sources and pipes share them, as a query reads both by their names. */
export class CatalogNames {
  readonly #owners = new Map<string, NameOwner>()
  /** By id: what was told of by its name may be gone while a request goes on by its id. */
  readonly #lastNames = new Map<string, string>()

  /** The id of who has the name; undefined when nobody has. */
  idOf(name: string): string | undefined {
    return this.#owners.get(name)?.id
  }

  /** The id of what a name with a version stands for; undefined for a name that somebody has, and for another version. */
  idOfVersion(name: string): string | undefined {
    const parts = this.#owners.has(name) ? null : splitVersion(name)
    if (parts === null) return undefined
    const owner = this.#owners.get(parts.base)
    return owner !== undefined && hasVersion(owner, parts.version) ? owner.id : undefined
  }

  /** What a name with a version speaks of; undefined for a name that somebody has, or without a version. */
  unversioned(name: string): Unversioned | undefined {
    const parts = this.#owners.has(name) ? null : splitVersion(name)
    const owner = parts === null ? undefined : this.#owners.get(parts.base)
    return parts === null || owner === undefined ? undefined : { ...owner, name: parts.base }
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

  /** The name that something which is gone had last; its id where that is too long ago. */
  lastNameOf(id: string): string {
    return this.#lastNames.get(id) ?? id
  }

  /** Frees a name, unless it is another's by now. */
  free(name: string, id: string): void {
    this.#lastNames.delete(id)
    this.#lastNames.set(id, name)
    const [oldest] = this.#lastNames.keys()
    if (this.#lastNames.size > lastNamesMax && oldest !== undefined) this.#lastNames.delete(oldest)
    if (this.idOf(name) === id) this.#owners.delete(name)
  }
}
