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
  tracesUrl: {
    kind: 'text',
    default: '',
    pattern: /^(?:https?:\/\/\S+)?$/,
    expected: 'an http or https address, or empty',
    sentence:
      'Where traces of requests are sent, as OTLP over HTTP in JSON: `http://127.0.0.1:4318/v1/traces`. Empty: nowhere.',
  },
  tracesHeaders: {
    kind: 'secret',
    defaultText: 'none',
    pattern: /^[\w-]+=[^,\s]+(?:,\s*[\w-]+=[^,\s]+)*$/,
    expected: 'headers as name=value, separated by commas',
    sentence: 'Headers that traces are sent with, such as `x-api-key=abc`. Set it in the environment.',
  },
  traceSamplePercent: {
    kind: 'integer',
    unit: null,
    min: 0,
    max: 100,
    // A traced request takes 30 µs of processor time more (benchmarks/results/part-10.md): all of them would cost more than a tenth of single events.
    default: 10,
    sentence:
      'Of 100 requests without a `traceparent`, how many begin a trace where traces are sent. With one, its flag decides.',
  },
  tracesPerSecondMax: {
    kind: 'integer',
    unit: null,
    min: 1,
    max: 1_000_000,
    // Three thousandths of a core, by the same 30 µs.
    default: 100,
    sentence:
      'Traces that requests without a `traceparent` may begin in a second, and up to twice as many in the first one after a pause. Further requests are not traced.',
  },
  traceSpansMax: {
    kind: 'integer',
    unit: null,
    min: 1,
    max: 1_000_000,
    default: 8_192,
    sentence: 'Traced requests that wait to be sent. Beyond it, they are dropped and counted.',
  },
} as const satisfies Readonly<Record<string, OptionDefinition>>
