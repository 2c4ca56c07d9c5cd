import type { Options } from '../../../src/config.ts'
import type { TestService } from './test-service.ts'

/** Service data sources that get rows, without their prefix. */
export const filledTables = [
  'tokens_log',
  'limits_log',
  'pipe_stats_rt',
  'pipe_stats',
  'endpoint_errors',
  'datasources_ops_log',
  'block_log',
  'jobs_log',
]

type Rows = readonly (readonly string[])[]

/** Options of a service that writes rows into its service data sources, soon. */
export const writingRows: Partial<Options> = { serviceSources: 'on', serviceRowsFlushMs: 10 }

/** Rows of a query, once `isIt` says yes to them; by default to any. */
export async function untilRows(
  service: TestService,
  query: string,
  isIt: (rows: Rows) => boolean = (rows) => rows.length > 0,
): Promise<Rows> {
  for (;;) {
    const rows = await service.rows(query)
    if (isIt(rows)) return rows
  }
}
