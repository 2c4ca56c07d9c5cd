import type { VerifiedPartition, VerifyReport } from '../../materialize/verify/verify.types.ts'

/** Partitions that an answer lists. */
const partitionsMax = 1_000

const othersNote =
  'Rows that came to the Data Source in other ways than through this Materialized View count as extra or different: nobody can tell them from its own.'

/** What a comparison of a view with its query found. */
export function verifyShape({ reasons, partitions, leftOut }: VerifyReport): object {
  const judged = partitions.filter(({ reason }) => reason === null)
  const differing = judged.filter(({ isEqual }) => !isEqual)
  const isComparable = reasons.length === 0
  return {
    comparable: isComparable,
    reason: isComparable ? null : reasons.join('; '),
    equal: isComparable && (judged.length > 0 || partitions.length === 0) ? differing.length === 0 : null,
    partitions_total: partitions.length,
    partitions_differing: differing.length,
    partitions: partitions.slice(0, partitionsMax).map(partitionShape),
    ...(differing.length === 0 ? {} : { note: othersNote }),
    columns_not_compared: leftOut.map(({ name, reason }) => ({ column: name, reason })),
  }
}

function partitionShape(partition: VerifiedPartition): object {
  return {
    partition: partition.text,
    comparable: partition.reason === null,
    reason: partition.reason,
    equal: partition.isEqual,
    rows_expected: partition.rowsExpected,
    rows_found: partition.rowsFound,
    rows_missing: partition.rowsMissing,
    rows_extra: partition.rowsExtra,
    rows_different: partition.rowsDifferent,
    samples: partition.samples,
  }
}
