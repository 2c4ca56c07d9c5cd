import { gzipSync } from 'node:zlib'
import { compress } from '@mongodb-js/zstd'
import t from 'tap'
import { parseContentEncoding, unpackBody } from '../../../src/http/request/content-encoding.ts'
import { scanZstd } from '../../../src/shared/zstd/zstd-frames.ts'

const text = '{"a":1}\n{"name":"é"}\n'
const bytesMax = 1_000_000

/** A zstd frame of repeated blocks: 4 bytes of input for each `blockBytes` of output, and whatever size it declares. */
function repeatedFrame({
  blockCount,
  blockBytes,
  declaredBytes,
}: Record<'blockCount' | 'blockBytes' | 'declaredBytes', number>) {
  const header = Buffer.alloc(13)
  header.writeUInt32LE(0xfd2fb528, 0)
  // Content size of 8 bytes, no single segment; window of 1 MiB.
  header.writeUInt8(0xc0, 4)
  header.writeUInt8(10 << 3, 5)
  const size = Buffer.alloc(8)
  size.writeBigUInt64LE(BigInt(declaredBytes))
  const blocks = Array.from({ length: blockCount }, (_, index) => {
    const block = Buffer.alloc(4)
    block.writeUIntLE((blockBytes << 3) | (1 << 1) | (index === blockCount - 1 ? 1 : 0), 0, 3)
    block.writeUInt8(0x61, 3)
    return block
  })
  return Buffer.concat([header.subarray(0, 6), size, ...blocks])
}

/** A zstd frame that declares no size, its text cut into raw blocks of one byte each: many blocks, little in them. */
function tinyBlocksFrame(content: Buffer): Buffer {
  const header = Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0x00, 10 << 3])
  const blocks = [...content].map((byte, index) => {
    const block = Buffer.alloc(4)
    block.writeUIntLE((1 << 3) | (index === content.length - 1 ? 1 : 0), 0, 3)
    block.writeUInt8(byte, 3)
    return block
  })
  return Buffer.concat([header, ...blocks])
}

t.test('the header names one known encoding, in any case', async (t) => {
  const cases = [
    [undefined, 'identity'],
    ['', 'identity'],
    [' Identity ', 'identity'],
    ['GZIP', 'gzip'],
    ['x-gzip', 'gzip'],
    ['zstd', 'zstd'],
  ] as const
  for (const [header, encoding] of cases) t.equal(parseContentEncoding(header), encoding)
  for (const header of ['br', 'deflate', 'gzip, gzip', 'gzip, zstd', 'gzipped']) {
    t.throws(() => parseContentEncoding(header), { code: 'ENCODING_UNSUPPORTED', status: 415 }, header)
  }
})

t.test('whole, concatenated and empty bodies unpack to their text', async (t) => {
  const gzip = gzipSync(text)
  const zstd = await compress(Buffer.from(text), 3)
  const skippable = Buffer.from([0x50, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 1, 2, 3])
  const cases = [
    ['identity', Buffer.from(text), text],
    ['gzip', gzip, text],
    ['gzip', Buffer.concat([gzip, gzip]), text + text],
    ['zstd', zstd, text],
    ['zstd', Buffer.concat([zstd, skippable, zstd]), text + text],
    ['zstd', tinyBlocksFrame(Buffer.from(text)), text],
    ['gzip', Buffer.alloc(0), ''],
    ['zstd', Buffer.alloc(0), ''],
  ] as const
  for (const [encoding, body, expected] of cases) {
    t.equal(Buffer.from(await unpackBody(body, encoding, bytesMax)).toString(), expected)
  }
  const small = await compress(Buffer.alloc(0), 3)
  t.equal((await unpackBody(small, 'zstd', bytesMax)).length, 0)
})

t.test('a body that is cut anywhere, or has something behind it, is corrupt', async (t) => {
  for (const encoding of ['gzip', 'zstd'] as const) {
    const whole = encoding === 'gzip' ? gzipSync(text) : await compress(Buffer.from(text), 3)
    for (let cut = 1; cut < whole.length; cut += 1) {
      await t.rejects(
        unpackBody(whole.subarray(0, cut), encoding, bytesMax),
        { code: 'BODY_CORRUPT', status: 400 },
        `${encoding} cut at byte ${cut}`,
      )
    }
    const cases = [
      Buffer.concat([whole, Buffer.from('trailing garbage')]),
      Buffer.from(text),
      Buffer.concat([Buffer.from('x'), whole]),
    ]
    for (const body of cases) await t.rejects(unpackBody(body, encoding, bytesMax), { code: 'BODY_CORRUPT' })
  }
})

t.test('a body may unpack to exactly the limit, and to no byte more', async (t) => {
  for (const size of [999, 1000]) {
    const content = Buffer.alloc(size, 'a')
    t.equal((await unpackBody(gzipSync(content), 'gzip', 1000)).length, size)
    t.equal((await unpackBody(await compress(content, 3), 'zstd', 1000)).length, size)
  }
  const content = Buffer.alloc(1001, 'a')
  const expected = { code: 'DECOMPRESSED_TOO_LARGE', status: 413 }
  await t.rejects(unpackBody(gzipSync(content), 'gzip', 1000), expected)
  await t.rejects(unpackBody(await compress(content, 3), 'zstd', 1000), expected)
})

t.test('a bomb stops at the limit, whatever size it declares', async (t) => {
  const expected = { code: 'DECOMPRESSED_TOO_LARGE', status: 413 }
  const before = process.memoryUsage().rss
  await t.rejects(unpackBody(gzipSync(Buffer.alloc(300_000_000)), 'gzip', bytesMax), expected)
  const gibibyte = { blockCount: 8192, blockBytes: 128 * 1024 }
  for (const declaredBytes of [8192 * 128 * 1024, 10, 0]) {
    const bomb = repeatedFrame({ ...gibibyte, declaredBytes })
    t.ok(bomb.length < 40_000)
    await t.rejects(unpackBody(bomb, 'zstd', bytesMax), expected, `declares ${declaredBytes}`)
  }
  t.ok(process.memoryUsage().rss - before < 600 * 1024 * 1024)
})

t.test('frames are measured without being unpacked', async (t) => {
  // This compressor declares no size; its one block may hold 128 KiB.
  const zstd = await compress(Buffer.from(text), 3)
  t.match(scanZstd(zstd), { isValid: true, declaredBytes: 0, bytesMax: Number })
  t.match(scanZstd(repeatedFrame({ blockCount: 2, blockBytes: 1000, declaredBytes: 7 })), {
    isValid: true,
    declaredBytes: 7,
    bytesMax: 2000,
  })
  const wideWindow = Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0x00, 0xff, 0x01, 0x00, 0x00])
  t.match(scanZstd(wideWindow), { isValid: false, reason: /window/ })
})
