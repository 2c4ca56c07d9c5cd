import { compress } from '@mongodb-js/zstd'
import t from 'tap'
import { unzstd } from '../../../src/shared/zstd/zstd-unpacker.ts'
import { SeededRandom, testSeed } from '../../support/seeded-random.ts'

const seed = testSeed()
t.comment(`SEED=${seed}`)
const random = new SeededRandom(seed)

function randomBytes(byteCount: number): Buffer {
  return Buffer.from(random.hex(2 * byteCount), 'hex')
}

async function unpacked(packed: Uint8Array, chunkBytes = 65_536): Promise<Buffer> {
  const chunks: Uint8Array[] = []
  for (let at = 0; at < packed.length; at += chunkBytes) chunks.push(packed.subarray(at, at + chunkBytes))
  const pieces: Uint8Array[] = []
  for await (const piece of unzstd(chunks)) pieces.push(piece)
  return Buffer.concat(pieces)
}

function lines(byteCount: number): Buffer {
  let text = ''
  for (let id = 0; text.length < byteCount; id += 1) {
    text += `${JSON.stringify({ id, name: `user ${(id * 7919) % 10_007}`, value: Math.sin(id) })}\n`
  }
  return Buffer.from(text.slice(0, byteCount))
}

const contents: readonly ((byteCount: number) => Buffer)[] = [
  lines,
  (byteCount) => Buffer.alloc(byteCount, 'a'),
  (byteCount) => randomBytes(byteCount),
  (byteCount) => randomBytes(byteCount).map((byte) => 97 + ((byte * byte) >> 13)) as Buffer,
]

const magic = [0x28, 0xb5, 0x2f, 0xfd]

function frame(windowByte: number, ...blocks: readonly (readonly number[])[]): Buffer {
  return Buffer.from([...magic, 0x00, windowByte, ...blocks.flat()])
}

function block(kind: number, size: number, content: readonly number[], isLast = true): number[] {
  const word = (size << 3) | (kind << 1) | (isLast ? 1 : 0)
  return [word & 255, (word >> 8) & 255, word >> 16, ...content]
}

const empty = block(0, 0, [])

t.test('what any level has packed comes out as it was, however it is cut', async (t) => {
  for (const content of contents) {
    for (const size of [0, 1, 30, 255, 256, 5000, 131_072, 131_073, 400_000]) {
      const bytes = content(size)
      for (const level of [1, 3, 9, 19]) {
        const packed = await compress(bytes, level)
        for (const chunkBytes of size <= 5000 ? [1, 7] : [65_536, 1000]) {
          const isSame = (await unpacked(packed, chunkBytes)).equals(bytes)
          if (!isSame) t.fail(`level ${level}, ${size} bytes in chunks of ${chunkBytes}`)
        }
      }
    }
  }
})

t.test('frames follow one another, and some are passed over', async (t) => {
  const packed = await compress(lines(300_000), 3)
  const skipped = Buffer.from([0x50, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 1, 2, 3])
  const all = await unpacked(Buffer.concat([skipped, packed, frame(0x50, empty), packed, skipped]), 100)
  t.ok(all.equals(Buffer.concat([lines(300_000), lines(300_000)])))
  t.equal((await unpacked(Buffer.alloc(0))).length, 0)
})

t.test('a block of twenty bytes that asks for gigabytes of copies is refused at once', async (t) => {
  for (const count of [33_000, 98_047]) {
    const sequences = [255, (count - 0x7f00) & 255, (count - 0x7f00) >> 8, 0x54, 0, 1, 52, 0, 0, 0, 1]
    const content = [1 | (1 << 3), 0x61, ...sequences]
    await t.rejects(unpacked(frame(0x50, block(1, 100, [0x61], false), block(2, content.length, content))), {
      message: /more than it may/,
    })
  }
})

t.test('frames that promise a window and have nothing in it cost nothing, and end', async (t) => {
  const hollow = frame(0x88, empty)
  t.equal((await unpacked(Buffer.concat(Array(1000).fill(hollow)))).length, 0)
  await t.rejects(unpacked(Buffer.concat(Array(1001).fill(hollow))), { message: /have nothing in them/ })
  const before = process.memoryUsage().arrayBuffers
  for await (const piece of unzstd([frame(0x88, block(1, 5, [0x61]))])) {
    t.equal(Buffer.from(piece).toString(), 'aaaaa')
    t.ok(process.memoryUsage().arrayBuffers - before < 8_000_000)
  }
})

t.test('a large window with blocks of a byte is not moved for each of them', async (t) => {
  const large = Array.from({ length: 256 }, () => block(1, 131_072, [0x61], false))
  const tiny = Array.from({ length: 20_000 }, () => block(1, 1, [0x62], false))
  let byteCount = 0
  for await (const piece of unzstd([frame(0x88, ...large, ...tiny, empty)])) byteCount += piece.length
  t.equal(byteCount, 256 * 131_072 + 20_000)
})

t.test('what is wrong with packed bytes is said', async (t) => {
  const packed = await compress(lines(100_000), 3)
  const cases: readonly (readonly [Buffer, RegExp])[] = [
    [frame(0xa0, empty), /window is larger than 128 MiB/],
    [frame(0xa8, empty), /window is larger than 128 MiB/],
    [Buffer.from([...magic, 0xe0, 0, 0, 0, 0, 1, 0, 0, 0, ...empty]), /window is larger than 128 MiB/],
    [Buffer.from([...magic, 0x01, 0x50, 7, ...empty]), /dictionary/],
    [frame(0x50, block(3, 0, [])), /unknown kind/],
    [frame(0x00, block(1, 2_000_000, [0x61])), /larger than its frame may have it/],
    [Buffer.from([...magic, 0x20, 9, ...block(1, 5, [0x61])]), /another length than it says/],
    [Buffer.concat([packed, Buffer.from('none')]), /where a frame should begin/],
    [Buffer.from('{"a":1}'), /where a frame should begin/],
    [packed.subarray(0, -1), /in the middle of a frame/],
    [packed.subarray(0, 5), /in the middle of a frame/],
  ]
  for (const [bytes, message] of cases) await t.rejects(unpacked(bytes), { message }, String(message))
})

t.test('damage gives other bytes or a fault, and no other error', async (t) => {
  const packed = await compress(lines(60_000), 3)
  for (let at = 0; at < packed.length; at += 11) {
    const damaged = Buffer.from(packed)
    damaged[at] = (damaged[at] ?? 0) ^ (1 + ((at * 31) % 255))
    const fault = await unpacked(damaged).then(
      () => null,
      (error: unknown) => error,
    )
    if (fault !== null && !(fault instanceof Error && fault.constructor.name === 'ZstdFault')) t.fail(String(fault))
  }
})
