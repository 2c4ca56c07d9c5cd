import t from 'tap'
import { isPlainTable } from '../../../src/ingest/insert/plain-table.ts'
import { testDataSource } from '../../support/ingest/fake-store.ts'

/** A data source with one DEFAULT. */
const withDefault = (expression: string) => testDataSource(`a String, b UInt64 DEFAULT ${expression}`)
const plain = testDataSource('a String, b UInt64')
const withOption = (name: string, text: string) => ({
  ...plain,
  engine: { name: 'MergeTree', options: { ...plain.engine.options, [name]: text } },
})

t.test('a table that computes nothing, or a moment for each row, is plain', async (t) => {
  t.ok(isPlainTable(plain))
  for (const expression of [
    '0',
    'toUInt64(now())',
    'b + 1',
    "cityHash64(lower(a), 'x')",
    'toUnixTimestamp(now64(3))',
  ]) {
    t.ok(isPlainTable(withDefault(expression)), expression)
  }
  t.ok(isPlainTable(withOption('partition_key', 'toYYYYMM(at)')))
  t.ok(isPlainTable(withOption('ttl', 'toDate(at) + toIntervalDay(3)')))
  t.ok(isPlainTable({ ...plain, indexes: [{ name: 'i', expression: 'lower(a)', typeText: 'minmax', granularity: 1 }] }))
})

t.test('a table that may compute for long is not, wherever it does', async (t) => {
  const costly = "length(replaceRegexpAll(repeat(a, 1000), '(a|b)*?b', 'x'))"
  const expressions = [
    costly,
    'arraySum(i -> i, range(b))',
    'toUInt64(length(repeat(a, 9)))',
    'toUInt64(`repeat`(a, 9))',
  ]
  for (const expression of expressions) t.notOk(isPlainTable(withDefault(expression)), expression)
  t.notOk(isPlainTable(withDefault(`0${' + b'.repeat(300)}`)), 'a long one')
  t.notOk(isPlainTable(withOption('sorting_key', costly)))
  t.notOk(isPlainTable({ ...plain, indexes: [{ name: 'i', expression: costly, typeText: 'minmax', granularity: 1 }] }))
})
