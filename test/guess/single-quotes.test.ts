import t from 'tap'
import { guessSingleQuotes, SingleQuotes } from '../../src/guess/single-quotes.ts'

t.test('a file has single quotes when a whole column has them', async (t) => {
  const guess = (text: string) => guessSingleQuotes({ bytes: Buffer.from(text), isWhole: true })
  t.equal(guess("a,b\n1,'x, y'\n2,'z'\n"), ',')
  t.equal(guess("'a';'b'\n'1';'x; y'\n'2';'z'\n"), ';')
  t.equal(guess("a,b\n1,'x\ny'\n2,'it''s'\n"), ',')
  for (const [why, text] of [
    ['one row says too little', "a,b\n1,'x'\n"],
    ['an apostrophe', "a,b\n1,'tis\n2,it's\n"],
    ['one of two', "a,b\n1,'x'\n2,z\n"],
    ['double quotes', 'a,b\n"1",\'x\'\n"2",\'z\'\n'],
    ['one column', "a\n'x'\n'y'\n"],
    ['other counts', "a,b\n1,'x',2\n2,'z'\n"],
  ] as const) {
    t.equal(guess(text), null, why)
  }
})

t.test('a body is rewritten alike wherever it is cut', async (t) => {
  const text = "a,b\n1,'x, \"y\"'\n2,'it''s'\n3,o'clock\n4,''"
  const expected = 'a,b\n1,"x, ""y"""\n2,"it\'s"\n3,o\'clock\n4,""'
  for (let cut = 0; cut <= text.length; cut += 1) {
    const quotes = new SingleQuotes(',')
    const halves = [text.slice(0, cut), text.slice(cut)].map((half) => quotes.push(Buffer.from(half)))
    t.equal(Buffer.concat([...halves, quotes.end()]).toString(), expected, `cut at ${cut}`)
  }
})
