// The options of limits that plans set, a part of the one table: rates, counts and sizes. 0 sets no limit.

import type { OptionDefinition } from './config.types.ts'
import { byPlan, inPlans } from './config-plans.ts'
import { gibibyte, mebibyte } from './shared/bytes.ts'

const countMax = 1_000_000

export const limitOptions = {
  schemaCreatesPerMinuteMax: {
    kind: 'integer',
    unit: null,
    min: 0,
    max: countMax,
    default: byPlan({ unit: null, unlimited: 0, a: inPlans(25) }),
    sentence: 'Data sources that may be created from a schema alone in a minute. Beyond it, 429. 0 sets no limit.',
  },
  importsPerMinuteMax: {
    kind: 'integer',
    unit: null,
    min: 0,
    max: countMax,
    default: byPlan({ unit: null, unlimited: 0, a: inPlans(5) }),
    sentence:
      'Requests to `/v0/datasources` in a minute that create from a file or URL, append or replace: one quota for all of them. Beyond it, 429. 0 sets no limit.',
  },
  eventsPerSecondMax: {
    kind: 'integer',
    unit: null,
    min: 0,
    max: countMax,
    default: byPlan({ unit: null, unlimited: 0, a: inPlans(100), b: inPlans(1_000) }),
    sentence: 'Requests to `/v0/events` in a second, however many events each has. Beyond it, 429. 0 sets no limit.',
  },
  eventsCreatesPerMinuteMax: {
    kind: 'integer',
    unit: null,
    min: 0,
    max: countMax,
    default: 5,
    sentence: 'Data sources that events may create in a minute. 0 sets no limit.',
  },
  variablesRequestsPerSecondMax: {
    kind: 'integer',
    unit: null,
    min: 0,
    max: countMax,
    default: byPlan({ unit: null, unlimited: 0, a: inPlans(5) }),
    sentence: 'Requests to `/v0/variables` in a second. Beyond it, 429. 0 sets no limit.',
  },
  queriesPerSecondMax: {
    kind: 'integer',
    unit: null,
    min: 0,
    max: countMax,
    default: byPlan({ unit: null, unlimited: 0, a: inPlans(0, { free: 10 }) }),
    sentence:
      'Requests to endpoints and `/v0/sql` in a second, on the average of a minute; `queriesBurstFactor` times as many may come within one second. 0 sets no limit: the other plans are sold by this number.',
  },
  queriesBurstFactor: {
    kind: 'integer',
    unit: null,
    min: 1,
    max: 100,
    default: byPlan({ unit: null, unlimited: 2, a: inPlans(4, { free: 2 }) }),
    sentence: 'How many times `queriesPerSecondMax` one second may bring. Beyond it, 429.',
  },
  queriesOverage: {
    kind: 'choice',
    choices: ['plan', 'refuse', 'count'],
    default: 'plan',
    sentence:
      'What is done with queries over `queriesPerSecondMax` and within its bursts: `refuse` them (429) once the minute has had 60 times that number, or only `count` them, as they are billed. `plan`: counted in every plan but `free` and `unlimited`.',
  },
  overagePriceMicros: {
    kind: 'integer',
    unit: null,
    min: 0,
    max: 1_000_000_000_000,
    default: 0,
    sentence:
      'What one query over `queriesPerSecondMax` costs, where they are counted, in millionths of your unit of money. It is for `GET /v0/limits` and [notifications](notifications.md#extra-costs); 0 tells no costs.',
  },
  baseFeeMicros: {
    kind: 'integer',
    unit: null,
    min: 0,
    max: Number.MAX_SAFE_INTEGER,
    default: 0,
    sentence:
      'What the plan costs a month without overage, in millionths of the same unit. 0 sets no share of it that overage is told of at.',
  },
  overageCostPercentMax: {
    kind: 'integer',
    unit: null,
    min: 1,
    max: 100_000,
    default: {
      text: '20; variant b: 33',
      from: ({ planVariant }) => (planVariant === 'a' ? 20 : 33),
    },
    sentence:
      'Percent of `baseFeeMicros` that queries over the rate may cost in a month; beyond it operators are told. Nothing is refused for it.',
  },
  queriesPerDayMax: {
    kind: 'integer',
    unit: null,
    min: 0,
    max: 1_000_000_000,
    default: byPlan({ unit: null, unlimited: 0, a: inPlans(0, { free: 1_000 }) }),
    sentence:
      'Requests to endpoints and `/v0/sql` in 24 hours; a restart does not forget them. Beyond it, 429. 0 sets no limit.',
  },
  processorPercentMax: {
    kind: 'integer',
    unit: null,
    min: 0,
    max: 100_000,
    default: byPlan({ unit: null, unlimited: 0, a: inPlans(0, { free: 50 }) }),
    sentence:
      'Processor time that queries may use in a minute, in percent of one core: 50 is half a core, or 30 seconds a minute. See [limits](limits.md#processor-time). 0 sets no limit: the larger plans are sold by this number.',
  },
  processorBurstFactor: {
    kind: 'integer',
    unit: null,
    min: 1,
    max: 100,
    default: 2,
    sentence:
      'How many times the time of `processorPercentMax` one minute may bring, until queries have their base rate.',
  },
  processorBaseRateMs: {
    kind: 'integer',
    unit: 'ms',
    min: 1_000,
    max: 86_400_000,
    default: 300_000,
    sentence:
      'How long queries have their base rate, `queriesPerSecondMax` without bursts, behind a minute that has used its processor time. Beyond it, 429.',
  },
  dataSourcesMax: {
    kind: 'integer',
    unit: null,
    min: 1,
    max: 100_000,
    default: byPlan({ unit: null, unlimited: 10_000, a: inPlans(100) }),
    sentence: 'Data sources that the workspace may have; they are held in memory.',
  },
  bodyUploadBytesMax: {
    kind: 'integer',
    unit: 'bytes',
    min: 0,
    max: 1024 * gibibyte,
    default: byPlan({ unit: 'bytes', unlimited: 0, a: inPlans(8 * mebibyte) }),
    sentence: 'Largest rows that are the body of a request to `/v0/datasources`, as sent. 0 sets no limit.',
  },
  multipartBytesMax: {
    kind: 'integer',
    unit: 'bytes',
    min: 0,
    max: 1024 * gibibyte,
    default: byPlan({ unit: 'bytes', unlimited: 0, a: inPlans(500 * mebibyte) }),
    sentence: 'Largest CSV or NDJSON file in a multipart form, as sent. 0 sets no limit.',
  },
  multipartParquetBytesMax: {
    kind: 'integer',
    unit: 'bytes',
    min: 0,
    max: 1024 * gibibyte,
    default: byPlan({ unit: 'bytes', unlimited: 0, a: inPlans(50 * mebibyte) }),
    sentence: 'Largest Parquet file in a multipart form, as sent. 0 leaves `parquetBytesMax`.',
  },
  deleteJobsActiveMax: {
    kind: 'integer',
    unit: 'jobs',
    min: 0,
    max: 100_000,
    default: byPlan({ unit: 'jobs', unlimited: 0, a: inPlans(6, { free: 1, developer: 3 }) }),
    sentence: 'Deletes of rows that may wait and work, together. Beyond it, 429. 0 sets no limit.',
  },
  storageBytesMax: {
    kind: 'integer',
    unit: 'bytes',
    min: 0,
    max: Number.MAX_SAFE_INTEGER,
    default: byPlan({ unit: 'bytes', unlimited: 0, a: inPlans(0, { free: 10 * gibibyte }) }),
    sentence:
      'Bytes on disk that rows of all data sources have, with their quarantines. `storageOverage` says what is done beyond it. 0 sets no limit.',
  },
  storageOverage: {
    kind: 'choice',
    choices: ['tell', 'refuse'],
    default: 'tell',
    sentence:
      'What is done once more is stored than `storageBytesMax`: it is only shown and told of (`tell`), or events and imports are refused too (`refuse`, 400). Rows can be read and removed all the same.',
  },
} as const satisfies Readonly<Record<string, OptionDefinition>>
