import { deflateRawSync, gzipSync } from 'node:zlib'
import { compress } from '@mongodb-js/zstd'
import t from 'tap'
import { unpackAtOnce, unpackBody } from '../../src/http/request/content-encoding.ts'

const kibibyte = 1024
const bytesMax = 1_000_000

/** Random text, which gzip makes little smaller. */
function noise(byteCount: number): Buffer {
  let state = 1
  return Buffer.from(
    Array.from({ length: byteCount }, () => {
      state = (state * 48_271) % 2_147_483_647
      return 32 + (state % 90)
    }),
  )
}

t.test('small gzip bodies are unpacked at once, and others are left to a thread', async (t) => {
  const event = Buffer.from('{"id":1}\n')
  const told = (body: Buffer, byteCount: number) => {
    const lying = Buffer.from(body)
    lying.writeUInt32LE(byteCount, body.length - 4)
    return lying
  }
  const zeros = gzipSync(Buffer.alloc(70 * kibibyte))
  const cases: readonly (readonly [name: string, body: Buffer, isAtOnce: boolean])[] = [
    ['one event', gzipSync(event), true],
    ['nothing', gzipSync(Buffer.alloc(0)), true],
    ['an empty body', Buffer.alloc(0), false],
    ['two members', Buffer.concat([gzipSync(event), gzipSync(event)]), true],
    ['64 KiB of zeros', gzipSync(Buffer.alloc(64 * kibibyte)), true],
    ['one byte more', gzipSync(Buffer.alloc(64 * kibibyte + 1)), false],
    ['a bomb', gzipSync(Buffer.alloc(900_000)), false],
    [
      'many members that are small each',
      Buffer.concat(Array.from({ length: 9 }, () => gzipSync(Buffer.alloc(8 * kibibyte)))),
      false,
    ],
    ['16 KiB of noise, packed', gzipSync(noise(15 * kibibyte)), true],
    ['more than 16 KiB, packed', gzipSync(noise(40 * kibibyte)), false],
    ['a large member before a small one', Buffer.concat([zeros, gzipSync(event)]), false],
  ]
  for (const [name, body, isAtOnce] of cases) {
    const unpacked = unpackAtOnce(body, 'gzip', bytesMax)
    t.equal(unpacked !== null, isAtOnce, name)
    if (unpacked !== null)
      t.ok(Buffer.from(unpacked).equals(Buffer.from(await unpackBody(body, 'gzip', bytesMax))), name)
  }
  t.throws(() => unpackAtOnce(told(gzipSync(event), 5), 'gzip', bytesMax), { code: 'BODY_CORRUPT' }, 'a size that lies')
  t.equal(unpackAtOnce(told(zeros, 5), 'gzip', bytesMax), null, 'a bomb that says it is small')
  t.equal(unpackAtOnce(gzipSync(Buffer.alloc(1_001)), 'gzip', 1_000), null, 'more than a body may have')
  t.equal(unpackAtOnce(gzipSync(Buffer.alloc(1_000)), 'gzip', 1_000)?.length, 1_000)
  t.equal(unpackAtOnce(await compress(event, 3), 'zstd', bytesMax), null)
  t.equal(unpackAtOnce(event, 'identity', bytesMax), null)
})

t.test('both ways refuse the same bodies, wherever they are cut and whatever is broken in them', async (t) => {
  const whole = gzipSync('{"id":1}\n{"name":"é"}\n')
  const isTaken = async (unpack: () => unknown): Promise<boolean> => {
    try {
      await unpack()
      return true
    } catch (error) {
      t.match(error, { code: 'BODY_CORRUPT', status: 400 })
      return false
    }
  }
  const broken = [
    ...Array.from({ length: whole.length }, (_, cut) => whole.subarray(0, cut + 1)),
    ...Array.from({ length: whole.length }, (_, at) => {
      const flipped = Buffer.from(whole)
      flipped[at] = (flipped[at] ?? 0) ^ 0x10
      return flipped
    }),
    Buffer.concat([whole, Buffer.from('garbage that goes on')]),
    Buffer.concat([whole, Buffer.alloc(100)]),
    deflateRawSync('{"id":1}'),
    Buffer.from('{"id":1,"text":"not packed at all"}'),
  ]
  for (const [index, body] of broken.entries()) {
    const slowly = await isTaken(() => unpackBody(body, 'gzip', bytesMax))
    const atOnce = await isTaken(
      async () => unpackAtOnce(body, 'gzip', bytesMax) ?? (await unpackBody(body, 'gzip', bytesMax)),
    )
    t.equal(atOnce, slowly, `case ${index}`)
  }
})
