import t from 'tap'
import { ByteReader } from '../../../src/ingest/unpack/byte-reader.ts'

const text = 'abcdefghij'

async function* chunksOf(...chunks: readonly string[]): AsyncGenerator<Uint8Array> {
  for (const chunk of chunks) yield Buffer.from(chunk)
}

const taken = async (reader: ByteReader, byteCount: number): Promise<string> =>
  Buffer.from(await reader.take(byteCount)).toString()

t.test('it gives exact counts wherever the chunks are cut', async (t) => {
  for (let cut = 0; cut <= text.length; cut += 1) {
    for (let second = cut; second <= text.length; second += 1) {
      const reader = new ByteReader(chunksOf(text.slice(0, cut), text.slice(cut, second), text.slice(second)))
      const pieces = [await taken(reader, 3), await taken(reader, 0), await taken(reader, 4), await taken(reader, 3)]
      t.same(pieces, ['abc', '', 'defg', 'hij'], `cut at ${cut} and ${second}`)
      t.equal(await reader.takeSome(1), null)
    }
  }
})

t.test('of a source that ends before it gives what there is', async (t) => {
  const reader = new ByteReader(chunksOf('ab', 'c'))
  t.equal(await taken(reader, 4), 'abc')
  t.equal(await taken(reader, 4), '')
  t.equal(await new ByteReader(chunksOf()).takeSome(1), null)
  t.equal(await taken(new ByteReader(chunksOf('', '')), 1), '')
})

t.test('bytes as they come end with their chunk, and pass over empty ones', async (t) => {
  const reader = new ByteReader(chunksOf('', 'abc', '', 'de'))
  const pieces: string[] = []
  for (let piece = await reader.takeSome(2); piece !== null; piece = await reader.takeSome(2)) {
    pieces.push(Buffer.from(piece).toString())
  }
  t.same(pieces, ['ab', 'c', 'de'])
})

t.test('what is given back comes first, in front of what is left of a chunk and of the next one', async (t) => {
  const reader = new ByteReader(chunksOf('abcd', 'ef'))
  t.equal(await taken(reader, 3), 'abc')
  reader.giveBack(Buffer.from('bc'))
  reader.giveBack(Buffer.from('X'))
  t.equal(await taken(reader, 5), 'Xbcde')
  t.equal(await taken(reader, 2), 'f')
  reader.giveBack(Buffer.from('f'))
  t.equal(await taken(reader, 2), 'f', 'at the end too')
})

t.test('a close ends the source, and what the source fails with is raised', async (t) => {
  let isEnded = false
  async function* source(): AsyncGenerator<Uint8Array> {
    try {
      yield Buffer.from('ab')
      yield Buffer.from('cd')
    } finally {
      isEnded = true
    }
  }
  const reader = new ByteReader(source())
  await reader.take(1)
  await reader.close()
  t.ok(isEnded)
  async function* broken(): AsyncGenerator<Uint8Array> {
    yield Buffer.from('ab')
    throw new Error('the connection broke')
  }
  const failing = new ByteReader(broken())
  t.equal(await taken(failing, 2), 'ab')
  await t.rejects(failing.take(1), { message: 'the connection broke' })
})
