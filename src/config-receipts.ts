// Options of receipts: what a query waits for that is to see what was just acknowledged.

import type { OptionDefinition } from './config.types.ts'

export const receiptOptions = {
  receiptWaitMaxMs: {
    kind: 'integer',
    unit: 'ms',
    min: 1,
    max: 600_000,
    default: 10_000,
    sentence: 'Longest wait of a query with a receipt until it can see the rows of that. Then it gets 408.',
  },
  receiptWaitsMax: {
    kind: 'integer',
    unit: null,
    min: 1,
    max: 100_000,
    default: 1_000,
    sentence:
      'Queries that may wait for the rows of their receipts at once, a quarter of them with one token. Others that would have to wait get 503.',
  },
} as const satisfies Readonly<Record<string, OptionDefinition>>
