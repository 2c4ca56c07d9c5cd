import type { DifferingPartition } from '../../materialize/verify/repair.types.ts'
import type { VerifiedPartition, VerifyReport } from '../../materialize/verify/verify.types.ts'

/** Partitions that an answer lists. */
const partitionsMax = 1_000

const othersNote =
  'Rows that came to the Data Source in other ways than through this Materialized View count as extra or different: nobody can tell them from its own.'

const leftOutNote = "'equal' speaks of the columns that are compared: those in 'columns_not_compared' may differ."

/**
 * What a comparison of a view with its query found.
 * @param lacking names of the data sources that it reads and that lack rows of views before it.
 */
export function verifyShape({ reasons, partitions, leftOut }: VerifyReport, lacking: readonly string[] = []): object {
  const judged = partitions.filter(({ reason }) => reason === null)
  const differing = judged.filter(({ isEqual }) => !isEqual)
  const isComparable = reasons.length === 0
  const notes = [
    ...(differing.length === 0 ? [] : [othersNote]),
    ...(leftOut.length === 0 ? [] : [leftOutNote]),
    ...(lacking.length === 0 ? [] : [lackingNote(lacking)]),
  ]
  return {
    comparable: isComparable,
    reason: isComparable ? null : reasons.join('; '),
    equal: isComparable && (judged.length > 0 || partitions.length === 0) ? differing.length === 0 : null,
    partitions_total: partitions.length,
    partitions_differing: differing.length,
    partitions: partitions.slice(0, partitionsMax).map(partitionShape),
    ...(notes.length === 0 ? {} : { note: notes.join(' ') }),
    columns_not_compared: leftOut.map(({ name, reason }) => ({ column: name, reason })),
  }
}

function lackingNote(names: readonly string[]): string {
  const paths = names.map((name) => `GET /v0/datasources/${name}`).join(' and ')
  return `What it is compared with lacks rows of Materialized Views that are parked or incomplete: 'lacks_rows_of' of ${paths} says of which.`
}

function partitionShape(partition: VerifiedPartition): object {
  return {
    partition: partition.text,
    equal: partition.isEqual,
    ...differenceFields(partition),
    samples: partition.samples,
  }
}

/** How a partition differs, as answers and jobs tell it. */
export function differenceFields(found: Omit<DifferingPartition, 'partition'>): object {
  return {
    comparable: found.reason === null,
    reason: found.reason,
    rows_expected: found.rowsExpected,
    rows_found: found.rowsFound,
    rows_missing: found.rowsMissing,
    rows_extra: found.rowsExtra,
    rows_different: found.rowsDifferent,
  }
}
