// What the specification says of each plan, as literals: what a start with the plan has.

import t from 'tap'
import type { OptionKey } from '../src/config.ts'
import { optionsOf } from './support/limits/test-rates.ts'

const plans = ['free', 'developer', 'saas', 'enterprise', 'enterprise-dedicated'] as const
const mebibyte = 1024 ** 2
const gibibyte = 1024 ** 3

/** Of the newer edition; one value stands for all plans. */
const published: Partial<Record<OptionKey, number | readonly [number, number, number, number, number]>> = {
  schemaCreatesPerMinuteMax: 25,
  importsPerMinuteMax: 5,
  eventsPerSecondMax: 100,
  eventsCreatesPerMinuteMax: 5,
  variablesRequestsPerSecondMax: 5,
  queriesPerSecondMax: [10, 0, 0, 0, 0],
  queriesBurstFactor: [2, 4, 4, 4, 4],
  overagePriceMicros: 0,
  baseFeeMicros: 0,
  overageCostPercentMax: 20,
  queriesPerDayMax: [1_000, 0, 0, 0, 0],
  processorPercentMax: [50, 0, 0, 0, 0],
  processorBurstFactor: 2,
  processorBaseRateMs: 300_000,
  connectionsPerAddressMax: 250,
  dataSourcesMax: 100,
  columnsMax: 500,
  tokensMax: 100_000,
  storageBytesMax: [10 * gibibyte, 0, 0, 0, 0],
  bodyUploadBytesMax: 8 * mebibyte,
  multipartBytesMax: 500 * mebibyte,
  multipartParquetBytesMax: 50 * mebibyte,
  parquetBytesMax: [gibibyte, 5 * gibibyte, 5 * gibibyte, 5 * gibibyte, 5 * gibibyte],
  decompressedBytesMax: [10 * gibibyte, 32 * gibibyte, 32 * gibibyte, 32 * gibibyte, 32 * gibibyte],
  partitionsPerBodyMax: 12,
  eventsBodyBytesMax: 10_000_000,
  sqlBytesMax: 128 * 1024,
  resultBytesMax: 100 * mebibyte,
  queryTimeMaxMs: [10_000, 20_000, 20_000, 30_000, 30_000],
  queryThreadsMax: [1, 4, 4, 4, 4],
  deleteJobsActiveMax: [1, 3, 6, 6, 6],
}

/** Where the older edition has other values. */
const older = {
  ...published,
  overageCostPercentMax: 33,
  eventsPerSecondMax: 1_000,
  sqlBytesMax: 8 * 1024,
  queryTimeMaxMs: 10_000,
}

for (const [variant, values] of [
  ['a', published],
  ['b', older],
] as const) {
  t.test(`each plan has the values of the specification, variant ${variant}`, async (t) => {
    for (const [index, plan] of plans.entries()) {
      const options = optionsOf(`--plan=${plan}`, `--plan-variant=${variant}`)
      // Object.entries gives plain strings; the record has keys of options.
      for (const [key, value] of Object.entries(values) as [OptionKey, number | readonly number[]][]) {
        t.equal(options[key], typeof value === 'number' ? value : value[index], `${plan}: ${key}`)
      }
    }
  })
}

t.test('the default plan is as a start was before there were plans', async (t) => {
  for (const flags of [[], ['--plan=unlimited'], ['--plan=unlimited', '--plan-variant=b']]) {
    t.match(optionsOf(...flags), {
      schemaCreatesPerMinuteMax: 0,
      importsPerMinuteMax: 0,
      eventsPerSecondMax: 0,
      eventsCreatesPerMinuteMax: 5,
      variablesRequestsPerSecondMax: 0,
      queriesPerSecondMax: 0,
      queriesPerDayMax: 0,
      processorPercentMax: 0,
      dataSourcesMax: 10_000,
      bodyUploadBytesMax: 0,
      multipartBytesMax: 0,
      deleteJobsActiveMax: 0,
      partitionsPerBodyMax: 1_000,
      sqlBytesMax: 128 * 1024,
      queryTimeMaxMs: 10_000,
      queryThreadsMax: 4,
      parquetBytesMax: 5 * gibibyte,
    })
  }
})

t.test('an option goes before its plan, wherever it stands', async (t) => {
  t.equal(optionsOf('--imports-per-minute-max=60', '--plan=free').importsPerMinuteMax, 60)
  t.equal(optionsOf('--plan=free', '--imports-per-minute-max=0').importsPerMinuteMax, 0)
  t.equal(optionsOf('--query-time-max-ms=7', '--plan=saas').queryTimeMaxMs, 7)
  t.throws(() => optionsOf('--plan=gold'))
})
