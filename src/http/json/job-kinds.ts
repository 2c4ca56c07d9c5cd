// What each kind of job tells beside the fields that all have, out of the details that it keeps. A kind adds its line here.

import type { Progress } from '../../imports/imports.types.ts'
import type { Job } from '../../jobs/jobs.types.ts'
import type { DifferingPartition } from '../../materialize/verify/repair.types.ts'
import type { sizeShape } from './datasource-shape.ts'
import { progressDetails } from './import-progress.ts'
import { timeText } from './time-text.ts'
import { differenceFields } from './verify-shape.ts'

export interface KindContext {
  /** Whether the caller may read all rows of the data source that the job works on. */
  readonly readsRows?: boolean
  /** Whether the caller may read all there is: a populate counts rows of another data source than the one that it fills. */
  readonly readsEverything?: boolean
  /** Whether a result is kept that may be read; undefined where nobody has looked. */
  readonly hasResult?: boolean
  /** What `debug` asks for: `blocks`, `block_log`. */
  readonly debug: ReadonlySet<string>
  /** What became of the blocks of an import, as long as somebody knows. */
  readonly progress?: Progress | undefined
  /** The size of the data source that the job works on; null where there is none, or the caller is not told. */
  readonly size: ReturnType<typeof sizeShape> | null
}

type Fields = Readonly<Record<string, unknown>>

/** By the name of the kind; a kind without a line has the fields of all jobs alone. */
export const kindShapes: Readonly<Record<string, (job: Job, context: KindContext) => Fields>> = {
  import: (job, { debug, size, progress = noProgress }) => ({
    import_id: job.id,
    statistics: size,
    ...countFields(job.details),
    ...urlFields(job.details),
    ...progressDetails(progress, debug),
  }),
  query: ({ details }, { hasResult = true }) => ({
    statistics: isNumber(details['byteCount'])
      ? { row_count: numberOrNull(details['rowCount']), bytes: details['byteCount'] }
      : null,
    ...(hasResult && isNumber(details['keptUntilMs']) ? { result_until: timeText(details['keptUntilMs']) } : {}),
  }),
  populateview: ({ status, details }, { size, readsRows = false, readsEverything = false }) => {
    const { queryId, queries, rowsRead, rowsTotal, warnings } = details
    return {
      statistics: size,
      ...(typeof queryId === 'string' ? { query_id: queryId } : {}),
      // How many there are, and how many of them are done, tells of the rows of the source.
      ...(readsEverything
        ? { ...(Array.isArray(queries) ? { queries } : {}), ...countFields(details) }
        : {
            queries: [{ query_id: queryId, status: status === 'cancelling' ? 'working' : status }],
            progress_percentage: status === 'done' ? 100 : 0,
          }),
      ...(readsEverything && isNumber(rowsTotal) ? { rows_read: rowsRead, rows_total: rowsTotal } : {}),
      // That the target has rows.
      ...(readsRows && Array.isArray(warnings) && warnings.length > 0 ? { warnings } : {}),
    }
  },
  repairview: ({ details }, { size, readsEverything = false }) => ({
    statistics: size,
    ...countFields(details),
    ...repairFields(details, readsEverything),
  }),
  delete_data: ({ details }, { readsRows = false }) => ({
    ...(details['deleteCondition'] === undefined ? {} : { delete_condition: details['deleteCondition'] }),
    ...(details['rowsDeleted'] === undefined || !readsRows ? {} : { rows_deleted: details['rowsDeleted'] }),
  }),
}

/** What is known by now of partitions; which they are, and what differs in them, is for those who may read everything. */
function repairFields(details: Job['details'], readsEverything: boolean): Fields {
  const { partitionsDiffering, partitionsRepaired, partitionsSkipped, differing, warnings } = details
  return {
    ...(isNumber(partitionsDiffering)
      ? {
          partitions_differing: partitionsDiffering,
          partitions_repaired: partitionsRepaired,
          partitions_skipped: partitionsSkipped,
        }
      : {}),
    ...(readsEverything && Array.isArray(differing) ? { partitions: differing.map(differingShape) } : {}),
    ...(Array.isArray(warnings) && warnings.length > 0 ? { warnings } : {}),
  }
}

/** As the job of a repair has kept it. */
function differingShape(partition: DifferingPartition): Fields {
  return {
    partition: partition.partition,
    ...differenceFields(partition),
  }
}

/** Those that are known by now. */
function countFields(details: Job['details']): Fields {
  const names = {
    quarantine_rows: 'quarantinedRows',
    invalid_lines: 'invalidLines',
    progress_percentage: 'progressPercentage',
  }
  const known = Object.entries(names).filter(([, name]) => isNumber(details[name]))
  return Object.fromEntries(known.map(([field, name]) => [field, details[name]]))
}

const noProgress: Progress = { statuses: [], reports: [], listen: () => undefined }

/** What is told of an import by URL beside its counts, by the names that it has in details. */
const urlFieldNames = {
  urls: 'urls',
  bytes_read: 'bytesRead',
  bytes_total: 'bytesTotal',
  rows_read: 'rowsRead',
  imported_rows: 'storedRows',
  rows_per_second: 'rowsPerSecond',
  bytes_per_second: 'bytesPerSecond',
  remaining_seconds: 'remainingSeconds',
} as const

function urlFields(details: Job['details']): Fields {
  const known = Object.entries(urlFieldNames).filter(([, name]) => details[name] !== undefined)
  const { warnings } = details
  return {
    ...Object.fromEntries(known.map(([field, name]) => [field, details[name]])),
    ...(Array.isArray(warnings) && warnings.length > 0 ? { warnings } : {}),
  }
}

function isNumber(value: unknown): value is number {
  return typeof value === 'number'
}

function numberOrNull(value: unknown): number | null {
  return isNumber(value) ? value : null
}
