import type { DataSource } from '../../catalog/data-source.types.ts'
import { errors } from '../../shared/errors/errors.ts'

/**
 * Refuses rows that were read by a definition whose columns the data source has no more: it went, or was made anew meanwhile. Columns
 * that were added behind are no reason.
 *
 * @throws DATASOURCE_NOT_FOUND (404), DATASOURCE_BUSY (409)
 */
export function refuseStaleDefinition({ name, columns }: DataSource, current: DataSource | undefined): void {
  if (current === undefined) throw errors.DATASOURCE_NOT_FOUND({ name })
  const isStill = columns.every((column, index) => {
    const now = current.columns[index]
    return now?.name === column.name && now.typeText === column.typeText
  })
  if (!isStill) throw errors.DATASOURCE_BUSY({ name, what: 'changed' })
}
