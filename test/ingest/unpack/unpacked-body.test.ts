import { Readable } from 'node:stream'
import { gzipSync } from 'node:zlib'
import { compress } from '@mongodb-js/zstd'
import t from 'tap'
import { unpackedBody } from '../../../src/ingest/unpack/unpacked-body.ts'
import { byTier, everyNth } from '../../support/tier.ts'
import { packedMember, zipEnd } from '../../support/zip-archive.ts'

const content = Buffer.from(Array.from({ length: 40 }, (_, n) => `{"n":${n},"word":"é ${n * n}"}\n`).join(''))

async function unpack(
  chunks: readonly Uint8Array[],
  encoding: string | undefined,
  bytesMax = 1_000_000,
): Promise<string> {
  const pieces: Uint8Array[] = []
  const body = Readable.from(chunks.filter((chunk) => chunk.length > 0))
  for await (const piece of unpackedBody(body, encoding, bytesMax)) pieces.push(Uint8Array.from(piece))
  return Buffer.concat(pieces).toString()
}

async function packings(bytes: Buffer): Promise<readonly (readonly [string, Buffer])[]> {
  const zip = Buffer.concat([packedMember('a.ndjson', bytes), zipEnd])
  return [
    ['gzip', gzipSync(bytes)],
    ['zstd', await compress(bytes)],
    ['zip', zip],
  ]
}

t.test('a body is unpacked wherever it is cut', async (t) => {
  for (const [encoding, packed] of await packings(content)) {
    const cuts = Array.from({ length: packed.length + 1 }, (_, cut) => cut)
    for (const cut of everyNth(cuts, byTier({ quick: 5, full: 1, soak: 1 }))) {
      const text = await unpack([packed.subarray(0, cut), packed.subarray(cut)], encoding)
      if (text !== content.toString()) t.fail(`${encoding}, cut at ${cut}`)
    }
    const singles = Array.from(packed, (_, at) => packed.subarray(at, at + 1))
    t.equal(await unpack(singles, encoding), content.toString(), `${encoding}, byte by byte`)
  }
})

t.test('a body that breaks off anywhere is never taken for a whole one', async (t) => {
  for (const [encoding, packed] of await packings(content)) {
    const cuts = Array.from({ length: packed.length - 1 }, (_, cut) => cut + 1)
    for (const cut of everyNth(cuts, byTier({ quick: 5, full: 1, soak: 1 }))) {
      const error = { code: 'BODY_CORRUPT', status: 400 }
      await t.rejects(unpack([packed.subarray(0, cut)], encoding), error, `${encoding}, ${cut} bytes`)
    }
  }
})

t.test('a body may unpack to its limit, and not to a byte more', async (t) => {
  for (const [encoding, packed] of await packings(content)) {
    const text = content.toString()
    t.equal(await unpack([packed], encoding, content.length + 1), text, `${encoding}, below`)
    t.equal(await unpack([packed], encoding, content.length), text, `${encoding}, at`)
    const error = { code: 'DECOMPRESSED_TOO_LARGE', status: 413 }
    await t.rejects(unpack([packed], encoding, content.length - 1), error, `${encoding}, above`)
  }
})

t.test('names of encodings are read in any case, and a body without one is as it came', async (t) => {
  for (const encoding of ['GZIP', ' gzip ', 'x-gzip']) {
    t.equal(await unpack([gzipSync(content)], encoding), content.toString(), encoding)
  }
  for (const encoding of [undefined, '', 'identity']) {
    t.equal(await unpack([content], encoding, 1), content.toString(), `${encoding}: its limit is not here`)
  }
})

t.test('an encoding that is not read is refused at once, and bytes of another one when they come', async (t) => {
  t.throws(() => unpackedBody(Readable.from([]), 'br', 1), { code: 'ENCODING_UNSUPPORTED', status: 415 })
  for (const encoding of ['gzip', 'zstd', 'zip']) {
    await t.rejects(unpack([content], encoding), { code: 'BODY_CORRUPT' }, encoding)
  }
})

t.test('what the connection fails with ends the reading', async (t) => {
  for (const [encoding, packed] of await packings(content)) {
    async function* broken(): AsyncGenerator<Uint8Array> {
      yield packed.subarray(0, 10)
      throw new Error('the connection broke')
    }
    const read = async (): Promise<void> => {
      for await (const piece of unpackedBody(Readable.from(broken()), encoding, 1_000)) t.ok(piece)
    }
    await t.rejects(read(), { message: /the connection broke/ }, encoding)
  }
})
