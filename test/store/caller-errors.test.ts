// What a caller is told of each kind of failure, by what was asked.

import t from 'tap'
import { ApiError, errors } from '../../src/shared/errors/errors.ts'
import { toChangeError, toCopyError, toQueryError } from '../../src/store/caller-errors.ts'
import { StoreError, type StoreErrorKind } from '../../src/store/store-error.ts'

const cases: readonly {
  readonly kind: StoreErrorKind
  readonly clickhouseCode?: number
  readonly query: string
  readonly change: string
  readonly copy: string
}[] = [
  { kind: 'closed', query: 'SHUTTING_DOWN', change: 'SHUTTING_DOWN', copy: 'SHUTTING_DOWN' },
  { kind: 'stopped', query: 'ENGINE_RESTARTED', change: 'ENGINE_RESTARTED', copy: 'ENGINE_RESTARTED' },
  { kind: 'silent', query: 'ENGINE_UNAVAILABLE', change: 'ENGINE_UNAVAILABLE', copy: 'ENGINE_UNAVAILABLE' },
  { kind: 'busy', query: 'QUERIES_TOO_MANY', change: 'CHANGES_TOO_MANY', copy: 'CHANGES_TOO_MANY' },
  { kind: 'unread', query: 'RESULTS_UNREAD', change: 'ENGINE_FAILED', copy: 'CHANGES_TOO_MANY' },
  { kind: 'aborted', query: 'unchanged', change: 'ENGINE_FAILED', copy: 'SHUTTING_DOWN' },
  { kind: 'late', query: 'unchanged', change: 'DEFINITION_TOO_COSTLY', copy: 'ENGINE_FAILED' },
  { kind: 'refused', query: 'QUERY_REFUSED', change: 'ENGINE_FAILED', copy: 'ENGINE_FAILED' },
  // UNKNOWN_IDENTIFIER.
  { kind: 'engine', clickhouseCode: 47, query: 'SQL_INVALID', change: 'ENGINE_FAILED', copy: 'REPLACE_VIEW_FAILED' },
  // CANNOT_OPEN_FILE.
  { kind: 'engine', clickhouseCode: 76, query: 'ENGINE_FAILED', change: 'ENGINE_FAILED', copy: 'ENGINE_FAILED' },
  // MEMORY_LIMIT_EXCEEDED: a query may ask for less, a change cannot.
  { kind: 'engine', clickhouseCode: 241, query: 'SQL_INVALID', change: 'ENGINE_FAILED', copy: 'ENGINE_FAILED' },
  // TIMEOUT_EXCEEDED.
  { kind: 'engine', clickhouseCode: 159, query: 'QUERY_TIMEOUT', change: 'ENGINE_FAILED', copy: 'REPLACE_VIEW_FAILED' },
  // QUERY_WAS_CANCELLED.
  { kind: 'engine', clickhouseCode: 394, query: 'SQL_INVALID', change: 'ENGINE_FAILED', copy: 'SHUTTING_DOWN' },
  // TOO_MANY_ROWS_OR_BYTES.
  {
    kind: 'engine',
    clickhouseCode: 396,
    query: 'RESULT_TOO_LARGE',
    change: 'ENGINE_FAILED',
    copy: 'REPLACE_VIEW_FAILED',
  },
]

function toldOf(thrown: StoreError, answer: unknown): string {
  if (answer === thrown) return 'unchanged'
  return answer instanceof ApiError ? answer.code : String(answer)
}

for (const { kind, clickhouseCode, query, change, copy } of cases) {
  t.test(`${kind} ${clickhouseCode ?? ''}: a query is told ${query}, a change ${change}, a copy ${copy}`, async (t) => {
    const thrown = new StoreError({ kind, message: 'no', clickhouseCode })
    const blame = (reason: string) => errors.REPLACE_VIEW_FAILED({ view: 'v', reason })
    t.equal(toldOf(thrown, toQueryError(thrown, { queryTimeMaxMs: 1, resultBytesMax: 1 })), query)
    t.equal(toldOf(thrown, toChangeError(thrown)), change)
    t.equal(toldOf(thrown, toCopyError(thrown, blame)), copy)
  })
}

t.test('what the store did not raise passes unchanged', async (t) => {
  const other = new TypeError('ours')
  t.equal(toQueryError(other, { queryTimeMaxMs: 1, resultBytesMax: 1 }), other)
  t.equal(toChangeError(other), other)
  t.equal(
    toCopyError(other, () => errors.INTERNAL()),
    other,
  )
})
