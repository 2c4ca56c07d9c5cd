// Options of imports by URL: what the service may connect to, and how much it takes from there.

import type { OptionDefinition } from './config.types.ts'
import { gibibyte, kibibyte, mebibyte } from './shared/bytes.ts'

export const urlOptions = {
  urlAllow: {
    kind: 'text',
    default: '',
    pattern: /^[^\s,]*(?:,\s*[^\s,]+)*$/,
    expected: 'host names, addresses and networks separated by commas',
    sentence:
      'Host names, addresses and networks (CIDR) that imports by URL may read although they are not public, on any port: `minio.internal,10.1.0.0/16`.',
  },
  urlAllowHttp: {
    kind: 'switch',
    sentence: 'Lets imports by URL use http. Else only https is.',
  },
  urlCredentials: {
    kind: 'switch',
    sentence: 'Lets URLs of imports have a user and a password, which are sent to their host and never logged.',
  },
  urlPorts: {
    kind: 'text',
    default: '80,443,8080,8443,9000',
    pattern: /^\d{1,5}(?:,\d{1,5})*$/,
    expected: 'ports separated by commas',
    sentence: 'Ports of public hosts that imports by URL may connect to.',
  },
  urlImportsMax: {
    kind: 'integer',
    unit: 'jobs',
    min: 1,
    max: 64,
    default: 2,
    sentence:
      'Imports by URL that work at once. Others wait; where one token holds all of these places, one more is for the others.',
  },
  urlBytesMax: {
    kind: 'integer',
    unit: 'bytes',
    min: kibibyte,
    max: 1024 * gibibyte,
    default: 32 * gibibyte,
    sentence: 'Largest file of an import by URL, as it is sent.',
  },
  urlConnectionsMax: {
    kind: 'integer',
    unit: null,
    min: 1,
    max: 64,
    default: 4,
    sentence:
      'Pieces of one file that an import by URL fetches at once, where the server has ranges. With `urlPieceBytes` it is the memory that a file takes.',
  },
  urlPieceBytes: {
    kind: 'integer',
    unit: 'bytes',
    min: 64 * kibibyte,
    max: gibibyte,
    default: 8 * mebibyte,
    sentence: 'Bytes that one request for a range brings.',
  },
  urlAttemptsMax: {
    kind: 'integer',
    unit: null,
    min: 1,
    max: 100,
    default: 8,
    sentence:
      'Requests of an import by URL for the same bytes, when connections break or the server answers 408, 425, 429 or 5xx. They are counted anew after 1 MiB, if the server has ranges.',
  },
  urlRetryDelayMaxMs: {
    kind: 'integer',
    unit: 'ms',
    min: 1,
    max: 3_600_000,
    default: 30_000,
    sentence: 'Longest pause before such a request is repeated, whatever Retry-After asks for.',
  },
  urlRedirectsMax: {
    kind: 'integer',
    unit: null,
    min: 0,
    max: 100,
    default: 5,
    sentence: 'Redirects of a URL that are followed. Each is judged like the URL itself.',
  },
  urlConnectTimeoutMs: {
    kind: 'integer',
    unit: 'ms',
    min: 1,
    max: 600_000,
    default: 10_000,
    sentence:
      'Time in which the host of a URL must be resolved, and again in which each connection to it must be made.',
  },
  urlHeadersTimeoutMs: {
    kind: 'integer',
    unit: 'ms',
    min: 1,
    max: 3_600_000,
    default: 60_000,
    sentence: 'Time in which the server of a URL must begin to answer.',
  },
  urlIdleTimeoutMs: {
    kind: 'integer',
    unit: 'ms',
    min: 1,
    max: 3_600_000,
    default: 60_000,
    sentence:
      'Time in which at least 1 KiB of a file must arrive. Else the request is repeated from the byte that was reached.',
  },
  urlTimeMaxMs: {
    kind: 'integer',
    unit: 'ms',
    min: 1_000,
    max: 2_592_000_000,
    default: 86_400_000,
    sentence:
      'Longest time of an import by URL. It is counted anew when an import goes on after a restart. What is stored by then stays.',
  },
  urlRateMin: {
    kind: 'integer',
    unit: 'bytes',
    min: 0,
    max: gibibyte,
    default: 64 * kibibyte,
    sentence:
      'Bytes a second that the server of a URL must send while other imports by URL wait for a place, measured over `urlIdleTimeoutMs` of waiting for it. Else the import ends, and what is stored stays.',
  },
  urlHeaderBytesMax: {
    kind: 'integer',
    unit: 'bytes',
    min: kibibyte,
    max: 16 * mebibyte,
    default: 64 * kibibyte,
    sentence: 'Longest headers of an answer of the server of a URL.',
  },
} as const satisfies Readonly<Record<string, OptionDefinition>>
