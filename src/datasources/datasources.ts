// Data sources as catalog entries and tables together.
//
// Invariants: an entry is shown only while its tables stand, and no table comes before its entry or stays behind it.
// A creation takes the name in the catalog, makes the tables, then shows the entry; a removal hides the entry, drops the
// tables, then forgets the entry. Whatever step a process dies at, the catalog still knows what is unfinished, and the
// next start takes it back.

import type { Catalog } from '../catalog/catalog.ts'
import type { DataSource, DataSourceId, EngineDefinition } from '../catalog/data-source.types.ts'
import { createDataSourceId, findDataSourceId } from '../catalog/data-source-id.ts'
import { defaultEngine, parseEngineDefinition } from '../catalog/engine-definition.ts'
import { SchemaError } from '../catalog/schema-error.ts'
import { parseSchema } from '../catalog/schema-parser.ts'
import type { Ingest } from '../ingest/ingest.types.ts'
import type { Logger } from '../observe/logger.ts'
import { errors } from '../shared/errors.ts'
import { createResourceHex } from '../shared/ids.ts'
import type { ColumnDefinition } from '../shared/schema.types.ts'
import { quarantineTable } from '../store/quarantine-table.ts'
import type { Store, TableStatistics } from '../store/store.types.ts'
import type { CreateRequest, DataSourceStatistics, DataSources, EventsSample } from './datasources.types.ts'
import { toDefinitionError } from './definition-fault.ts'
import { EventsCreation, type EventsCreationOptions } from './events-creation.ts'
import { createTables, dropTables, listTables, ownerOf } from './tables.ts'

export interface DataSourcesOptions extends EventsCreationOptions {
  /** Most columns of a schema. */
  readonly columnsMax: number
}

interface Neighbours {
  readonly catalog: Catalog
  readonly store: Pick<Store, 'command' | 'rows' | 'tableStatistics'>
  /** Holds events back while a data source changes. */
  readonly ingest: Pick<Ingest, 'withBarrier'>
  readonly logger: Logger
}

/** Opens the room: what an earlier process left half done is taken back before this resolves. */
export async function openDataSources(options: DataSourcesOptions, neighbours: Neighbours): Promise<DataSources> {
  const room = new DataSourcesRoom(options, neighbours)
  await room.mend()
  return room
}

class DataSourcesRoom implements DataSources {
  readonly #options: DataSourcesOptions
  readonly #catalog: Catalog
  readonly #store: Neighbours['store']
  readonly #ingest: Neighbours['ingest']
  readonly #logger: Logger
  readonly #eventsCreation: EventsCreation

  constructor(options: DataSourcesOptions, { catalog, store, ingest, logger }: Neighbours) {
    this.#options = options
    this.#catalog = catalog
    this.#store = store
    this.#ingest = ingest
    this.#logger = logger
    this.#eventsCreation = new EventsCreation(options, this)
  }

  find(nameOrId: string): DataSource | undefined {
    return this.#catalog.find(nameOrId)
  }

  get(nameOrId: string): DataSource {
    const dataSource = this.#catalog.find(nameOrId)
    if (dataSource === undefined) throw errors.DATASOURCE_NOT_FOUND({ name: nameOrId })
    return dataSource
  }

  list(): readonly DataSource[] {
    return this.#catalog.list()
  }

  async create(request: CreateRequest): Promise<DataSource> {
    const dataSource = this.#define(request)
    await this.#catalog.begin(dataSource)
    try {
      await createTables(this.#store, dataSource)
      await this.#catalog.complete(dataSource.id)
    } catch (thrown) {
      const error = await toDefinitionError(thrown, { dataSource, schema: request.schema }, this.#store)
      await this.#takeBack(dataSource.id)
      throw error
    }
    return dataSource
  }

  findForEvents(nameOrId: string): DataSource | undefined {
    // An id is given by us: nothing can be created under it, and its data source may have been dropped a moment ago.
    const mayCreate = this.#eventsCreation.isAllowed && findDataSourceId(nameOrId) === undefined
    return mayCreate ? this.find(nameOrId) : this.get(nameOrId)
  }

  async createFromEvents(sample: EventsSample): Promise<DataSource> {
    return this.find(sample.name) ?? (await this.#eventsCreation.create(sample))
  }

  async drop(nameOrId: string): Promise<void> {
    const dataSource = this.get(nameOrId)
    const { id } = dataSource
    // Nobody finds it any more, then nothing is inserted any more, then the tables go: a start after a kill at any step
    // finds the entry half gone, and ends what was begun.
    await this.#catalog.retire(id)
    await this.#ingest.withBarrier({ dataSource, isFinal: true }, () => this.#takeBack(id))
  }

  async statistics(): Promise<ReadonlyMap<string, DataSourceStatistics>> {
    const tables = await this.#store.tableStatistics()
    return new Map(
      this.#catalog.list().map(({ id }) => {
        const landing = tables.get(id) ?? noRows
        const quarantine = tables.get(quarantineTable(id)) ?? noRows
        return [id, { landing, quarantine }]
      }),
    )
  }

  /** Makes catalog and tables agree again. */
  async mend(): Promise<void> {
    for (const { dataSource } of this.#catalog.unfinished()) {
      this.#logger.info(
        { id: dataSource.id, name: dataSource.name },
        'A half made or half gone data source is removed.',
      )
      await dropTables(this.#store, dataSource.id)
      await this.#catalog.remove(dataSource.id)
    }
    const tables = await listTables(this.#store)
    for (const dataSource of this.#catalog.list()) await this.#mendTables(dataSource, tables)
    for (const owner of new Set([...tables.keys()].map(ownerOf))) {
      if (this.#catalog.find(owner) === undefined) await this.#mendOrphan(owner, tables)
    }
  }

  /** A table comes after its entry and goes before it, so one without an entry means that the catalog has lost it. */
  async #mendOrphan(owner: string, tables: ReadonlyMap<string, number>): Promise<void> {
    const rowCount = (tables.get(owner) ?? 0) + (tables.get(quarantineTable(owner)) ?? 0)
    if (rowCount > 0) {
      this.#logger.error({ id: owner, rowCount }, 'Tables with rows belong to no data source; they are left alone.')
      return
    }
    this.#logger.warn({ id: owner }, 'Empty tables that belong to no data source are dropped.')
    await dropTables(this.#store, owner)
  }

  async #mendTables(dataSource: DataSource, tables: ReadonlyMap<string, number>): Promise<void> {
    const { id, name } = dataSource
    if (tables.has(id) && tables.has(quarantineTable(id))) return
    this.#logger.error({ id, name }, 'A data source had lost a table; it is made again, without its rows.')
    await createTables(this.#store, dataSource)
  }

  #define({ name, description, schema, engine, type }: CreateRequest): DataSource {
    const columns = readSchema(schema, this.#options.columnsMax)
    const now = this.#options.now()
    return {
      id: createDataSourceId(),
      name: name ?? createName(),
      description,
      columns,
      engine: readEngine(engine, columns),
      type,
      createdAt: now,
      updatedAt: now,
      version: 1,
    }
  }

  /** Drops the tables, then the hidden entry. What fails here is done at the next start, and nobody sees it until then. */
  async #takeBack(id: DataSourceId): Promise<void> {
    try {
      await dropTables(this.#store, id)
      await this.#catalog.remove(id)
    } catch (err) {
      this.#logger.error({ err, id }, 'The tables of a data source could not be dropped; the next start drops them.')
    }
  }
}

const noRows: TableStatistics = { rowCount: 0, byteCount: 0 }

function createName(): string {
  return `ds_${createResourceHex().slice(0, 16)}`
}

function readSchema(schema: string, columnsMax: number): readonly ColumnDefinition[] {
  try {
    return parseSchema(schema, { columnsMax })
  } catch (thrown) {
    if (!(thrown instanceof SchemaError)) throw thrown
    throw errors.SCHEMA_INVALID({ reason: thrown.reason, ...thrown.position, cause: thrown })
  }
}

/** The engine as the caller wrote it, checked against the columns. */
function readEngine(engine: EngineDefinition | null, columns: readonly ColumnDefinition[]): EngineDefinition {
  if (engine === null) return defaultEngine
  const options = Object.entries(engine.options).map(([name, value]) => [`engine_${name}`, value] as const)
  return parseEngineDefinition({ engine: engine.name, ...Object.fromEntries(options) }, columns)
}
