// Options of what the service tells of itself to those who watch it.

import type { OptionDefinition } from './config.types.ts'

export const observeOptions = {
  metrics: {
    kind: 'choice',
    choices: ['on', 'off'],
    default: 'on',
    sentence: 'Whether the service counts what it does, and tells it at `/metrics`. See [monitoring](monitoring.md).',
  },
  metricsAddresses: {
    kind: 'text',
    default: '',
    pattern: /^[\da-fA-F.:/,\s]*$/,
    expected: 'addresses and networks separated by commas, or empty',
    sentence:
      'Addresses and networks (CIDR) that may read `/metrics` without a token: `127.0.0.1,10.1.0.0/16`. Those of clients, where trusted proxies tell them.',
  },
  metricsLabelsMax: {
    kind: 'integer',
    unit: null,
    min: 1,
    max: 10_000,
    default: 200,
    sentence:
      'Data sources, and pipes, that `/metrics` tells apart. What comes later is counted together, under `(other)`.',
  },
} as const satisfies Readonly<Record<string, OptionDefinition>>
