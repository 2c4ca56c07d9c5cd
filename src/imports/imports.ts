import type { DataSource } from '../catalog/data-source.types.ts'
import { errors } from '../shared/errors/errors.ts'
import { findTarget } from './find-target.ts'
import { analyzeRows } from './guess-rows.ts'
import { ImportPlaces } from './import-places.ts'
import { ImportTimes } from './import-times.ts'
import type { Analysis, AnalysisRequest, ImportOrder, Imports } from './imports.types.ts'
import { type ImportsDeps, type ImportsOptions, openImport } from './open-import.ts'
import { recogniseFormat, recogniseRows } from './recognise-rows.ts'

/** Opens the way from bytes and an order to rows in a data source. */
export function openImports(options: ImportsOptions, deps: Omit<ImportsDeps, 'times'>): Imports {
  const places = new ImportPlaces()
  const times = new ImportTimes()
  return {
    enter: (stop, sender) => places.take(stop, sender),
    open: (request) => openImport(request, { ...deps, times }, options),
    lastEndedAtMs: (dataSourceId) => times.lastOf(dataSourceId),
    check: (order) => checkOrder(order, deps, options),
    analyze: (request) => analyze(request, deps, options),
    close: () => places.endAll(),
  }
}

async function checkOrder(
  order: ImportOrder,
  { dataSources }: Pick<ImportsDeps, 'dataSources'>,
  { missingDataSource }: ImportsOptions,
): Promise<DataSource | null> {
  const target = await findTarget(order, { dataSources, missingDataSource, hasRows: true })
  if (target !== null) return target
  const { format, mode, name, schema } = order
  dataSources.checkNew(order)
  if (schema === undefined && (format === 'ndjson' || format === 'parquet')) {
    throw errors.SCHEMA_MISSING({ format, missing: mode === 'append' ? name : undefined })
  }
  return null
}

async function analyze(
  { source, unknownFormat, signal, ...order }: AnalysisRequest,
  { dataSources, ingest }: Pick<ImportsDeps, 'dataSources' | 'ingest'>,
  { columnsMax }: ImportsOptions,
): Promise<Analysis> {
  const rows = await (unknownFormat === 'guessed' ? recogniseFormat(source, order) : recogniseRows(source, order))
  const { csv, hasTypes } = order
  const analysis = await analyzeRows({ ...rows, signal }, { csv, hasTypes, columnsMax }, ingest)
  // What could not be created would be no recommendation.
  dataSources.checkSchema(analysis.guess.schema)
  return analysis
}
