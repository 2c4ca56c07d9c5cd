import t from 'tap'
import { openTestService } from '../support/api/test-service.ts'
import { SeededRandom, testSeed } from '../support/seeded-random.ts'
import { byTier, everyNth } from '../support/tier.ts'

// A quote that is never closed costs its own line: the lines behind it are rows, wherever the network cuts the body.

const recordBytesMax = 4096
const service = await openTestService(t, { recordBytesMax, frameBytes: 65_536 })
const rows = (from: number, to: number): string =>
  Array.from({ length: to - from }, (_, index) => `${from + index},b\n`).join('')

interface Loaded {
  readonly stored: number
  readonly invalid: number
  readonly texts: readonly string[]
}

async function load(body: string, { pieces = 1, more = '' } = {}): Promise<Loaded> {
  await service.create('quotes', 'n UInt32, s String')
  const bytes = Buffer.from(body)
  const step = Math.max(1, Math.ceil(bytes.length / pieces))
  const stream = new ReadableStream({
    start(controller) {
      for (let at = 0; at < bytes.length; at += step) controller.enqueue(bytes.subarray(at, at + step))
      controller.close()
    },
  })
  const path = `/v0/datasources?mode=append&format=csv&name=quotes${more}`
  const answer = await service.call('POST', path, { body: stream })
  t.equal(answer.status, 200, answer.text)
  const counts = answer.json as Readonly<Record<string, number>>
  const texts = await service.rows('SELECT arrayJoin(c__error) FROM quotes_quarantine')
  const stored = await service.count('quotes')
  t.equal(counts['imported_rows'], stored)
  t.equal(counts['quarantine_rows'], texts.filter(([text = '']) => text.startsWith(told(''))).length)
  await service.call('DELETE', '/v0/datasources/quotes')
  return { stored, invalid: counts['invalid_lines'] ?? 0, texts: texts.map(([text = '']) => text) }
}

const told = (line: string): string => `a quote is never closed: ${line}`

t.test('an open quote near the beginning of a large file costs one line', async (t) => {
  const body = `0,a\n1,"b\n${rows(2, 50_000)}`
  const expected = { stored: 49_999, invalid: 1, texts: [told('1,"b')] }
  for (const pieces of [1, 7, 1000]) t.same(await load(body, { pieces }), expected, `in ${pieces} pieces`)
})

const cases: readonly (readonly [title: string, body: string, stored: number, lines: readonly string[]])[] = [
  ['at the end of the body', '1,a\n2,"b\n', 1, ['2,"b']],
  ['at the end without a line feed', '1,a\n2,"b', 1, ['2,"b']],
  ['in the last line but one', '1,a\n2,"b\n3,c', 2, ['2,"b']],
  ['in the first line', '1,"a\n2,b\n3,c\n', 2, ['1,"a']],
  ['alone in its line', '1,a\n"\n2,b\n', 2, ['"']],
  ['in the first field', '1,a\n"2,b\n3,c\n', 2, ['"2,b']],
  ['behind blanks', '1,a\n2,  "b\n3,c\n', 2, ['2,  "b']],
  ['with doubled quotes behind it', '1,a\n2,"b\n3,""\n4,c\n', 3, ['2,"b']],
  ['behind a closed cell of several lines', '1,a\n"2","x\ny"\n"3","z\n4,c\n', 3, ['"3","z']],
  ['in a line that ends as Windows has it', '1,a\r\n2,"b\r\n3,c\r\n', 2, ['2,"b']],
  ['in letters of several bytes', '1,a\n2,"é→\n3,ü\n', 2, ['2,"é→']],
  ['beyond the longest record', `1,a\n2,"b\n${rows(3, 3000)}`, 2998, ['2,"b']],
  ['twice, far apart', `1,"a\n${rows(2, 3000)}3000,"c\n${rows(3001, 6000)}`, 5997, ['1,"a', '3000,"c']],
]

t.test('only its line is set aside, with its text, however the body is cut', async (t) => {
  for (const [title, body, stored, lines] of cases) {
    const expected = { stored, invalid: lines.length, texts: lines.map(told) }
    for (const pieces of everyNth([50, 1, 2, 3], byTier({ quick: 4, full: 1, soak: 1 }), 0)) {
      const found = await load(body, { pieces })
      t.same({ ...found, texts: [...found.texts].sort() }, expected, `${title}, in ${pieces} pieces`)
    }
  }
})

t.test('an escaped quote closes nothing', async (t) => {
  const dialect = '&dialect_escapechar=%5C'
  t.same(await load('1,a\n2,"b\\"\n3,c\n', { more: dialect }), { stored: 2, invalid: 1, texts: [told('2,"b\\\\"')] })
})

t.test('bodies with quotes at random places give the same, wherever they are cut', async (t) => {
  const seed = testSeed()
  const random = new SeededRandom(seed)
  for (let round = 0; round < byTier({ quick: 5, full: 20, soak: 200 }); round += 1) {
    const body = Array.from({ length: 40 }, () =>
      random.pick(['1,a\n', '2,"b"\n', '3,"c\n', '4,""\n', '"5","d\ne"\n', '6,f"g\n']),
    ).join('')
    const whole = await load(body)
    const cut = await load(body, { pieces: 2 + random.below(body.length) })
    t.same(
      [cut.stored, cut.invalid, [...cut.texts].sort()],
      [whole.stored, whole.invalid, [...whole.texts].sort()],
      `seed ${seed}: ${JSON.stringify(body)}`,
    )
  }
})

t.test('a body that breaks off inside of a quote keeps what is behind it as one record', async (t) => {
  const unread = (text: string): string => `the body broke off inside of a quote: ${text}`
  for (const [body, stored, kept] of [
    [`1,a\n2,"b\n${rows(3, 500)}500,é`, 1, `2,"b\n${rows(3, 500)}500,é`],
    ['1,a\n2,"b\nlong\ntext', 1, '2,"b\nlong\ntext'],
    ['1,a\n2,"b\nc",x\n3,"d\r\ne\r\n', 1, '3,"d\r\ne\r\n'],
    ['1,a\n2,b\n3,"c', 2, null],
    ['1,a\n2,b\n3,', 2, null],
  ] as const) {
    await service.create('quotes', 'n UInt32, s String')
    const client = await service.openRaw()
    t.teardown(() => client.socket.destroy())
    const path = '/v0/datasources?mode=append&format=csv&name=quotes'
    client.send(service.head('POST', path, 'Content-Length: 1000000'), body)
    client.socket.end()
    const { status, body: answer } = await client.answer()
    t.equal(status, 400)
    const invalid = kept === null ? 0 : 1
    const misfits = body.includes('c",x') ? 1 : 0
    t.match(answer, { imported_rows: stored, quarantine_rows: misfits, invalid_lines: invalid }, JSON.stringify(body))
    t.equal(await service.count('quotes'), stored)
    const texts = await service.rows(
      "SELECT base64Encode(c__error[1]) FROM quotes_quarantine WHERE c__error[1] LIKE 'the%'",
    )
    t.same(
      texts.map(([text = '']) => Buffer.from(text, 'base64').toString()),
      kept === null ? [] : [unread(kept)],
    )
    await service.call('DELETE', '/v0/datasources/quotes')
  }
})
