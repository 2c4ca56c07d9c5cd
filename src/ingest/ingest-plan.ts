import type { DataSource } from '../catalog/data-source.types.ts'
import { partLayoutOf, quarantineLayoutOf } from '../codec/arrow/part-layout.ts'
import type { PartLayout } from '../codec/arrow/part-layout.types.ts'
import type { ColumnDefinition } from '../schema/columns/column-definition.types.ts'
import { quarantineTable } from '../store/sql/quarantine-table.ts'
import { isPlainTable } from './insert/plain-table.ts'

/** All that the data plane needs to know of a data source: fixed for one version of its schema. */
export interface IngestPlan {
  /** Names the compiled plan in the workers. */
  readonly planKey: string
  readonly columns: readonly ColumnDefinition[]
  readonly landing: TablePlan
  readonly quarantine: TablePlan
}

export interface TablePlan {
  readonly table: string
  readonly layout: PartLayout
  readonly isPlain: boolean
}

/** Tables with the columns of a data source and of its quarantine. */
export interface ImportTables {
  readonly landing: string
  readonly quarantine: string
}

/** The data source's own. */
export function tablesOf({ id }: DataSource): ImportTables {
  return { landing: id, quarantine: quarantineTable(id) }
}

/** `importId` is kept with the rows set aside; null for events. `tables` are others than those of the data source. */
export function ingestPlanOf(
  dataSource: DataSource,
  importId: string | null,
  tables = tablesOf(dataSource),
): IngestPlan {
  const { columns } = dataSource
  return Object.freeze({
    ...schemaPlanOf(dataSource),
    landing: { table: tables.landing, layout: partLayoutOf(columns), isPlain: isPlainTable(dataSource) },
    quarantine: { table: tables.quarantine, layout: quarantineLayoutOf(columns, importId), isPlain: true },
  })
}

/** The part of the plan that parsing alone needs. */
export function schemaPlanOf({ id, version, columns }: DataSource): Pick<IngestPlan, 'columns' | 'planKey'> {
  return { planKey: `${id}:${version}`, columns }
}
