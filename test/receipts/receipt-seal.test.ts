import t from 'tap'
import { parseDataSourceId } from '../../src/catalog/data-source-id.ts'
import { processIdOf, ReceiptSeal } from '../../src/receipts/receipt-seal.ts'

const secret = Buffer.alloc(32, 7)
const one = parseDataSourceId(`t_${'0123456789abcdef'.repeat(2)}`)
const other = parseDataSourceId(`t_${'fedcba9876543210'.repeat(2)}`)
const importHex = 'abcd'.repeat(8)

t.test('what is sealed is opened, whatever place it is about', (t) => {
  const seal = new ReceiptSeal(secret, 'process1')
  const places = [0, 1, 255, 2 ** 31, 2 ** 32 - 1, 2 ** 32, 2 ** 32 + 1, Number.MAX_SAFE_INTEGER]
  for (const place of places) {
    for (const dataSourceId of [one, other]) {
      const text = seal.seal(dataSourceId, place)
      t.match(text, /^mr1\.process1\.[\w-]{44}$/)
      t.equal(processIdOf(text), 'process1')
      t.strictSame(seal.open(text), { dataSourceId, place, importHex: null })
      t.strictSame(seal.open(seal.seal(dataSourceId, place, importHex)), { dataSourceId, place, importHex })
    }
  }
  t.end()
})

t.test('a receipt tells neither its data source nor its place', (t) => {
  const seal = new ReceiptSeal(secret, 'process1')
  const texts = [seal.seal(one, 1), seal.seal(one, 2), seal.seal(other, 1)]
  for (const text of texts)
    t.notMatch(Buffer.from(text.slice(13), 'base64url').toString('hex'), /0123456789|fedcba98|0{8}/)
  // The places of one data source have nothing in common behind it, and neither have those of two.
  const ends = texts.map((text) => text.slice(-22))
  t.equal(new Set(ends).size, 3)
  for (const index of [0, 8, 16]) t.equal(new Set(ends.map((end) => end.slice(index, index + 5))).size, 3)
  t.end()
})

t.test('nothing but a whole receipt of the process is opened', (t) => {
  const seal = new ReceiptSeal(secret, 'process1')
  const text = seal.seal(one, 5)
  const wrong = [
    '',
    'mr1',
    text.slice(0, -1),
    `${text}A`,
    text.replace('mr1', 'mr2'),
    text.replace('process1', 'process2'),
    new ReceiptSeal(secret, 'process2').seal(one, 5),
    new ReceiptSeal(Buffer.alloc(32, 8), 'process1').seal(one, 5),
    // The beginning of one, and the end of another.
    seal.seal(other, 5).slice(0, -22) + text.slice(-22),
    text.slice(0, -44) + text.slice(-22) + text.slice(-44, -22),
  ]
  for (const one of wrong) t.equal(seal.open(one), null, one)
  t.end()
})

const digits = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'

t.test('a receipt that is changed at any place, or cut anywhere, is none', (t) => {
  const seal = new ReceiptSeal(secret, 'process1')
  for (const text of [seal.seal(one, 5), seal.seal(one, 5, importHex)]) {
    t.not(seal.open(text), null)
    const opened: string[] = []
    for (let at = 0; at < text.length; at += 1) {
      for (const digit of `${digits}.=`) {
        const changed = text.slice(0, at) + digit + text.slice(at + 1)
        if (changed !== text && seal.open(changed) !== null) opened.push(changed)
      }
      for (const cut of [text.slice(0, at), text.slice(at + 1), text.slice(0, at) + text.slice(at + 1)])
        if (seal.open(cut) !== null) opened.push(cut)
      // The end of a block, or all of a block, is left out.
      for (const gap of [2, 21, 22, 44]) {
        const cut = text.slice(0, at) + text.slice(at + gap)
        if (seal.open(cut) !== null) opened.push(cut)
      }
    }
    t.same(opened, [])
  }
  t.end()
})

t.test('the parts of two receipts of imports make none together', (t) => {
  const seal = new ReceiptSeal(secret, 'process1')
  const first = seal.seal(one, 5, importHex)
  const second = seal.seal(one, 5, 'dcba'.repeat(8))
  const events = seal.seal(one, 5)
  for (const text of [
    first.slice(0, -22) + second.slice(-22),
    second.slice(0, -22) + first.slice(-22),
    events + first.slice(-22),
    first.slice(0, -44) + events.slice(-22) + first.slice(-22),
  ])
    t.equal(seal.open(text), null, text)
  t.end()
})
