import type { Catalog } from '../catalog/catalog.ts'
import type { DataSource, DataSourceId } from '../catalog/data-source.types.ts'
import type { Pipe } from '../catalog/pipe.types.ts'
import { readNames } from '../query/branch-reads.ts'
import type { Query } from '../query/query.types.ts'
import { errors } from '../shared/errors/errors.ts'
import { isVersionNamed } from './name-readers.ts'
import { PipeReaders } from './pipe-readers.ts'
import { possibleReaders } from './possible-readers.ts'
import type { ReadCatalog } from './read-catalog.types.ts'
import {
  type PlannedRename,
  ReaderRenames,
  type ReaderRenamesOptions,
  unreadHint,
  type WriteRename,
} from './reader-renames.ts'
import type { RepeatedChanges } from './repeated-changes.ts'
import { checkFreed, checkTaken, checkVersion } from './version-reads.ts'

/** The pipes that use data sources, in order of their creation. */
export interface PipeUsers {
  /** Those that read it themselves, or its quarantine. */
  using(id: DataSourceId): readonly Pipe[]
  /** The others, which read it in some branch of a template. */
  possiblyUsing(id: DataSourceId): readonly Pipe[]
  /** Makes ready what `possiblyUsing` looks at, and gives others their turn: it needs no more than a moment then. */
  readNames(): Promise<void>
  /** Makes a change that `rename` is part of, again where it is stale. @throws CHANGES_TOO_MANY (503), and what `change` throws. */
  repeated<Result>(change: () => Promise<Result>): Promise<Result>
  /** Has a rename written with the pipes that read it. @throws what `ReaderRenames.run` does. */
  rename<Result>(rename: Omit<PlannedRename, 'kind'>, write: WriteRename<Result>): Promise<Result>
  /** Refuses a name that pipes read something else under; `id` is of who is to have it, null for something new. @throws DATASOURCE_USED, PIPE_USED (409). */
  checkTaken(name: string, id: DataSourceId | null): void
  /** Refuses that a data source goes whose readers would read something else then. @throws DATASOURCE_USED (409). */
  checkFreed(dataSource: Pick<DataSource, 'id' | 'name'>): void
  /**
   * Refuses a version under which pipes would not find what they read, or would find what whoever asks may not have them read.
   * @throws READ_DENIED (403), DATASOURCE_USED (409).
   */
  checkVersion(dataSource: Pick<DataSource, 'id' | 'name'>, version: number, mayPassOn: boolean): void
}

interface Deps {
  /** Those of pipes too. */
  readonly changes: RepeatedChanges
  readonly catalog: ReadCatalog & Pick<Catalog, 'unversioned'>
  readonly query: Pick<Query, 'compareNode'>
}

export function createPipeUsers(options: ReaderRenamesOptions, { catalog, query, changes }: Deps): PipeUsers {
  const readers = new PipeReaders(catalog)
  const renames = new ReaderRenames(options, { catalog, query })
  const nameOf = (id: DataSourceId): string => catalog.find(id)?.name ?? ''
  return {
    using: (id) => readers.of(id),
    possiblyUsing: (id) => (catalog.find(id) === undefined ? [] : possibleReaders({ id, name: nameOf(id) }, catalog)),
    readNames: () => readNames(catalog.listPipes()),
    repeated: (change) => changes.run(change),
    rename: (rename, write) => renames.run({ ...rename, kind: 'data source' }, write),
    checkTaken: (name, id) => checkTaken(name, id, catalog),
    checkFreed: (dataSource) => checkFreed({ ...dataSource, kind: 'data source' }, catalog),
    checkVersion(dataSource, version, mayPassOn) {
      const { name } = dataSource
      if (!mayPassOn && isVersionNamed(name, version, catalog.listPipes()))
        throw errors.READ_DENIED({ name, hint: unreadHint })
      checkVersion(dataSource, version, catalog)
    },
  }
}
