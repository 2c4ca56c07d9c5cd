import type { DataSource } from '../catalog/data-source.types.ts'
import { partLayoutOf, quarantineLayoutOf } from '../codec/part-layout.ts'
import type { PartLayout } from '../codec/part-layout.types.ts'
import type { ColumnDefinition } from '../shared/schema.types.ts'

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
}

/** `importId` is kept with the rows set aside; null for events. */
export function ingestPlanOf(dataSource: DataSource, importId: string | null): IngestPlan {
  const { id, columns } = dataSource
  return Object.freeze({
    ...schemaPlanOf(dataSource),
    landing: { table: id, layout: partLayoutOf(columns) },
    quarantine: { table: `${id}_quarantine`, layout: quarantineLayoutOf(columns, importId) },
  })
}

/** The part of the plan that parsing alone needs. */
export function schemaPlanOf({ id, version, columns }: DataSource): Pick<IngestPlan, 'columns' | 'planKey'> {
  return { planKey: `${id}:${version}`, columns }
}
