// A data source as clients read it. Lists and single resources have different shapes, and some clients break on a key
// too many or too few inside `engine` and `columns`.

import type { DataSource } from '../../catalog/data-source.types.ts'
import type { DataSourceStatistics, PipeReference } from '../../datasources/datasources.types.ts'
import type { EventsDelay, EventsStatus } from '../../ingest/events/events.types.ts'
import type { ColumnDefinition } from '../../schema/columns/column-definition.types.ts'
import { formatSchema } from '../../schema/columns/schema-parser.ts'
import type { IndexDefinition } from '../../schema/definitions/index-definition.ts'
import { givenEngineText } from '../../schema/definitions/table-definition.ts'
import type { EngineDefinition } from '../../schema/engines/engine-definition.types.ts'
import type { ColumnType } from '../../schema/types/column-type.types.ts'
import { timeText } from './time-text.ts'

/** What is known of a data source beside its definition. */
export interface DerivedFields {
  /** Undefined where nothing is stored; null where the caller is not told. */
  readonly statistics: DataSourceStatistics | undefined | null
  readonly usedBy?: readonly PipeReference[]
  /** Told by the shape of one data source alone. */
  readonly possiblyUsedBy?: readonly PipeReference[]
  readonly waiting?: EventsStatus | null
  /** Told by the shape of one data source alone. */
  readonly views?: ShownViews
  /** Told by the shape of one data source alone: the views that its rows should pass and that lack some, each as its shape. */
  readonly behind?: readonly object[]
  /** The same of the views that it is filled by, at any depth: so it lacks rows. */
  readonly lacking?: readonly object[]
  /** Keys of events that no column takes, as columns. */
  readonly newColumns?: ReadonlyMap<string, string>
}

/** The views that fill a data source, and those that its rows pass, at any depth and in order. */
export interface ShownViews {
  readonly from: readonly Omit<ShownView, 'depth'>[]
  readonly into: readonly ShownView[]
}

export interface ShownView {
  readonly pipe: PipeReference
  readonly node: PipeReference
  readonly source: PipeReference
  readonly target: PipeReference
  /** How many views rows have passed then. */
  readonly depth: number
}

/** The shape of `GET /v0/datasources/<name>` and of `datasource` in an import result. */
export function singleShape(dataSource: DataSource, derived: DerivedFields) {
  const { statistics, possiblyUsedBy, waiting = null, newColumns = new Map(), views } = derived
  const { behind = [], lacking = [] } = derived
  const { engine, columns } = dataSource
  return {
    ...commonFields(dataSource, derived),
    ...(possiblyUsedBy === undefined ? {} : { possibly_used_by: possiblyUsedBy.map(reference) }),
    engine: {
      engine: engine.name,
      engine_full: givenEngineText(engine),
      ...definedOptions(engine),
    },
    errors_discarded_at: null,
    headers: {},
    indexes: dataSource.indexes.map(indexShape),
    kafka_store_raw_value: dataSource.kafkaStoreRawValue,
    last_commit: { content_sha: '', path: '', status: 'ok' },
    new_columns_detected: newColumns.size === 0 ? false : Object.fromEntries(newColumns),
    quarantine_rows: rowsIn(statistics, 'quarantine'),
    schema: {
      columns: columns.map((column) => ({ auto: false, ...columnShape(column) })),
      sql_schema: formatSchema(columns),
    },
    shared_with: [],
    events: eventsShape(waiting),
    ...(views === undefined ? {} : viewsShape(views)),
    ...(behind.length === 0 ? {} : { views_behind: behind }),
    ...(lacking.length === 0 ? {} : { lacks_rows_of: lacking }),
  }
}

function viewsShape({ from, into }: ShownViews): object {
  return {
    ...(from.length === 0 ? {} : { materialized_from: from.map((view) => viewShape(view)) }),
    ...(into.length === 0
      ? {}
      : { materializes_into: into.map(({ depth, ...view }) => ({ depth, ...viewShape(view) })) }),
  }
}

function viewShape({ pipe, node, source, target }: Omit<ShownView, 'depth'>): object {
  return {
    pipe: reference(pipe),
    node: reference(node),
    trigger_datasource: reference(source),
    datasource: reference(target),
  }
}

/** Events that are on disk and not in the database yet, and what keeps them from it. */
function eventsShape(waiting: EventsStatus | null): object {
  const failure = waiting?.failure ?? null
  const delay = waiting?.delay ?? null
  const sinceMs = failure?.sinceMs ?? delay?.sinceMs
  return {
    waiting_rows: waiting?.waitingRows ?? 0,
    waiting_bytes: waiting?.waitingBytes ?? 0,
    error: failure?.message ?? (delay === null ? null : delayText(delay)),
    failed_since: sinceMs === undefined ? null : timeText(sinceMs),
    retry_at: failure === null ? null : timeText(failure.retryAtMs),
  }
}

function delayText({ sinceMs, reason }: EventsDelay): string {
  const since = `The database has been storing a block of events since ${timeText(sinceMs)}`
  if (reason === null) return `${since}; the events after it wait`
  return `${since}. One INSERT of it cost too much, so its rows are tried in smaller pieces: ${reason}`
}

/** The shape of an item of `GET /v0/datasources`. */
export function listShape(dataSource: DataSource, derived: DerivedFields): Record<string, unknown> {
  const { statistics, newColumns = new Map() } = derived
  const { engine, columns } = dataSource
  return {
    ...commonFields(dataSource, derived),
    engine: {
      engine: engine.name,
      engine_sorting_key: engine.options['sorting_key'] ?? '',
      engine_partition_key: engine.options['partition_key'] ?? '',
      engine_primary_key: engine.options['primary_key'] ?? null,
    },
    columns: columns.map(columnShape),
    indexes: dataSource.indexes.map(indexShape),
    new_columns_detected: Object.fromEntries(newColumns),
    quarantine_rows: rowsIn(statistics, 'quarantine'),
  }
}

// A client that asks for the columns reads these beside them without having asked.
const besideColumns = ['engine', 'indexes', 'new_columns_detected', 'quarantine_rows']

/** An item of the list with nothing but `attrs`; undefined or an empty list of names gives all fields. */
export function listItem(dataSource: DataSource, derived: DerivedFields, attrs: string | undefined): object {
  const shape = listShape(dataSource, derived)
  const wanted = wantedNames(attrs)
  if (wanted === null) return shape
  return Object.fromEntries(Object.entries(shape).filter(([name]) => wanted.has(name)))
}

/** The fields that `attrs` asks for; null is all of them. */
export function wantedNames(attrs: string | undefined): ReadonlySet<string> | null {
  const names = (attrs ?? '').split(',').flatMap((name) => name.trim() || [])
  if (names.length === 0) return null
  return new Set(names.includes('columns') ? [...names, ...besideColumns] : names)
}

/** What `attrs` may ask for. */
export const listFields: readonly string[] = [
  ...[
    'id',
    'name',
    'cluster',
    'created_at',
    'updated_at',
    'description',
    'project',
    'replicated',
    'statistics',
    'tags',
  ],
  ...['type', 'used_by', 'version', 'engine', 'columns', 'indexes', 'new_columns_detected', 'quarantine_rows'],
]

function commonFields(dataSource: DataSource, { statistics, usedBy = [] }: DerivedFields) {
  const { id, name, description, type, version, declaredVersion, createdAt, updatedAt } = dataSource
  return {
    id,
    name,
    cluster: null,
    created_at: timeText(createdAt),
    updated_at: timeText(updatedAt),
    description,
    project: null,
    replicated: false,
    statistics: sizeShape(statistics),
    tags: {},
    type,
    used_by: usedBy.map(reference),
    version: declaredVersion ?? version,
  }
}

/** The size of its rows; nulls where the caller is not told. */
export function sizeShape(statistics: DerivedFields['statistics']) {
  if (statistics === null) return { bytes: null, row_count: null }
  return { bytes: statistics?.landing.byteCount ?? 0, row_count: rowsIn(statistics, 'landing') }
}

export function rowsIn(statistics: DerivedFields['statistics'], table: keyof DataSourceStatistics): number | null {
  return statistics === null ? null : (statistics?.[table].rowCount ?? 0)
}

function reference({ id, name }: PipeReference) {
  return { id, name }
}

function indexShape({ name, expression, typeText, granularity }: IndexDefinition) {
  return { name, expr: expression, type_full: typeText, granularity: String(granularity) }
}

function columnShape({ name, type, typeText, codec, defaultExpression, jsonPathText }: ColumnDefinition) {
  return {
    name,
    // Where a column may be null, clients find that in `nullable` alone.
    type: type.kind === 'nullable' ? typeText.replace(/^Nullable\((.*)\)$/s, '$1') : typeText,
    codec: codec === null ? null : `CODEC(${codec})`,
    default_value: defaultExpression === null ? null : `DEFAULT ${defaultExpression}`,
    jsonpath: jsonPathText,
    nullable: isNullable(type),
    normalized_name: name,
  }
}

function isNullable(type: ColumnType): boolean {
  return type.kind === 'nullable' || (type.kind === 'lowCardinality' && type.inner.kind === 'nullable')
}

function definedOptions({ options }: EngineDefinition): Record<string, string> {
  return Object.fromEntries(Object.entries(options).filter(([name]) => name !== 'settings'))
}
