// The options of cluster control, a part of the one table.

import type { OptionDefinition } from './config.types.ts'
import { byPlan, inPlans } from './config-plans.ts'

export const clusterOptions = {
  clusterMemoryPercentMax: {
    kind: 'integer',
    unit: null,
    min: 0,
    max: 100,
    default: byPlan({ unit: null, unlimited: 80, a: inPlans(70, { 'enterprise-dedicated': 80 }) }),
    sentence:
      'Percent of the memory, without the page cache, beyond which endpoints that fail are limited. 0 does not look at memory. See [cluster control](cluster-control.md).',
  },
  clusterLoadPerCoreMax: {
    kind: 'integer',
    unit: null,
    min: 0,
    max: 1_000,
    default: 3,
    sentence:
      'Load average over one minute, for each core, beyond which endpoints that fail and use much of the processors are limited. 0 does not look at the load.',
  },
  clusterErrorPercentMax: {
    kind: 'integer',
    unit: null,
    min: 0,
    max: 10_000,
    default: 10,
    sentence:
      'Answers of an endpoint with 408 and 500, in percent of its successful ones, beyond which it fails in this sense.',
  },
  clusterProcessorPercentMin: {
    kind: 'integer',
    unit: null,
    min: 0,
    max: 100,
    default: 20,
    sentence: 'Percent of the load of the processors from which on an endpoint uses much of them.',
  },
  clusterWindowMs: {
    kind: 'integer',
    unit: 'ms',
    min: 100,
    max: 600_000,
    default: 15_000,
    sentence:
      'Time in which the answers of endpoints are counted, and for which a limit holds. Longer than `queryTimeMaxMs`, each window sees the end of its slowest queries.',
  },
} as const satisfies Readonly<Record<string, OptionDefinition>>
