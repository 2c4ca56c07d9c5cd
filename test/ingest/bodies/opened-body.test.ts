import { Readable } from 'node:stream'
import { gzipSync } from 'node:zlib'
import t from 'tap'
import { openBody } from '../../../src/ingest/bodies/opened-body.ts'
import type { BodySource, OpenedBody } from '../../../src/ingest/ingest.types.ts'
import { MemoryBudget } from '../../../src/ingest/memory-budget.ts'

const limits = { sampleBytesMax: 24, decompressedBytesMax: 1000 }

function open(chunks: Iterable<Uint8Array>, more: Partial<BodySource> = {}): Promise<OpenedBody> {
  const body = Readable.from(chunks, { objectMode: false })
  return openBody(
    { body, contentEncoding: undefined, format: 'csv', isSampled: true, newLine: undefined, ...more },
    limits,
    new MemoryBudget(1000),
  )
}

async function textOf({ chunks }: OpenedBody): Promise<string> {
  const pieces: Uint8Array[] = []
  for await (const chunk of chunks) pieces.push(Buffer.from(chunk))
  return Buffer.concat(pieces).toString()
}

t.test('a body is given from its first byte, wherever the network cuts it', async (t) => {
  const text = 'größe,b\r\n1,ü\r\n2,€\r\n3,ä\r\n'
  const latin = text.replace('€', 'é')
  const bodies: readonly (readonly [body: Buffer, expected: string, encoding: string])[] = [
    [Buffer.from(text), text, 'utf-8'],
    [Buffer.from(latin, 'latin1'), latin, 'windows-1252'],
    [Buffer.from(`\ufeff${text}`, 'utf16le'), text, 'utf-16le'],
    [Buffer.from(`\ufeff${text}`, 'utf16le').swap16(), text, 'utf-16be'],
  ]
  for (const [body, expected, encoding] of bodies) {
    for (let cut = 1; cut < body.length; cut += 1) {
      const opened = await open([body.subarray(0, cut), body.subarray(cut)])
      t.same([opened.encoding, opened.newLine, opened.failure], [encoding, '\r\n', null])
      t.equal(await textOf(opened), expected, `${encoding}, cut at ${cut}`)
    }
  }
})

t.test(
  'what a body is written in is told by its first letters that are no ASCII, however late they come',
  async (t) => {
    const start = 'a,b\n1,2\n'.repeat(10)
    for (const [word, encoding] of [
      ['größe', 'latin1'],
      ['größe', 'utf8'],
      ['€ 🙂', 'utf8'],
      ['ÃÃ', 'latin1'],
    ] as const) {
      const expected = `${start}3,${word}\n4,${word}\n`
      const body = Buffer.from(expected, encoding)
      for (let cut = start.length - 2; cut < body.length; cut += 1) {
        const opened = await open([body.subarray(0, cut), body.subarray(cut)])
        t.equal(await textOf(opened), expected, `${word} in ${encoding}, cut at ${cut}`)
      }
    }
  },
)

t.test('what is judged by the beginning is judged alike, wherever the network cuts the body', async (t) => {
  // The 24 bytes of the sample end before what says otherwise.
  const bodies: readonly (readonly [body: Buffer, said: readonly string[], spread?: readonly string[]])[] = [
    [Buffer.concat([Buffer.from('a,b\né,1\n3,2\n1,2\n1,2\n'), latinLines]), ['utf-8', '\n'], ['windows-1252', '\n']],
    [Buffer.concat([latinLines.subarray(0, 20), Buffer.from('abc\né\n'.repeat(40))]), ['windows-1252', '\n']],
    [Buffer.concat([Buffer.from('é,é,é,é,é\né,é\n'), latinLines]), ['utf-8', '\n']],
    [Buffer.from(`a,b\r1,2\r3,4\r5,6\r7,8\r9,0\r${'1,2\n'.repeat(40)}`), ['utf-8', '\r']],
    [Buffer.from(`a,"b\n"\r1,2\r3,4\r5,6\r7,8\r${'1,2\n'.repeat(40)}`), ['utf-8', '\r']],
    [Buffer.from(`a,b\n'1','2'\n'3','4'\n'5',\n"6","7"\n${'8,9\n'.repeat(40)}`), ['utf-8', '\n']],
    [Buffer.from(`\ufeffa,b\r1,2\r3,4\r5,6\r7,8\r9,0\r${'1,2\n'.repeat(40)}`, 'utf16le'), ['utf-16le', '\r']],
  ]
  const spread = { delimiter: undefined, escapeCharacter: undefined }
  for (const [body, said, later = said] of bodies) {
    for (const more of [{}, { spread }, { format: undefined, spread }]) {
      const verdicts = new Map<string, unknown>()
      for (const [contentEncoding, sent] of [
        [undefined, body],
        ['gzip', gzipSync(body)],
      ] as const) {
        for (const cut of [1, 7, 29, 1000]) {
          const opened = await open(piecesOf(sent, cut), { ...more, contentEncoding })
          const sample = Buffer.from(opened.sample.bytes).toString()
          const verdict = [opened.encoding, opened.newLine]
          verdicts.set(JSON.stringify([verdict, sample, await textOf(opened)]), verdict)
        }
      }
      t.same([...verdicts.values()], ['spread' in more ? later : said], body.toString('latin1', 0, 40))
    }
  }
})

const latinLines = Buffer.from('caf\u00e9\n'.repeat(40), 'latin1')

function piecesOf(bytes: Buffer, byteCount: number): readonly Uint8Array[] {
  const count = Math.ceil(bytes.length / byteCount)
  return Array.from({ length: count }, (_, piece) => bytes.subarray(piece * byteCount, (piece + 1) * byteCount))
}

t.test('what is held for a sample is given back when it is read or left', async (t) => {
  const budget = new MemoryBudget(32 * 24)
  const body = () => Readable.from([Buffer.from('a,b\n1,2\n'.repeat(200))], { objectMode: false })
  const spread = { delimiter: undefined, escapeCharacter: undefined }
  const source = { contentEncoding: undefined, format: 'csv', isSampled: true, newLine: undefined, spread } as const
  const first = await openBody({ ...source, body: body() }, limits, budget)
  t.equal(budget.bytes, 32 * 24)
  const second = await openBody({ ...source, body: body() }, limits, budget)
  t.equal(budget.bytes, 32 * 24, 'there is no room for another, which is looked at by its beginning')
  t.equal(await textOf(second), 'a,b\n1,2\n'.repeat(200))
  t.equal(await textOf(first), 'a,b\n1,2\n'.repeat(200))
  t.equal(budget.bytes, 0)
  const left = await openBody({ ...source, body: body() }, limits, budget)
  left.close()
  left.close()
  t.equal(budget.bytes, 0)
})

t.test('no more than the sample is read before somebody asks for the rest', async (t) => {
  for (const [isSampled, readMax] of [
    [true, 24],
    [false, 2],
  ] as const) {
    let readCount = 0
    async function* bytes(): AsyncGenerator<Uint8Array> {
      for (; readCount < 100; ) {
        readCount += 1
        yield Buffer.from('a')
      }
    }
    const body = Readable.from(bytes(), { highWaterMark: 1, objectMode: false })
    const source = { body, contentEncoding: undefined, format: 'csv', isSampled, newLine: undefined } as const
    const opened = await openBody(source, limits, new MemoryBudget(1000))
    t.equal(opened.sample.bytes.length, readMax)
    t.equal(opened.sample.isWhole, false)
    t.ok(readCount <= readMax + 3, `${readCount} bytes were read for ${readMax}`)
    t.equal((await textOf(opened)).length, 100)
  }
  for (const [length, isWhole] of [
    [23, true],
    [24, false],
  ] as const) {
    const { sample } = await open([Buffer.alloc(length, 'a')])
    t.equal(sample.isWhole, isWhole, 'the end is seen only by who looks behind the sample')
  }
})

t.test('a body that fails early is given up to there, then fails its reader', async (t) => {
  async function* bytes(): AsyncGenerator<Uint8Array> {
    yield Buffer.from('a,b\n')
    throw new Error('cut')
  }
  const body = Readable.from(bytes(), { objectMode: false })
  const source = { body, contentEncoding: undefined, format: 'csv', isSampled: true, newLine: undefined } as const
  const opened = await openBody(source, limits, new MemoryBudget(1000))
  t.match(opened.failure, { message: 'cut' })
  const pieces: string[] = []
  await t.rejects(
    (async () => {
      for await (const chunk of opened.chunks) pieces.push(Buffer.from(chunk).toString())
    })(),
    { message: 'cut' },
  )
  t.same(pieces, ['a,b\n'])
  const bomb = await open([gzipSync(Buffer.alloc(1001, 'a'))], { contentEncoding: 'gzip' })
  t.match(bomb.failure, { code: 'DECOMPRESSED_TOO_LARGE' })
  await t.rejects(open([], { contentEncoding: 'br' }), { code: 'ENCODING_UNSUPPORTED' })
})

t.test('carriage returns alone end lines where they are said to, or where there is nothing else', async (t) => {
  const old = Buffer.from('a,b\r1,2\r')
  t.equal(await textOf(await open([old])), 'a,b\n1,2\n')
  t.equal(await textOf(await open([Buffer.from('a\r'), Buffer.from('b\n')], { newLine: '\r' })), 'a\nb\n')
  t.equal(await textOf(await open([old], { newLine: '\n' })), 'a,b\r1,2\r')
  t.equal(await textOf(await open([old], { format: 'ndjson' })), 'a,b\r1,2\r', 'NDJSON is left alone')
})

t.test('NDJSON in UTF-16 is told by its mark, and Latin-1 in it is left for the scanner to refuse', async (t) => {
  const marked = await open([Buffer.from('\ufeff{"a":"ü"}\n', 'utf16le')], { format: 'ndjson', isSampled: false })
  t.equal(await textOf(marked), '{"a":"ü"}\n')
  t.equal((await open([Buffer.from('{"a":"ü"}\n', 'latin1')], { format: 'ndjson' })).encoding, 'utf-8')
})

t.test('who stops reading closes the body', async (t) => {
  const body = Readable.from([Buffer.alloc(30, 'a'), Buffer.alloc(30, 'b')], { objectMode: false })
  const source = { body, contentEncoding: undefined, format: 'csv', isSampled: true, newLine: undefined } as const
  const opened = await openBody(source, limits, new MemoryBudget(1000))
  for await (const chunk of opened.chunks) {
    t.equal(chunk.length, 24)
    break
  }
  t.equal(body.destroyed, true)
})
