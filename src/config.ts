// The one table of options. The type `Options`, the environment's names, the flags, `--help` and docs/options.md are all
// made from it. A module never reads it: `main.ts` reads the options once and hands each module its own.

import type { OptionDefinition, OptionValue } from './config.types.ts'
import { clusterOptions } from './config-cluster.ts'
import { httpOptions } from './config-http.ts'
import { jobOptions } from './config-jobs.ts'
import { limitOptions } from './config-limits.ts'
import { notificationOptions } from './config-notifications.ts'
import { observeOptions } from './config-observe.ts'
import { byPlan, inPlans, planOptions } from './config-plans.ts'
import { receiptOptions } from './config-receipts.ts'
import { serviceRowOptions } from './config-service-rows.ts'
import { tokenOptions } from './config-tokens.ts'
import { urlOptions } from './config-url.ts'
import { viewOptions } from './config-views.ts'
import { gibibyte, kibibyte, mebibyte } from './shared/bytes.ts'

const engineMemoryBytesMin = 512 * mebibyte

/** Each option by its key, in the order in which readers see it. */
export const optionTable = {
  host: {
    kind: 'text',
    default: '127.0.0.1',
    pattern: /^\S+$/,
    expected: 'an address or host name without spaces',
    sentence: 'Address to listen on. 0.0.0.0 listens on all addresses.',
  },
  port: {
    kind: 'integer',
    unit: null,
    min: 0,
    max: 65_535,
    default: 7181,
    sentence: 'Port to listen on. 0 takes a free one.',
  },
  dataDir: {
    kind: 'text',
    default: './millrace-data',
    pattern: /\S/,
    expected: 'a path',
    sentence: 'Directory that holds everything. One process at a time can use it.',
  },
  ...planOptions,
  adminToken: {
    kind: 'secret',
    defaultText: 'made once, kept in the file `admin-token` of the data directory',
    // What a Bearer header can carry (RFC 6750 §2.1); none of it is special within a shell's single quotes.
    pattern: /^[A-Za-z0-9._~+/=-]{8,512}$/,
    expected: '8 to 512 letters, digits and characters of -._~+/=',
    sentence:
      'Token that may do everything. Set it in the environment rather than by the flag, which other users can see.',
  },
  showToken: {
    kind: 'switch',
    sentence:
      'Prints the admin token at each start, unless it was given. Without this option, only the start that creates the token prints it.',
  },
  secretKeyFile: {
    kind: 'text',
    default: '',
    pattern: /^(?:.*\S.*)?$/,
    expected: 'a path, or empty',
    sentence:
      'File of the key that secrets are encrypted with, which must exist. Empty: `secret-key` in the data directory, made by the first start. See [operations](operations.md#the-secret-key).',
  },
  rotateSecretKey: {
    kind: 'switch',
    sentence:
      'Encrypts all secrets with a new key, which takes the place of the old one, and ends. The service must not run. See [operations](operations.md#rotation).',
  },
  documentationUrl: {
    kind: 'text',
    default: '',
    pattern: /^(?:https?:\/\/\S+)?$/,
    expected: 'an http or https address, or empty',
    sentence:
      'Address under which the folder `docs` is served. It makes `documentation` in errors a link: `<address>/docs/errors.md#<code>`. Empty: only the path.',
  },
  logLevel: {
    kind: 'choice',
    choices: ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'],
    default: 'info',
    sentence:
      'Least severe level that is logged, on stderr. Answered events, queries and health checks are logged at `debug`.',
  },
  logFormat: {
    kind: 'choice',
    choices: ['auto', 'json', 'text'],
    default: 'auto',
    sentence:
      'Format of log entries: a line of JSON, or readable text. `auto` is text on a terminal and JSON otherwise.',
  },
  workers: {
    kind: 'integer',
    unit: 'threads',
    min: 1,
    max: 64,
    default: { text: 'available cores', from: ({ coreCount }) => coreCount },
    sentence: 'Threads that turn bodies into columns.',
  },
  frameBytes: {
    kind: 'integer',
    unit: 'bytes',
    min: 4 * kibibyte,
    max: 256 * mebibyte,
    default: 8 * mebibyte,
    sentence: 'Bytes of a body that a worker gets at a time.',
  },
  framesInFlightMax: {
    kind: 'integer',
    unit: 'frames',
    min: 1,
    max: 1024,
    default: { text: '2 per worker', from: ({ workerCount }) => 2 * workerCount },
    sentence:
      'Frames of one body that may be with the workers at once, plus one of all bodies together. Beyond it, senders wait.',
  },
  insertRowsMax: {
    kind: 'integer',
    unit: 'rows',
    min: 1,
    max: 100_000_000,
    default: 1_000_000,
    sentence: 'Rows after which gathered parts become one INSERT.',
  },
  insertBytesMax: {
    kind: 'integer',
    unit: 'bytes',
    min: 64 * kibibyte,
    max: gibibyte,
    // With INSERTs of 16 MiB the process peaked at 821 MB while it took a body of 2 GB; with 64 MiB at 1,056 MB.
    default: 16 * mebibyte,
    sentence: 'Bytes of columns after which gathered parts become one INSERT.',
  },
  insertsInFlightMax: {
    kind: 'integer',
    unit: 'statements',
    min: 1,
    max: 64,
    default: 2,
    sentence: 'INSERTs that may run at once. Those that take longer than 5 s have up to four places of their own.',
  },
  insertTimeMaxMs: {
    kind: 'integer',
    unit: 'ms',
    min: 1_000,
    max: 86_400_000,
    default: 60_000,
    sentence:
      'Longest run of an INSERT. Beyond it an import ends with `INSERT_TOO_COSTLY`, and events are inserted in smaller pieces; a row that takes longer alone goes to quarantine.',
  },
  partitionsPerBodyMax: {
    kind: 'integer',
    unit: 'partitions',
    min: 12,
    max: 1_000_000,
    // Each is a part: 1,000 of them take an INSERT one to four seconds, 100,000 several minutes.
    default: byPlan({ unit: null, unlimited: 1_000, a: inPlans(12) }),
    sentence:
      'Partitions that the rows of one import may have, or events that are inserted together. At the next one an import ends, and events go to quarantine.',
  },
  partitionsMax: {
    kind: 'integer',
    unit: 'partitions',
    min: 12,
    max: 1_000_000,
    // The engine's own advice is below 1,000 to 10,000: each costs at every start, merge and query of the table.
    default: 10_000,
    sentence: 'Partitions of one data source. Rows of further partitions are refused in the same way.',
  },
  recordBytesMax: {
    kind: 'integer',
    unit: 'bytes',
    min: kibibyte,
    max: 256 * mebibyte,
    default: 16 * mebibyte,
    sentence: 'Longest record. A body with a longer one is refused from there on.',
  },
  sampleBytesMax: {
    kind: 'integer',
    unit: 'bytes',
    min: kibibyte,
    max: 16 * mebibyte,
    default: 256 * kibibyte,
    sentence:
      'Bytes at the beginning of a body from which encoding, dialect, names and types are guessed. Types are guessed from as much again, spread over the first 32 times as many bytes.',
  },
  eventsBodyBytesMax: {
    kind: 'integer',
    unit: 'bytes',
    min: kibibyte,
    max: gibibyte,
    default: 10_000_000,
    sentence: 'Largest body of `/v0/events`, as sent and again when unpacked.',
  },
  decompressedBytesMax: {
    kind: 'integer',
    unit: 'bytes',
    min: mebibyte,
    max: 1024 * gibibyte,
    default: byPlan({ unit: 'bytes', unlimited: 32 * gibibyte, a: inPlans(32 * gibibyte, { free: 10 * gibibyte }) }),
    sentence: 'Most bytes that one compressed import may unpack to.',
  },
  parquetBytesMax: {
    kind: 'integer',
    unit: 'bytes',
    min: kibibyte,
    max: 1024 * gibibyte,
    default: byPlan({ unit: 'bytes', unlimited: 5 * gibibyte, a: inPlans(5 * gibibyte, { free: gibibyte }) }),
    sentence:
      'Largest Parquet file. The files that are received and loaded at one time take no more disk than four of the largest.',
  },
  ...urlOptions,
  formBytesMax: {
    kind: 'integer',
    unit: 'bytes',
    min: kibibyte,
    max: gibibyte,
    default: 8 * mebibyte,
    sentence: 'Largest form, and largest SQL body. Does not limit rows in a body.',
  },
  bodiesBytesMax: {
    kind: 'integer',
    unit: 'bytes',
    min: 4 * mebibyte,
    max: 64 * gibibyte,
    default: 64 * mebibyte,
    sentence:
      'Bytes of bodies of events, forms and queries that may be arriving or waiting at once. Beyond it, senders get 503.',
  },
  columnsMax: {
    kind: 'integer',
    unit: 'columns',
    min: 1,
    max: 10_000,
    default: 500,
    sentence: 'Most columns of a data source.',
  },
  sqlBytesMax: {
    kind: 'integer',
    unit: 'bytes',
    min: kibibyte,
    max: 64 * mebibyte,
    default: byPlan({ unit: 'bytes', unlimited: 128 * kibibyte, a: inPlans(128 * kibibyte), b: inPlans(8 * kibibyte) }),
    sentence: 'Longest query.',
  },
  resultBytesMax: {
    kind: 'integer',
    unit: 'bytes',
    min: kibibyte,
    max: 64 * gibibyte,
    default: 100 * mebibyte,
    sentence: 'Largest answer of a query.',
  },
  resultFilesBytesMax: {
    kind: 'integer',
    unit: 'bytes',
    min: mebibyte,
    max: 1024 * gibibyte,
    // All sessions may write the largest answer at once (8 of 100 MiB), and more than as much may wait to be read.
    default: 2 * gibibyte,
    sentence:
      'Bytes on disk of answers that are being made or are not read yet, together. Beyond it, queries get 503; a single one always runs.',
  },
  queryTimeMaxMs: {
    kind: 'integer',
    unit: 'ms',
    min: 1,
    max: 86_400_000,
    default: byPlan({
      unit: 'ms',
      unlimited: 10_000,
      a: inPlans(30_000, { free: 10_000, developer: 20_000, saas: 20_000 }),
      b: inPlans(10_000),
    }),
    sentence: 'Longest run of a query. It is stopped then.',
  },
  queryThreads: {
    kind: 'integer',
    unit: 'threads',
    min: 1,
    max: 64,
    default: 1,
    sentence:
      'Threads that compute one query. With one, its answer is the same bytes whatever the load. A template can ask for others by `max_threads()`.',
  },
  queryThreadsMax: {
    kind: 'integer',
    unit: 'threads',
    min: 1,
    max: 64,
    default: { text: 'available cores; free 1', from: ({ coreCount, plan }) => (plan === 'free' ? 1 : coreCount) },
    sentence: 'Most threads of one query, whatever its template asks for.',
  },
  responseCacheBytesMax: {
    kind: 'integer',
    unit: 'bytes',
    min: 0,
    max: 64 * gibibyte,
    default: 64 * mebibyte,
    sentence: 'Memory for answers that are kept because their template calls `cache_ttl()`. 0 keeps none.',
  },
  eventsPendingBytesMax: {
    kind: 'integer',
    unit: 'bytes',
    min: mebibyte,
    max: 64 * gibibyte,
    default: 64 * mebibyte,
    sentence:
      'Bytes of events that may be in memory, on their way to the log or to the engine. Beyond it, senders get 503.',
  },
  eventsBacklogBytesMax: {
    kind: 'integer',
    unit: 'bytes',
    min: mebibyte,
    max: 1024 * gibibyte,
    default: 256 * mebibyte,
    sentence:
      'Bytes of events of one data source that may wait in the log. Beyond it, its senders get 503, and no others.',
  },
  eventsLogBytesMax: {
    kind: 'integer',
    unit: 'bytes',
    min: 64 * mebibyte,
    max: 1024 * gibibyte,
    default: gibibyte,
    sentence: 'Bytes of the whole write-ahead log. Beyond it, all senders of events get 503.',
  },
  eventsLogOnDamage: {
    kind: 'choice',
    choices: ['refuse', 'keep-aside'],
    default: 'refuse',
    sentence:
      'What a start does with a damaged log: refuse, or keep the files aside and continue with what is readable.',
  },
  eventsFlushRowsMax: {
    kind: 'integer',
    unit: 'rows',
    min: 1,
    max: 100_000_000,
    default: 100_000,
    sentence: 'Rows of events after which they become one INSERT.',
  },
  eventsFlushBytesMax: {
    kind: 'integer',
    unit: 'bytes',
    min: kibibyte,
    max: gibibyte,
    default: 16 * mebibyte,
    sentence: 'Bytes of events after which they become one INSERT.',
  },
  eventsFlushIdleMs: {
    kind: 'integer',
    unit: 'ms',
    min: 1,
    max: 60_000,
    default: 20,
    sentence: 'Time without new events of a data source after which its events become one INSERT.',
  },
  eventsFlushAgeMs: {
    kind: 'integer',
    unit: 'ms',
    min: 1,
    max: 60_000,
    default: 100,
    sentence: 'Time after which events become one INSERT, however many follow.',
  },
  eventsWaitMaxMs: {
    kind: 'integer',
    unit: 'ms',
    min: 1,
    max: 600_000,
    default: 10_000,
    sentence: 'Longest wait of a request with `wait=true`. Then it gets 202, and its events are stored later.',
  },
  eventsIdempotency: {
    kind: 'choice',
    choices: ['key', 'body'],
    default: 'key',
    sentence:
      'Which repeats of events within 5 hours are not stored again: those with the same `Idempotency-Key`, or also those with the same body.',
  },
  idempotencyKeysMax: {
    kind: 'integer',
    unit: null,
    min: 1,
    max: 10_000_000,
    default: 100_000,
    sentence:
      'Idempotency keys that are remembered, at most one for each 2 KiB of `eventsLogBytesMax`. Beyond it, the oldest are forgotten before their 5 hours are over, and the log of the service says so.',
  },
  ...viewOptions,
  ...receiptOptions,
  missingDataSource: {
    kind: 'choice',
    choices: ['create', 'refuse'],
    default: 'create',
    sentence:
      'What events and appends do for a data source that does not exist: create it from their keys and values, or fail.',
  },
  tokenFilters: {
    kind: 'choice',
    choices: ['allow', 'refuse'],
    default: 'allow',
    sentence:
      'Whether scopes may have a condition on rows, `DATASOURCES:READ:<name>:<condition>`. `refuse`: as the newer edition does; JWTs with one are not valid then.',
  },
  publishFirstNode: {
    kind: 'switch',
    sentence:
      'Publishes the first node of a new pipe, as older services did, unless another one has the type `endpoint`.',
  },
  engineMemoryBytesMax: {
    kind: 'integer',
    unit: 'bytes',
    min: engineMemoryBytesMin,
    max: 1024 * 1024 * gibibyte,
    // The engine counts the memory of its own process, so half of the machine is far above what intake needs and still
    // leaves the other half to the service and to the page cache, which reads live on.
    default: {
      text: 'half of the memory, at least 512 MiB',
      from: ({ memoryBytes }) => Math.max(engineMemoryBytesMin, Math.floor(memoryBytes / 2)),
    },
    sentence:
      "Memory of the engine's process beyond which it refuses queries further work. The API process takes a few hundred MB beside it.",
  },
  readSessions: {
    kind: 'integer',
    unit: 'sessions',
    min: 1,
    max: 64,
    default: 8,
    sentence:
      'Queries that may run at once. Others wait. Of four and more, one endpoint, or the SQL of one token, takes three quarters at most.',
  },
  ...clusterOptions,
  ...limitOptions,
  ...tokenOptions,
  ...jobOptions,
  ...observeOptions,
  ...notificationOptions,
  ...serviceRowOptions,
  ...httpOptions,
  closeTimeoutMs: {
    kind: 'integer',
    unit: 'ms',
    min: 100,
    max: 3_600_000,
    default: 30_000,
    sentence: 'Time that an orderly shutdown may take after SIGTERM or SIGINT.',
  },
} as const satisfies Readonly<Record<string, OptionDefinition>>

export type OptionKey = keyof typeof optionTable

/** All options with their values, parsed and within their ranges. Bytes are counts of bytes, `…Ms` are milliseconds. */
export type Options = { readonly [Key in OptionKey]: OptionValue<(typeof optionTable)[Key]> }

/** The options' names in the order of the table. */
// Object.keys gives plain strings; the table has these keys and no others.
export const optionKeys = Object.keys(optionTable) as readonly OptionKey[]

/** `dataDir` in the environment: `MILLRACE_DATA_DIR`. */
export function environmentName(key: OptionKey): string {
  return `${environmentPrefix}${words(key).join('_').toUpperCase()}`
}

/** `dataDir` on the command line, without the dashes: `data-dir`. */
export function flagName(key: OptionKey): string {
  return words(key).join('-').toLowerCase()
}

export const environmentPrefix = 'MILLRACE_'

function words(key: OptionKey): readonly string[] {
  return key.split(/(?=[A-Z])/)
}
