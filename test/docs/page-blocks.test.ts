import t from 'tap'
import { blocksOf, isShown, patternOf, writtenByBlock } from '../support/page-blocks.ts'

t.test('blocks are found with their language, their mode and their line', async (t) => {
  const page = '# Title\n\n```sh status=404\ncurl x\n```\ntext\n```json answer\n{}\n```\n'
  t.same(blocksOf(page), [
    { language: 'sh', mode: 'status=404', text: 'curl x', line: 4 },
    { language: 'json', mode: 'answer', text: '{}', line: 8 },
  ])
  t.throws(() => blocksOf('```sh\ncurl x\n'), /line 1 is never closed/)
})

t.test('an answer with another value, a key more or a key less is not what the page shows', async (t) => {
  t.ok(isShown({ a: 1, b: ['x'] }, { b: ['x'], a: 1 }))
  t.notOk(isShown({ a: 1 }, { a: 2 }))
  t.notOk(isShown({ a: 1 }, { a: '1' }))
  t.notOk(isShown({ a: 1 }, { a: 1, b: 2 }))
  t.notOk(isShown({ a: 1, b: 2 }, { a: 1 }))
  t.notOk(isShown(['x'], ['x', 'y']))
  t.notOk(isShown([], {}))
  t.notOk(isShown({ a: null }, {}))
})

t.test('three dots stand for any text, any value, and all other keys', async (t) => {
  t.ok(isShown({ a: '…' }, { a: [1] }))
  t.ok(isShown({ a: 'no table ….' }, { a: 'no table x.' }))
  t.notOk(isShown({ a: 'no table …' }, { a: 'a table x' }))
  t.ok(isShown({ a: 1, '…': '…' }, { a: 1, b: 2 }))
  t.notOk(isShown({ a: 1, '…': '…' }, { b: 2 }))
  t.ok(isShown([{ a: 1 }, '…'], [{ a: 1 }, { a: 2 }, { a: 3 }]))
  t.ok(isShown([{ a: 1 }, '…'], [{ a: 1 }]))
  t.notOk(isShown([{ a: 1 }, '…'], [{ a: 2 }, { a: 1 }]))
  t.notOk(isShown([{ a: 1 }, '…'], []))
  t.match('1 (2)\n3', patternOf('1 (…)\n3'))
  t.notMatch('1 (2)\n4', patternOf('1 (…)\n3'))
})

t.test('what blocks wrote is kept by their lines', async (t) => {
  t.same(
    [...writtenByBlock('\n@@ block of line 4\n{"a":1}\n@@ block of line 8\n')],
    [
      [4, '{"a":1}'],
      [8, ''],
    ],
  )
})
