import type { Catalog } from '../catalog/catalog.ts'
import type { DataSource } from '../catalog/data-source.types.ts'
import { createDataSourceId } from '../catalog/data-source-id.ts'
import { isPlainTable } from '../ingest/insert/plain-table.ts'
import { createResourceHex } from '../shared/ids.ts'
import type { Store } from '../store/store.types.ts'
import type { AlteredTables } from './alter/alter-tables.ts'
import { tryBlankRow, tryDefinition } from './alter/definition-trial.ts'
import type { CreateRequest, NewDefinition, PipeUsers } from './datasources.types.ts'
import { readEngine, readIndexes, readSchema } from './definition.ts'
import { checkDefinedNames, toDefinitionError } from './definition-fault.ts'
import type { Removals } from './removals.ts'
import { createTables } from './tables.ts'

interface CreationsDeps {
  readonly catalog: Pick<Catalog, 'begin' | 'checkNewName' | 'complete' | 'find'>
  readonly store: AlteredTables & Pick<Store, 'definitionVersion' | 'trials'>
  readonly removals: Pick<Removals, 'endLeftovers' | 'takeBack'>
  readonly pipeUsers: PipeUsers | undefined
  /** Throws where a name that rows came for is a version of another one. */
  readonly refuseVersioned: (name: string) => void
}

interface CreationsOptions {
  /** Most columns of a schema. */
  readonly columnsMax: number
  readonly now: () => number
}

/** Makes data sources: the name in the catalog first, then the tables, then the entry is shown. */
export class Creations {
  readonly #deps: CreationsDeps
  readonly #options: CreationsOptions
  /** Under way, by name. */
  readonly #underWay = new Map<string, Promise<void>>()

  constructor(deps: CreationsDeps, options: CreationsOptions) {
    this.#deps = deps
    this.#options = options
  }

  /** See `DataSources.checkNew`. */
  check({ name, schema, ...request }: NewDefinition): void {
    if (name !== undefined) {
      this.#deps.catalog.checkNewName(name)
      this.#deps.pipeUsers?.checkTaken(name, null)
    }
    if (schema === undefined) return
    checkDefinedNames(this.define({ ...request, name, schema, description: '', type: 'csv' }), schema)
  }

  /** See `DataSources.create`. */
  async create(request: CreateRequest): Promise<DataSource> {
    return await this.#alone(request.name, async () => {
      const dataSource = this.define(request)
      await this.#makeNow(dataSource, request, () => this.#deps.catalog.complete(dataSource.id))
      return dataSource
    })
  }

  /** See `DataSources.whileMaking`. */
  async whileMaking<Result>(
    dataSource: DataSource,
    request: CreateRequest,
    change: () => Promise<Result>,
  ): Promise<Result> {
    return await this.#alone(dataSource.name, () => this.#makeNow(dataSource, request, change))
  }

  /** Refuses a definition as `create` does, with the engine. */
  async try(dataSource: DataSource, schema: string): Promise<void> {
    await tryDefinition(this.#deps.store, dataSource, schema)
  }

  async #alone<Result>(name: string | undefined, create: () => Promise<Result>): Promise<Result> {
    // Whoever is told that a name is taken must find what has it: until then it may still be taken back.
    for (let other = this.#creating(name); other !== undefined; other = this.#creating(name)) await other
    const creation = create()
    if (name === undefined) return await creation
    const ended = creation.then(nothing, nothing)
    this.#underWay.set(name, ended)
    void ended.then(() => this.#underWay.delete(name))
    return await creation
  }

  /** Waits for the creation of this name that is under way. */
  async untilEnded(name: string | undefined): Promise<void> {
    await this.#creating(name)
  }

  #creating(name: string | undefined): Promise<void> | undefined {
    return name === undefined ? undefined : this.#underWay.get(name)
  }

  /** @param show runs while the tables stand and nobody finds them, and has the entry shown. */
  async #makeNow<Result>(dataSource: DataSource, request: CreateRequest, show: () => Promise<Result>): Promise<Result> {
    checkDefinedNames(dataSource, request.schema)
    // What takes too long holds no name meanwhile.
    if (!isPlainTable(dataSource)) await tryDefinition(this.#deps.store, dataSource, request.schema)
    await this.#deps.removals.endLeftovers()
    await this.#deps.catalog.begin(dataSource, () => {
      if (request.isImplicit === true) this.#deps.refuseVersioned(dataSource.name)
      this.#deps.pipeUsers?.checkTaken(dataSource.name, null)
    })
    try {
      await createTables(this.#deps.store.tables, dataSource)
      if (isPlainTable(dataSource)) await tryBlankRow(this.#deps.store, dataSource, request.schema)
    } catch (thrown) {
      const error = await toDefinitionError(thrown, { dataSource, schema: request.schema }, this.#deps.store.tables)
      await this.#deps.removals.takeBack(dataSource.id)
      throw error
    }
    try {
      return await show()
    } catch (thrown) {
      // What has been shown may have rows.
      if (this.#deps.catalog.find(dataSource.id) === undefined) await this.#deps.removals.takeBack(dataSource.id)
      throw thrown
    }
  }

  /** A data source as it would be. @throws SCHEMA_INVALID, ENGINE_INVALID, INDEX_INVALID (400) */
  define(request: CreateRequest): DataSource {
    const { id = createDataSourceId(), name, description, schema, engine, indexes, type } = request
    const { version: declaredVersion } = request
    const columns = readSchema(schema, this.#options.columnsMax)
    const definition = readEngine(engine, columns)
    const now = this.#options.now()
    return {
      id,
      name: name ?? createName(),
      description,
      columns,
      engine: definition,
      indexes: readIndexes(indexes, definition),
      kafkaStoreRawValue: false,
      type,
      createdAt: now,
      updatedAt: now,
      version: 1,
      ...(declaredVersion === undefined ? {} : { declaredVersion }),
    }
  }
}

function nothing(): void {}

function createName(): string {
  return `ds_${createResourceHex().slice(0, 16)}`
}
