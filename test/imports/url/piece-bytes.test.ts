import t from 'tap'
import { PieceBytes } from '../../../src/imports/url/piece-bytes.ts'
import { randomContent } from '../../support/remote-server.ts'
import { SeededRandom, testSeed } from '../../support/seeded-random.ts'

function taken(bytes: PieceBytes): readonly Buffer[] {
  const chunks: Buffer[] = []
  for (let chunk = bytes.shift(); chunk !== undefined; chunk = bytes.shift()) chunks.push(chunk)
  return chunks
}

t.test('bytes come out as they went in, whatever the chunks are and whenever somebody takes them', async (t) => {
  const seed = testSeed()
  t.comment(`SEED=${seed}`)
  const random = new SeededRandom(seed)
  const content = randomContent(1_000_000, seed)
  for (let round = 0; round < 50; round += 1) {
    const bytes = new PieceBytes()
    const chunks: Buffer[] = []
    for (let offset = 0; offset < content.length; ) {
      const byteCount = 1 + random.below(random.pick([10, 1_000, 100_000]))
      bytes.push(content.subarray(offset, offset + byteCount))
      offset += byteCount
      if (random.below(4) === 0) chunks.push(...taken(bytes))
    }
    chunks.push(...taken(bytes))
    t.ok(Buffer.concat(chunks).equals(content), `round ${round}`)
  }
})

t.test(
  'a hundred thousand single bytes are kept in two chunks, and views of large buffers do not keep these',
  async (t) => {
    const bytes = new PieceBytes()
    for (let index = 0; index < 100_000; index += 1) bytes.push(Buffer.alloc(1, index))
    t.same(
      taken(bytes).map(({ length }) => length),
      [65_536, 34_464],
    )
    const large = Buffer.alloc(1024 * 1024)
    bytes.push(large.subarray(0, 20_000))
    t.ok((taken(bytes)[0]?.buffer.byteLength ?? Number.POSITIVE_INFINITY) <= 65_536)
    const own = Buffer.alloc(20_000)
    bytes.push(own)
    t.equal(taken(bytes)[0], own, 'a long chunk is not copied')
  },
)
