import t from 'tap'
import {
  bodyKey,
  IdempotencyIndex,
  keysMaxOf,
  noteOf,
  type RequestKey,
  requestKey,
} from '../../../src/ingest/events/idempotency-index.ts'
import type { Sequence } from '../../../src/wal/sequence.ts'
import { toSequence } from '../../../src/wal/sequence.ts'

const hourMs = 60 * 60 * 1000
const counts = { rowCount: 2, quarantinedRowCount: 1 }
const at = (value: number, stream = 's'): { sequence: Sequence; stream: string } => ({
  sequence: toSequence(value),
  stream,
})
const keyOf = (name: string, body = 'b'): RequestKey => requestKey([name], Buffer.from(body))

function remember(index: IdempotencyIndex, key: RequestKey, sequence: number, nowMs = 0): void {
  index.begin(key)
  index.remember(key, { note: noteOf(key, counts, nowMs), ...at(sequence) })
}

t.test('a repeat waits while the first is under way, and is answered as it was', async (t) => {
  const index = new IdempotencyIndex(10)
  const key = keyOf('k')
  t.equal(index.find(key, 0), undefined)
  index.begin(key)
  const known = index.find(key, 0)
  if (known?.kind !== 'under-way') throw new Error('it is under way')
  let isSettled = false
  const settled = known.settled.then(() => {
    isSettled = true
  })
  await Promise.resolve()
  t.notOk(isSettled)
  index.remember(key, { note: noteOf(key, counts, 0), ...at(8) })
  await settled
  t.match(index.find(key, 0), { kind: 'answered', bodyText: key.bodyText, rowsUpTo: 7, ...counts })
})

t.test('a first request that came to nothing leaves its key to the next', async (t) => {
  const index = new IdempotencyIndex(10)
  const key = keyOf('k')
  index.begin(key)
  const known = index.find(key, 0)
  index.forget(key)
  if (known?.kind === 'under-way') await t.resolves(known.settled)
  t.equal(index.find(key, 0), undefined)
  t.equal(index.size, 0)
})

t.test('a key is known for five hours', (t) => {
  const index = new IdempotencyIndex(10)
  const key = keyOf('k')
  remember(index, key, 3, 1_000)
  t.match(index.find(key, 1_000 + 5 * hourMs - 1), { kind: 'answered' })
  t.equal(index.find(key, 1_000 + 5 * hourMs), undefined)
  index.begin(key)
  t.match(index.find(key, 1_000 + 5 * hourMs), { kind: 'under-way' }, 'and may be used anew')
  t.end()
})

t.test('as many keys are known as there may be, the oldest go, and who counts them is told', (t) => {
  const forgotten: number[] = []
  const index = new IdempotencyIndex(3, (keyCount) => forgotten.push(keyCount))
  for (const [n, name] of ['a', 'b', 'c'].entries()) remember(index, keyOf(name), n + 2)
  t.same([index.size, forgotten], [3, []])
  remember(index, keyOf('d'), 5)
  t.same([index.size, forgotten], [3, [1]])
  t.equal(index.find(keyOf('a'), 0), undefined)
  for (const name of ['b', 'c', 'd']) t.match(index.find(keyOf(name), 0), { kind: 'answered' }, name)
  t.end()
})

t.test('a key that is under way is never forgotten for others', (t) => {
  const index = new IdempotencyIndex(1)
  index.begin(keyOf('slow'))
  for (const [n, name] of ['a', 'b'].entries()) remember(index, keyOf(name), n + 2)
  t.match(index.find(keyOf('slow'), 0), { kind: 'under-way' })
  t.equal(index.find(keyOf('a'), 0), undefined)
  t.equal(index.find(keyOf('b'), 0), undefined, 'though others go at once')
  t.end()
})

t.test('notes out of the log are known again: the last one of a key, unless its time is over', (t) => {
  const index = new IdempotencyIndex(10)
  const [first, second] = [keyOf('k', 'one'), keyOf('k', 'two')]
  index.restore(noteOf(first, counts, 0), at(4), 10)
  index.restore(noteOf(second, { ...counts, rowCount: 9 }, 5), at(8), 10)
  t.match(index.find(first, 10), { kind: 'answered', bodyText: second.bodyText, rowCount: 9, rowsUpTo: 7 })
  index.restore(noteOf(keyOf('old'), counts, 10 - 5 * hourMs), at(2), 10)
  t.equal(index.find(keyOf('old'), 10), undefined)
  t.equal(index.size, 1)
  t.end()
})

t.test('notes before a place are carried on, but for those that stay there', (t) => {
  const index = new IdempotencyIndex(10)
  const [a, b, c, old] = ['a', 'b', 'c', 'old'].map((name) => keyOf(name)) as [
    RequestKey,
    RequestKey,
    RequestKey,
    RequestKey,
  ]
  remember(index, old, 2, -5 * hourMs)
  remember(index, a, 4)
  remember(index, b, 6)
  remember(index, c, 8)
  const notes = index.notesBelow(toSequence(8), 0, ({ sequence }) => sequence === 6)
  t.strictSame(
    notes.map(({ key }) => key),
    [a.bytes],
  )
  t.equal(index.size, 3, 'one whose time is over is forgotten')
  index.moveTo(notes, toSequence(20))
  t.match(index.find(a, 0), { kind: 'answered', rowsUpTo: null }, 'its rows are stored: nobody waits for them')
  t.match(index.find(b, 0), { rowsUpTo: 5 })
  t.same(index.notesBelow(toSequence(20), 0, () => false).length, 2, 'it stands at its new place')
  t.end()
})

t.test('a key that was used anew keeps its later note when the earlier one is carried on', (t) => {
  const index = new IdempotencyIndex(10)
  const key = keyOf('k')
  remember(index, key, 4)
  const notes = index.notesBelow(toSequence(5), 0, () => false)
  index.forget(key)
  remember(index, key, 9)
  index.moveTo(notes, toSequence(30))
  t.match(index.find(key, 0), { rowsUpTo: 8 })
  t.end()
})

t.test('keys are of what names the request, and tell bodies apart', (t) => {
  t.equal(keyOf('k', 'one').text, keyOf('k', 'two').text)
  t.not(keyOf('k', 'one').bodyText, keyOf('k', 'two').bodyText)
  t.not(requestKey(['ab', 'c'], Buffer.from('')).text, requestKey(['a', 'bc'], Buffer.from('')).text)
  t.not(bodyKey(['k'], Buffer.from('one')).text, bodyKey(['k'], Buffer.from('two')).text)
  t.strictSame(bodyKey(['k'], Buffer.from('one')), bodyKey(['k'], Buffer.from('one')))
  t.end()
})

t.test('as many keys are remembered as the option says, and as their notes have room in the log', (t) => {
  const eventsLogBytesMax = 32 * 64 * 100
  const keysOf = (idempotencyKeysMax: number, bytes = eventsLogBytesMax): number =>
    keysMaxOf({ idempotencyKeysMax, eventsLogBytesMax: bytes })
  t.same([keysOf(99), keysOf(100), keysOf(101)], [99, 100, 100])
  t.equal(keysOf(101, eventsLogBytesMax - 1), 99)
  t.equal(keysOf(0), 1)
  t.end()
})
