// Options of connections and of what stands before the service: limits, proxies, origins.

import type { OptionDefinition } from './config.types.ts'
import { byPlan, inPlans } from './config-plans.ts'
import { mebibyte } from './shared/bytes.ts'

export const httpOptions = {
  tlsCertFile: {
    kind: 'text',
    default: '',
    pattern: /^(?:.*\S.*)?$/,
    expected: 'a path, or empty',
    sentence:
      'File of the certificate (PEM, with those that signed it). With `tlsKeyFile` the service speaks https alone. See [HTTP](http.md#tls-and-http2).',
  },
  tlsKeyFile: {
    kind: 'text',
    default: '',
    pattern: /^(?:.*\S.*)?$/,
    expected: 'a path, or empty',
    sentence: "File of the certificate's key (PEM).",
  },
  hstsSeconds: {
    kind: 'integer',
    unit: null,
    min: 0,
    max: 63_072_000,
    // It holds for all ports of the host, so for other services there.
    default: 86_400,
    sentence:
      'With TLS, seconds in which browsers use https alone for this host and all its ports (`Strict-Transport-Security`). 0 sends no such header.',
  },
  http2: {
    kind: 'switch',
    sentence: 'With TLS, lets clients choose HTTP/2.',
  },
  http2StreamsMax: {
    kind: 'integer',
    unit: null,
    min: 1,
    max: 10_000,
    default: 100,
    sentence: 'Requests that an HTTP/2 connection may have at once.',
  },
  trustedProxies: {
    kind: 'text',
    default: '127.0.0.1,::1',
    pattern: /^[\da-fA-F.:/,\s]*$|^none$/,
    expected: 'addresses and networks separated by commas, or none',
    sentence:
      'Addresses and networks (CIDR) of proxies, separated by commas. From these alone `X-Forwarded-For`, `-Host` and `-Proto` are believed. `none` believes nobody. See [HTTP](http.md#behind-a-proxy).',
  },
  publicHosts: {
    kind: 'text',
    default: '',
    pattern: /^[^\s,]*(?:,\s*[^\s,]+)*$/,
    expected: 'host names separated by commas, each with a scheme and a port where needed',
    sentence:
      'Hosts that URLs in answers may have, `https://api.example.com,10.0.0.5:7181`. A request that names another gets the first of them. Empty: whatever the request names.',
  },
  corsOrigins: {
    kind: 'text',
    default: '*',
    pattern: /^\S+(?:,\s*\S+)*$/,
    expected: 'origins separated by commas, * or none',
    sentence:
      'Origins whose pages may use the API in browsers, `https://app.example.com,https://*.example.org`. `*` allows all, `none` allows no page.',
  },
  connectionsMax: {
    kind: 'integer',
    unit: null,
    min: 16,
    max: 1_000_000,
    default: 4_096,
    sentence:
      'Connections at once. Beyond it, one that waits for a request is closed for a new one; where all are busy, the new one gets 503.',
  },
  connectionsPerAddressMax: {
    kind: 'integer',
    unit: null,
    min: 0,
    max: 1_000_000,
    default: byPlan({ unit: null, unlimited: 1_024, a: inPlans(250) }),
    sentence: 'The same for one address (IPv6: one /64), with 429. Trusted proxies have no such limit. 0 sets none.',
  },
  connectionIdleMsMax: {
    kind: 'integer',
    unit: 'ms',
    min: 0,
    max: 86_400_000,
    default: 120_000,
    sentence:
      'Time without a byte after which a connection is closed, also in the middle of a body. 0 never closes it.',
  },
  keepAliveMs: {
    kind: 'integer',
    unit: 'ms',
    min: 1_000,
    max: 86_400_000,
    default: 72_000,
    sentence: 'Time without a request after which a connection is closed.',
  },
  headersTimeoutMs: {
    kind: 'integer',
    unit: 'ms',
    min: 0,
    max: 86_400_000,
    default: 60_000,
    sentence:
      'Time in which the headers of a request must have arrived, and the first byte of a connection. Beyond it, 408. 0 sets no limit.',
  },
  headersMax: {
    kind: 'integer',
    unit: null,
    min: 16,
    max: 1_000,
    default: 256,
    sentence: 'Headers that a request may have, and URL and headers together 64 KiB.',
  },
  bodyRateMin: {
    kind: 'integer',
    unit: 'bytes',
    min: 0,
    max: mebibyte,
    default: 100,
    sentence:
      'Bytes of a body that must arrive a second, measured over `bodyRateWindowMs` in which the service waits for them. Beyond it, 408. 0 sets no limit.',
  },
  bodyRateWindowMs: {
    kind: 'integer',
    unit: 'ms',
    min: 1,
    max: 3_600_000,
    default: 120_000,
    sentence:
      'What `bodyRateMin` is measured over. Time in which the sender is slowed down by the service does not count.',
  },
  requestTimeoutMs: {
    kind: 'integer',
    unit: 'ms',
    min: 0,
    max: 86_400_000,
    default: 0,
    sentence: 'Time in which a whole request must have arrived. 0 sets no limit, because a body may have any length.',
  },
} as const satisfies Readonly<Record<string, OptionDefinition>>
