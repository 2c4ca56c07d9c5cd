// What each kind of job tells beside the fields that all have, out of the details that it keeps. A kind adds its line here.

import type { Job } from '../../jobs/jobs.types.ts'
import type { sizeShape } from './datasource-shape.ts'
import { timeText } from './time-text.ts'

export interface KindContext {
  /** What `debug` asks for: `blocks`, `block_log`. */
  readonly debug: ReadonlySet<string>
  /** The size of the data source that the job works on; null where there is none, or the caller is not told. */
  readonly size: ReturnType<typeof sizeShape> | null
}

type Fields = Readonly<Record<string, unknown>>

/** By the name of the kind; a kind without a line has the fields of all jobs alone. */
export const kindShapes: Readonly<Record<string, (job: Job, context: KindContext) => Fields>> = {
  import: (job, { debug, size }) => ({
    import_id: job.id,
    statistics: size,
    ...countFields(job.details),
    ...debugFields(job.details, debug),
  }),
  query: ({ details }) => ({
    statistics: isNumber(details['byteCount'])
      ? { row_count: numberOrNull(details['rowCount']), bytes: details['byteCount'] }
      : null,
    ...(isNumber(details['keptUntilMs']) ? { result_until: timeText(details['keptUntilMs']) } : {}),
  }),
  populateview: ({ details }, { size }) => ({ statistics: size, ...countFields(details) }),
  delete_data: ({ details }) => ({
    ...(details['deleteCondition'] === undefined ? {} : { delete_condition: details['deleteCondition'] }),
    ...(details['rowsDeleted'] === undefined ? {} : { rows_deleted: details['rowsDeleted'] }),
  }),
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

/** As the kind has noted them: the shapes are those of an import's answer. */
function debugFields(details: Job['details'], debug: ReadonlySet<string>): Fields {
  return {
    ...(debug.has('blocks') ? { blocks: details['blocks'] ?? [] } : {}),
    ...(debug.has('block_log') ? { block_log: details['blockLog'] ?? [] } : {}),
  }
}

function isNumber(value: unknown): value is number {
  return typeof value === 'number'
}

function numberOrNull(value: unknown): number | null {
  return isNumber(value) ? value : null
}
