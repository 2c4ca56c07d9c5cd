import t from 'tap'
import { type Brakable, ByteTurns } from '../../../src/http/request/byte-turns.ts'

/** Turns that begin when a test says so. */
function openTurns(bytesMax: number) {
  const begins: (() => void)[] = []
  const turns = new ByteTurns({ bytesMax, schedule: (begin) => void begins.push(begin) })
  return { turns, begins, next: () => begins.shift()?.() }
}

class Reader implements Brakable {
  brakeCount = 0

  brake(): void {
    this.brakeCount += 1
  }

  letGo(): void {
    this.brakeCount -= 1
  }
}

const read = 64 * 1024

t.test('an address brings so many bytes in a turn, and others bring theirs', async (t) => {
  const { turns, next, begins } = openTurns(2 * read)
  const [first, second, third, other] = [new Reader(), new Reader(), new Reader(), new Reader()]
  turns.take('a', 2 * read - 1, first)
  t.equal(first.brakeCount, 0)
  turns.take('a', 1, first)
  turns.take('a', 1, first)
  turns.take('a', read, second)
  turns.take('a', read, third)
  turns.take('b', read, other)
  t.same(
    [first, second, third, other].map(({ brakeCount }) => brakeCount),
    [1, 1, 1, 0],
  )
  t.equal(begins.length, 1)
  next()
  t.same(
    [first, second, third].map(({ brakeCount }) => brakeCount),
    [0, 0, 1],
    'as many as a turn has room for',
  )
  turns.take('a', 2 * read, first)
  next()
  t.same(
    [first, second, third].map(({ brakeCount }) => brakeCount),
    [0, 0, 0],
    'the one that waits longest comes first',
  )
  next()
  t.equal(begins.length, 0, 'nothing is to come when nothing has come')
})

t.test('who is about to bring bytes waits where a turn has had enough', async (t) => {
  const { turns, next } = openTurns(read)
  const [first, second] = [new Reader(), new Reader()]
  turns.take('a', 0, first)
  t.equal(first.brakeCount, 0)
  turns.take('a', read, first)
  turns.take('a', 0, second)
  t.same([first.brakeCount, second.brakeCount], [1, 1])
  next()
  next()
  t.same([first.brakeCount, second.brakeCount], [0, 0])
})

t.test('a short turn has one read of each address, and so has the next', async (t) => {
  const { turns, next, begins } = openTurns(3 * read)
  const readers = Array.from({ length: 6 }, () => new Reader())
  const brakes = (): string => readers.map(({ brakeCount }) => brakeCount).join('')
  turns.hurry()
  for (const reader of readers) turns.take('a', read, reader)
  t.equal(brakes(), '111111')
  next()
  t.equal(brakes(), '011111')
  next()
  t.equal(brakes(), '000011', 'nothing hurries any more')
  turns.take('a', read - 1, new Reader())
  turns.hurry()
  const other = new Reader()
  turns.take('b', read - 1, other)
  t.equal(other.brakeCount, 0)
  turns.take('b', 1, other)
  t.equal(other.brakeCount, 1)
  for (let count = 0; count < 3; count += 1) next()
  t.equal(brakes(), '000000')
  t.equal(begins.length, 0)
})
