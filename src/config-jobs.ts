// The options of jobs, a part of the one table.

import type { OptionDefinition } from './config.types.ts'

export const jobOptions = {
  jobsWaitingMax: {
    kind: 'integer',
    unit: 'jobs',
    min: 1,
    max: 100_000,
    default: 1_000,
    sentence: 'Jobs that may wait for their turn. Beyond it, requests for more get 429.',
  },
  jobsKeptMax: {
    kind: 'integer',
    unit: 'jobs',
    min: 1,
    max: 1_000_000,
    default: 10_000,
    sentence:
      'Jobs that have ended and are still told of: those of the last 72 hours, and the last 100. Beyond it, the oldest are forgotten before.',
  },
} as const satisfies Readonly<Record<string, OptionDefinition>>
