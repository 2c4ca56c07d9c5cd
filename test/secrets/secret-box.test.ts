import { inspect } from 'node:util'
import t from 'tap'
import { contextOf, createSecretBox, isSealedText, parseSealedText } from '../../src/secrets/secret-box.ts'
import { createSecretKeyOfRandom, parseKeys, printKeys } from '../../src/secrets/secret-key.ts'

const key = createSecretKeyOfRandom()
const box = createSecretBox([key])
const context = contextOf('variables', 'a')

t.test('any text comes back, and is sealed in another way each time', async (t) => {
  const texts = ['', 'a', 'null', '"', "it's\n☕", '\u0000', '\ud800', 'x'.repeat(1_000_000)]
  for (const text of texts) {
    const sealed = box.seal(text, context)
    t.equal(box.open(sealed, context), text)
    t.equal(parseSealedText(sealed), sealed)
    t.not(box.seal(text, context), sealed)
    if (text.length > 1) t.notOk(Buffer.from(sealed.split('.')[2] ?? '', 'base64url').includes(text))
  }
})

t.test('a text does not open in the place of another, with another key, or when a bit of it was changed', async (t) => {
  const sealed = box.seal('value', context)
  t.equal(box.open(sealed, contextOf('variables', 'b')), null)
  t.equal(box.open(sealed, contextOf('tokens', 'a')), null)
  const other = createSecretBox([createSecretKeyOfRandom()])
  t.equal(other.open(sealed, context), null)
  t.same([box.hasKeyOf(sealed), other.hasKeyOf(sealed)], [true, false])
  const start = sealed.lastIndexOf('.') + 1
  const bytes = Buffer.from(sealed.slice(start), 'base64url')
  for (let bit = 0; bit < bytes.length * 8; bit += 1) {
    const changed = Buffer.from(bytes)
    changed.writeUInt8(changed.readUInt8(bit >> 3) ^ (1 << (bit & 7)), bit >> 3)
    t.equal(box.open(parseSealedText(sealed.slice(0, start) + changed.toString('base64url')), context), null)
  }
  for (let length = 0; length < bytes.length; length += 1) {
    const cut = sealed.slice(0, start) + bytes.subarray(0, length).toString('base64url')
    if (isSealedText(cut)) t.equal(box.open(cut, context), null, `${length} bytes`)
  }
})

t.test('what is no sealed text is told without its content', async (t) => {
  for (const text of ['', 'hunter2', '1.hunter2.hunter2', `2.${'a'.repeat(11)}.${'a'.repeat(40)}`]) {
    t.notOk(isSealedText(text))
    t.throws(() => parseSealedText(text), { message: 'it is not a sealed text' })
  }
})

t.test('the first key seals, and all of them open', async (t) => {
  const next = createSecretKeyOfRandom()
  const both = createSecretBox([next, key])
  const [old, fresh] = [box.seal('old', context), both.seal('fresh', context)]
  t.same([both.open(old, context), both.open(fresh, context)], ['old', 'fresh'])
  t.same([box.open(fresh, context), both.keyId], [null, next.id])
})

t.test('many are opened in their order, and others get their turn meanwhile', async (t) => {
  const records = Array.from({ length: 5_000 }, (_, index) => {
    const own = contextOf('tokens', `t${index}`)
    return { sealed: box.seal(`value ${index}`, index === 7 ? 'another' : own), context: own }
  })
  let turns = 0
  let isDone = false
  const count = (): void => {
    turns += 1
    if (!isDone) setImmediate(count)
  }
  setImmediate(count)
  const opened = await box.openMany(records)
  isDone = true
  t.same(
    opened,
    records.map((_, index) => (index === 7 ? null : `value ${index}`)),
  )
  t.ok(turns > 1, `${turns} turns`)
  t.same(await box.openMany([]), [])
})

t.test('many texts of several keys are opened at once, those that do not open among them', async (t) => {
  const next = createSecretKeyOfRandom()
  const both = createSecretBox([next, key])
  const strange = createSecretBox([createSecretKeyOfRandom()])
  const boxes = [both, box, strange]
  for (const count of [64, 65, 256, 257, 1_000]) {
    const records = Array.from({ length: count }, (_, index) => {
      const sealer = boxes[index % 3] ?? box
      return index % 7 === 6 ? null : { sealed: sealer.seal(`\ud800 ${index} é`, context), context }
    })
    const expected = records.map((record, index) => (record === null || index % 3 === 2 ? null : `\ud800 ${index} é`))
    const all = await Promise.all([both.openMany(records), both.openMany(records), box.openMany(records)])
    t.same(all[0], expected, `${count}`)
    t.same(all[1], expected, 'two at once')
    t.same(
      all[2],
      expected.map((text, index) => (index % 3 === 1 ? text : null)),
      'with one of the keys',
    )
  }
})

t.test('a file of keys is one line each, and no object shows them', async (t) => {
  const text = printKeys([key, createSecretKeyOfRandom()])
  t.match(text, /^(?:[\w+/]{43}=\n){2}$/)
  const [read] = parseKeys(text) ?? []
  t.equal(read?.id, key.id)
  t.notMatch(inspect([key, box], { depth: 9, showHidden: true }) + JSON.stringify([key, box]), text.slice(0, 20))
  t.ok(parseKeys(text.replaceAll('\n', '\r\n')), 'as an editor of another system leaves it')
  const line = text.slice(0, 44)
  for (const wrong of ['', '\n', line.slice(1), `a${line}`, `${line}\nx`, `${line}\n`.repeat(17), 'é'.repeat(44)]) {
    t.equal(parseKeys(wrong), null, wrong.slice(0, 60))
  }
})

t.test('many are taken one after the other, and others have their turn between them', async (t) => {
  let turns = 0
  let isOver = false
  const count = (): void => {
    turns += 1
    if (!isOver) setImmediate(count)
  }
  setImmediate(count)
  const sealed = box.seal('a', context)
  const taken: number[] = []
  function* records() {
    for (let index = 0; index < 50; index += 1) {
      taken.push(turns)
      for (const end = performance.now() + 1; performance.now() < end; );
      yield index % 2 === 0 ? { sealed, context } : null
    }
  }
  const opened = await box.openMany(records())
  isOver = true
  t.same(
    opened,
    Array.from({ length: 50 }, (_, index) => (index % 2 === 0 ? 'a' : null)),
  )
  t.ok(new Set(taken).size > 20, 'what finding them takes counts too')
})
