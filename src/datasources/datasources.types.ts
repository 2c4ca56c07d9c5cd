import type { DataSource, EngineDefinition } from '../catalog/data-source.types.ts'
import type { TableStatistics } from '../store/store.types.ts'

/** The life of a data source: catalog and tables change together, half-done work is mended at start. */
export interface DataSources {
  /** Creates the tables, then the catalog entry. Raises errors of the error table (400, 409). */
  create(request: CreateRequest): Promise<DataSource>
  /**
   * By name or id; undefined when events may create it. Raises DATASOURCE_NOT_FOUND (404) when they may not, which can be
   * said before they are read.
   */
  findForEvents(nameOrId: string): DataSource | undefined
  /**
   * Creates a data source whose columns are inferred from its first events; callers that come meanwhile get the same one.
   * Raises DATASOURCE_NOT_FOUND (404) when events may create none, SCHEMA_UNKNOWN (400), CREATES_TOO_MANY (429), and what
   * `create` does.
   */
  createFromEvents(sample: EventsSample): Promise<DataSource>
  /** By name or id; raises DATASOURCE_NOT_FOUND (404). */
  get(nameOrId: string): DataSource
  find(nameOrId: string): DataSource | undefined
  list(): readonly DataSource[]
  /** Removes the entry, then the tables. */
  drop(nameOrId: string): Promise<void>
  /** Rows and bytes of the landing table and the quarantine, by data source id. */
  statistics(): Promise<ReadonlyMap<string, DataSourceStatistics>>
}

export interface EventsSample {
  readonly name: string
  /** The whole body, unpacked. */
  readonly body: Uint8Array
  readonly framing: 'document' | 'lines'
}

export interface DataSourceStatistics {
  readonly landing: TableStatistics
  readonly quarantine: TableStatistics
}

export interface CreateRequest {
  /** Undefined asks for a name made by the service. */
  readonly name: string | undefined
  readonly description: string
  /** The schema string as the client sent it. */
  readonly schema: string
  /** Null takes MergeTree with the default sorting key. */
  readonly engine: EngineDefinition | null
  readonly type: 'csv' | 'ndjson'
}
