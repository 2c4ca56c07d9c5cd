import t from 'tap'
import { toQueryError } from '../../src/store/caller-errors.ts'
import { StoreError } from '../../src/store/store-error.ts'

const limits = { queryTimeMaxMs: 1_000, resultBytesMax: 1_024 }
const casting = "SELECT finalizeAggregation(CAST(unhex('ff'), 'AggregateFunction(uniq, String)'))"
const engineError = (clickhouseCode: number, message = 'State is broken. (CORRUPTED_DATA)') =>
  new StoreError({ kind: 'engine', message, clickhouseCode })

t.test('a text that is no aggregate state is the fault of whoever cast it', async (t) => {
  for (const code of [49, 246, 1001, 1002]) {
    for (const sql of [
      casting,
      casting.replace('AggregateFunction', 'simpleAGGREGATEFUNCTION'),
      casting.toLowerCase(),
    ]) {
      const told = toQueryError(engineError(code), { ...limits, sql })
      t.match(told, { code: 'SQL_INVALID', status: 400, message: /does not hold: State is broken/ }, `${code} ${sql}`)
    }
  }
})

t.test('the same errors are faults of the service where nothing was cast, or a part is damaged', async (t) => {
  for (const code of [49, 246, 1001, 1002]) {
    t.match(toQueryError(engineError(code), { ...limits, sql: 'SELECT 1' }), { code: 'ENGINE_FAILED', status: 500 })
    t.match(toQueryError(engineError(code), limits), { status: 500 })
  }
  for (const message of [
    'Checksum does not match. (CORRUPTED_DATA)',
    'While reading part all_1_1_0. (CORRUPTED_DATA)',
  ]) {
    t.match(toQueryError(engineError(246, message), { ...limits, sql: casting }), { status: 500 }, message)
  }
  t.match(
    toQueryError(engineError(243), { ...limits, sql: casting }),
    { status: 500 },
    'a full disk is none of the text',
  )
})
