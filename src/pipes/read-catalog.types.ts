import type { DataSource } from '../catalog/data-source.types.ts'
import type { PipeReader } from '../catalog/pipe.types.ts'

/** The catalog, as those see it who ask what pipes read. */
export type ReadCatalog = PipeReader & {
  readonly catalogVersion: number
  find(nameOrId: string): DataSource | undefined
  list(): readonly DataSource[]
}
