import { gibibyte } from '../../../src/shared/bytes.ts'
import { ComparisonStatements } from '../../../src/store/sql/comparison-statements.ts'
import { PartStatements } from '../../../src/store/sql/part-statements.ts'
import { PartitionStatements } from '../../../src/store/sql/partition-statements.ts'
import { PinStatements } from '../../../src/store/sql/pin-statements.ts'
import { QuarantineStatements } from '../../../src/store/sql/quarantine-statements.ts'
import { ReplayStatements } from '../../../src/store/sql/replay-statements.ts'
import { RowDeleteStatements } from '../../../src/store/sql/row-delete-statements.ts'
import { TableStatements } from '../../../src/store/sql/table-statements.ts'
import { TrialStatements } from '../../../src/store/sql/trial-statements.ts'
import { ViewStatements } from '../../../src/store/sql/view-statements.ts'
import type { Statements } from '../../../src/store/statements.types.ts'
import type { Reads } from '../../../src/store/store.types.ts'

/** The verbs of a store that are statements, over other ways to run these. */
export function storeVerbs(statements: Statements, reads: Pick<Reads, 'select'>) {
  const tables = new TableStatements(statements)
  const limits = { queryMemoryBytesMax: gibibyte }
  return {
    tables,
    partitions: new PartitionStatements(statements),
    parts: new PartStatements(statements),
    pins: new PinStatements(statements),
    comparisons: new ComparisonStatements(limits, statements),
    views: new ViewStatements(statements),
    trials: new TrialStatements(statements, reads),
    quarantines: new QuarantineStatements(statements, reads),
    replays: new ReplayStatements(limits, { statements, reads, tables }),
    rowDeletes: new RowDeleteStatements(limits, { statements, reads }),
  }
}
