import type { Catalog } from '../../catalog/catalog.ts'
import type { Logger } from '../../observe/logger.ts'
import { definitionFaults } from '../../schema/definitions/definition-faults.ts'
import { leafCount } from '../../schema/types/column-leaves.ts'

/**
 * Tells of each stored definition that would be refused if it came now. The data source goes on as it is: whoever runs the
 * service must look at it, because its expressions run with the rights of the service.
 */
export function reportDefinitions(catalog: Pick<Catalog, 'list'>, logger: Logger, columnsMax: number): void {
  for (const dataSource of catalog.list()) {
    const leaves = dataSource.columns.reduce((count, { type }) => count + leafCount(type), 0)
    if (leaves > columnsMax) {
      logger.error(
        { dataSource: dataSource.name, columns: leaves, columnsMax },
        'A stored Data Source has more columns, with the parts of tuples, arrays and maps, than a new one may have. It goes on working.',
      )
    }
    for (const { place, reason } of definitionFaults(dataSource)) {
      logger.error(
        { dataSource: dataSource.name, place, reason },
        'A stored Data Source has an expression or a type that is refused now. It goes on working; create it anew without that.',
      )
    }
  }
}
