import t from 'tap'
import { beginningOf, shortenedText } from '../../src/shared/beginning-of.ts'

t.test('the beginning of a text has no half of a character at its end', async (t) => {
  const text = 'a😀b'
  t.strictSame(
    [0, 1, 2, 3, 4, 5].map((unitsMax) => beginningOf(text, unitsMax)),
    ['', 'a', 'a', 'a😀', 'a😀b', 'a😀b'],
  )
  t.equal(beginningOf('é\u0301ü', 2), 'é\u0301')
  // Halves that are alone are the text's own.
  t.equal(beginningOf('\ud83dab', 2), '\ud83da')
  t.equal(beginningOf('\ude00ab', 1), '\ude00')
})

t.test('a text is told to be shortened where it is', async (t) => {
  t.strictSame(
    [2, 3, 4].map((unitsMax) => shortenedText('a😀b', unitsMax)),
    ['a…', 'a😀…', 'a😀b'],
  )
})
