import t from 'tap'
import { BoundedCounts, NamedCounts } from '../../src/metrics/bounded-counts.ts'
import { CodeCounts } from '../../src/metrics/code-counts.ts'
import { histograms } from '../../src/metrics/family.ts'
import { TimeHistogram } from '../../src/metrics/time-histogram.ts'

t.test('a duration at a bound is within it, as Prometheus has it, and buckets add up', async (t) => {
  const times = new TimeHistogram([1, 10])
  for (const ms of [0.5, 1, 1.5, 10, 10.5, 500]) times.note(ms)
  const { samples } = histograms('h', 'Help.', [{ labels: { a: 'b' }, times }])
  t.strictSame(
    samples.map(({ suffix, labels, value }) => [suffix, labels['le'], value]),
    [
      ['_bucket', '0.001', 2],
      ['_bucket', '0.01', 4],
      ['_bucket', '+Inf', 6],
      ['_sum', undefined, 0.5235],
      ['_count', undefined, 6],
    ],
  )
})

t.test('as many labels as may be are told apart, and what comes later is counted together', async (t) => {
  const counts = new BoundedCounts(3, () => ({ n: 0 }))
  for (const id of ['a', 'b', 'c', 'd', 'e', 'a']) counts.of(id).n += 1
  const shown = (nameOf: (id: string) => string | undefined) =>
    [...counts.entries(nameOf)].map(([label, { n }]) => `${label} ${n}`)
  t.strictSame(
    shown((id) => id),
    ['a 2', 'b 1', 'c 1', '(other) 2'],
  )
  t.strictSame(
    shown((id) => (id === 'b' ? undefined : id.toUpperCase())),
    ['A 2', 'C 1', '(other) 2'],
    'what is gone is forgotten, and names are those of now',
  )
  counts.of('f').n += 1
  counts.of('g').n += 1
  t.strictSame(
    shown((id) => id),
    ['a 2', 'c 1', 'f 1', '(other) 3'],
    'the place of what is gone is for others',
  )
})

t.test('one label fewer than may be leaves nothing for the others', async (t) => {
  for (const [count, expected] of [
    [2, 2],
    [3, 3],
    [4, 4],
  ] as const) {
    const counts = new BoundedCounts(3, () => ({}))
    for (let id = 0; id < count; id += 1) counts.of(String(id))
    const labels = [...counts.entries((id) => id)].map(([label]) => label)
    t.equal(labels.length, expected)
    t.equal(labels.includes('(other)'), count > 3)
  }
})

t.test('statuses are counted apart, whichever came first', async (t) => {
  const [one, other] = [new CodeCounts(), new CodeCounts()]
  for (const code of [200, 404, 200]) one.add(code)
  for (const code of [503, 200]) other.add(code)
  t.strictSame(
    new Map(one.entries()),
    new Map([
      [200, 2],
      [404, 1],
    ]),
  )
  t.strictSame(
    new Map(other.entries()),
    new Map([
      [200, 1],
      [503, 1],
    ]),
  )
  t.equal(one.total, 3)
})

t.test('no more names are kept than there may be', async (t) => {
  const counts = new NamedCounts()
  for (let name = 0; name < 501; name += 1) counts.add(String(name))
  counts.add('0')
  const kept = new Map(counts.entries())
  t.equal(kept.size, 500)
  t.equal(kept.get('0'), 2)
  t.equal(kept.get('500'), undefined)
})
