import zlib from 'node:zlib'
import t from 'tap'
import { ByteReader } from '../../../src/ingest/unpack/byte-reader.ts'
import { inflateMember } from '../../../src/ingest/unpack/inflate-entry.ts'
import { byTier, everyNth } from '../../support/tier.ts'

const content = Buffer.from(Array.from({ length: 60 }, (_, n) => `${n},"word ${n * n}, é"\n`).join(''))
const packed = zlib.deflateRawSync(content)
const behind = Buffer.from('PK behind')

async function* chunksOf(...chunks: readonly Uint8Array[]): AsyncGenerator<Uint8Array> {
  for (const chunk of chunks) yield chunk
}

/** The unpacked bytes, and what the reader has behind them. */
async function inflate(chunks: readonly Uint8Array[], packedBytes: number | null): Promise<readonly [string, string]> {
  const reader = new ByteReader(chunksOf(...chunks))
  const pieces: Uint8Array[] = []
  for await (const piece of inflateMember(reader, { packedBytes })) pieces.push(Uint8Array.from(piece))
  const rest = await reader.take(1_000)
  return [Buffer.concat(pieces).toString(), Buffer.from(rest).toString()]
}

t.test(
  'the reader stands behind the last packed byte, wherever the chunks are cut and whoever knows the size',
  async (t) => {
    const bytes = Buffer.concat([packed, behind])
    const cuts = Array.from({ length: bytes.length + 1 }, (_, cut) => cut)
    for (const packedBytes of [packed.length, null]) {
      for (const cut of everyNth(cuts, byTier({ quick: 5, full: 1, soak: 1 }))) {
        const found = await inflate([bytes.subarray(0, cut), bytes.subarray(cut)], packedBytes)
        if (found[0] !== content.toString() || found[1] !== behind.toString()) t.fail(`${packedBytes}, cut at ${cut}`)
      }
      const singles = Array.from(bytes, (_, at) => bytes.subarray(at, at + 1))
      t.same(await inflate(singles, packedBytes), [content.toString(), behind.toString()], 'byte by byte')
    }
  },
)

t.test('nothing packed is nothing unpacked', async (t) => {
  const empty = zlib.deflateRawSync(Buffer.alloc(0))
  t.same(await inflate([Buffer.concat([empty, behind])], empty.length), ['', behind.toString()])
  t.same(await inflate([Buffer.concat([empty, behind])], null), ['', behind.toString()])
})

t.test('a stream that is cut anywhere fails', async (t) => {
  const cuts = Array.from({ length: packed.length }, (_, cut) => cut)
  for (const cut of everyNth(cuts, byTier({ quick: 7, full: 1, soak: 1 }))) {
    await t.rejects(inflate([packed.subarray(0, cut)], null), { code: 'Z_BUF_ERROR' }, `cut at ${cut}`)
  }
  await t.rejects(inflate([packed, behind], packed.length - 1), { code: 'Z_BUF_ERROR' }, 'a size that is too small')
})

t.test('bytes that are no deflate stream fail', async (t) => {
  await t.rejects(inflate([Buffer.alloc(64, 0xff)], 64), { code: 'Z_DATA_ERROR' })
})
