// Options of what the service tells of its own work.

import type { OptionDefinition } from './config.types.ts'
import { gibibyte, mebibyte } from './shared/bytes.ts'

export const serviceRowOptions = {
  serviceSources: {
    kind: 'choice',
    choices: ['on', 'off'],
    default: 'on',
    sentence:
      'Whether the service data sources (`tinybird.pipe_stats_rt` and others) get rows. Off, they have their columns and no rows. See [service data sources](service-data-sources.md).',
  },
  serviceRowsFlushMs: {
    kind: 'integer',
    unit: 'ms',
    min: 10,
    max: 600_000,
    default: 5_000,
    sentence:
      'How long rows of service data sources are gathered in memory before they are stored. A process that is killed loses these.',
  },
  serviceRowsBytesMax: {
    kind: 'integer',
    unit: 'bytes',
    min: mebibyte,
    max: gibibyte,
    default: 8 * mebibyte,
    sentence: 'Rows of service data sources that wait in memory. Beyond it, rows are dropped, and the log counts them.',
  },
  serviceRequestDays: {
    kind: 'integer',
    unit: 'days',
    min: 1,
    max: 3_650,
    default: 7,
    sentence: 'How long `tinybird.pipe_stats_rt` keeps its rows, one a request.',
  },
  serviceTotalDays: {
    kind: 'integer',
    unit: 'days',
    min: 1,
    max: 3_650,
    default: 90,
    sentence: 'How long `tinybird.pipe_stats` and `tinybird.datasources_storage` keep their rows.',
  },
  serviceOperationDays: {
    kind: 'integer',
    unit: 'days',
    min: 1,
    max: 3_650,
    default: 30,
    sentence: 'How long the other service data sources keep their rows: errors, operations, blocks, jobs.',
  },
} as const satisfies Readonly<Record<string, OptionDefinition>>
