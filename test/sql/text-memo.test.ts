import t from 'tap'
import { TextMemo } from '../../src/sql/text-memo.ts'

t.test('a text is made once, and again when others have come between', async (t) => {
  const memo = new TextMemo<number>()
  const made: string[] = []
  const get = (text: string): number =>
    memo.get(text, () => {
      made.push(text.slice(0, 2))
      return text.length
    })
  t.equal(get('a'), 1)
  t.equal(get('a'), 1)
  t.same(made, ['a'])
  // 16 texts of 16 KiB are all that is kept; the one that was asked for last stays the longest.
  for (let index = 0; index < 15; index += 1) get(`${index % 10}${index}`.padEnd(16 * 1024, 'x'))
  get('a')
  t.equal(made.length, 16)
  get('y'.padEnd(16 * 1024, 'y'))
  get('a')
  t.equal(made.filter((text) => text === 'a').length, 1)
  get('00'.padEnd(16 * 1024, 'x'))
  t.equal(made.filter((text) => text === '00').length, 2)
})

t.test('a text that is too long is made each time, and so is one that fails', async (t) => {
  const memo = new TextMemo<number>()
  let count = 0
  const long = 'x'.repeat(16 * 1024 + 1)
  for (let round = 0; round < 2; round += 1) {
    memo.get(long, () => {
      count += 1
      return count
    })
    t.throws(() =>
      memo.get('bad', () => {
        count += 1
        throw new Error('bad')
      }),
    )
  }
  t.equal(count, 4)
})
