import { gzipSync } from 'node:zlib'
import { compress } from '@mongodb-js/zstd'
import t from 'tap'
import { openTestService, severalWorkers } from '../support/api/test-service.ts'
import { byTier, everyNth } from '../support/tier.ts'

// Some versions of Node take the first frame of a zstd body for all of it. So each way of bringing rows is given bodies of
// several frames, on every version that the service runs on, and has to find all rows.

const service = await openTestService(t, severalWorkers)
const lines = [1, 2, 3, 4].map((n) => `{"n":${n}}\n`)
const expected = [['1'], ['2'], ['3'], ['4']]
const empty = Buffer.alloc(0)
/** A frame that decoders pass over, with three bytes in it. */
const skippable = Buffer.from([0x50, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 1, 2, 3])

interface Packed {
  readonly encoding: 'gzip' | 'zstd'
  readonly body: Buffer
}

async function zstdOf(pieces: readonly string[]): Promise<Buffer> {
  return Buffer.concat(await Promise.all(pieces.map((piece) => compress(Buffer.from(piece)))))
}

function gzipOf(pieces: readonly string[]): Buffer {
  return Buffer.concat(pieces.map((piece) => gzipSync(piece)))
}

const text = lines.join('')
const halves = [lines.slice(0, 2).join(''), lines.slice(2).join('')]
const bytewise = [...text]
const bodies: Readonly<Record<string, Packed>> = {
  'two frames of zstd': { encoding: 'zstd', body: await zstdOf(halves) },
  'a frame of zstd for each byte': { encoding: 'zstd', body: await zstdOf(bytewise) },
  'frames of zstd that cut a record': { encoding: 'zstd', body: await zstdOf([text.slice(0, 10), text.slice(10)]) },
  'empty frames of zstd around it': {
    encoding: 'zstd',
    body: Buffer.concat([await compress(empty), await zstdOf(halves), await compress(empty)]),
  },
  'frames of zstd that are passed over': {
    encoding: 'zstd',
    body: Buffer.concat([
      skippable,
      await zstdOf(halves.slice(0, 1)),
      skippable,
      await zstdOf(halves.slice(1)),
      skippable,
    ]),
  },
  'two members of gzip': { encoding: 'gzip', body: gzipOf(halves) },
  'a member of gzip for each byte': { encoding: 'gzip', body: gzipOf(bytewise) },
  'members of gzip that cut a record': { encoding: 'gzip', body: gzipOf([text.slice(0, 10), text.slice(10)]) },
  'empty members of gzip around it': { encoding: 'gzip', body: gzipOf(['', ...halves, '']) },
}

const append = '/v0/datasources?mode=append&format=ndjson&name=packed'
const form = (body: Buffer, name: string): FormData => {
  const parts = new FormData()
  parts.append('ndjson', new Blob([new Uint8Array(body)]), name)
  return parts
}

/** One piece of a stream for each byte, as a slow network brings them. */
function slowly(body: Buffer): ReadableStream {
  return new ReadableStream({
    start(controller) {
      for (const byte of body) controller.enqueue(Uint8Array.of(byte))
      controller.close()
    },
  })
}

const ways: Readonly<Record<string, (packed: Packed) => Promise<unknown>>> = {
  'with the header': ({ body, encoding }) =>
    service.call('POST', append, { body, headers: { 'content-encoding': encoding } }),
  'byte by byte': ({ body, encoding }) =>
    service.call('POST', append, { body: slowly(body), headers: { 'content-encoding': encoding } }),
  'without the header': ({ body }) => service.call('POST', append, { body }),
  'as the file of a form': ({ body, encoding }) =>
    service.call('POST', append, { body: form(body, `rows.ndjson.${encoding === 'zstd' ? 'zst' : 'gz'}`) }),
  'as a form without a name that tells it': ({ body }) => service.call('POST', append, { body: form(body, 'rows') }),
  'as a replace': ({ body, encoding }) =>
    service.call('POST', append.replace('append', 'replace'), { body, headers: { 'content-encoding': encoding } }),
  'as events': ({ body, encoding }) =>
    service.events('packed', body, { wait: 'true' }, { headers: { 'content-encoding': encoding } }),
  'as events byte by byte': ({ body, encoding }) =>
    service.events('packed', slowly(body), { wait: 'true' }, { headers: { 'content-encoding': encoding } }),
}

for (const [shift, [title, packed]] of Object.entries(bodies).entries()) {
  t.test(`${title} brings all rows in every way`, async (t) => {
    for (const [way, send] of everyNth(Object.entries(ways), byTier({ quick: 3, full: 1, soak: 1 }), shift)) {
      await service.create('packed', 'n UInt32 `json:$.n`')
      await send(packed)
      t.same(await service.rows('SELECT n FROM packed ORDER BY n'), expected, way)
      await service.call('DELETE', '/v0/datasources/packed')
    }
  })
}

t.test('frames of many blocks are followed to the last', async (t) => {
  const many = Array.from({ length: 200_000 }, (_, n) => `{"n":${n}}\n`)
  const pieces = [many.slice(0, 99_999).join(''), many.slice(99_999, 100_000).join(''), many.slice(100_000).join('')]
  for (const [encoding, body] of [
    ['zstd', await zstdOf(pieces)],
    ['gzip', gzipOf(pieces)],
  ] as const) {
    for (const headers of [{ 'content-encoding': encoding }, {}]) {
      await service.create('packed', 'n UInt32 `json:$.n`')
      const answer = await service.call('POST', append, { body, headers })
      t.match(answer, { status: 200, json: { error: false, imported_rows: 200_000, quarantine_rows: 0 } }, encoding)
      await service.call('DELETE', '/v0/datasources/packed')
    }
  }
})

t.test('a guess reads all frames of its sample', async (t) => {
  const records = ['{"a":1}\n', '{"b":1}\n']
  for (const [encoding, body] of [
    ['zstd', await zstdOf(records)],
    ['gzip', gzipOf(records)],
  ] as const) {
    const call = { body, headers: { 'content-encoding': encoding } }
    const answer = await service.call('POST', '/v0/analyze?format=ndjson', call)
    t.match(answer.json, { analysis: { columns: [{ name: 'a' }, { name: 'b' }] } }, answer.text)
  }
})

t.test('a later frame that is damaged or cut is told, and the rows before it stay', async (t) => {
  const [first = empty, second = empty] = [await zstdOf(halves.slice(0, 1)), await zstdOf(halves.slice(1))]
  const [member = empty, next = empty] = [gzipOf(halves.slice(0, 1)), gzipOf(halves.slice(1))]
  const broken: readonly Packed[] = [
    { encoding: 'zstd', body: Buffer.concat([first, second.subarray(0, -4)]) },
    { encoding: 'zstd', body: Buffer.concat([first, Buffer.from('not a frame')]) },
    { encoding: 'zstd', body: Buffer.concat([first, second.subarray(0, 3)]) },
    { encoding: 'gzip', body: Buffer.concat([member, next.subarray(0, -4)]) },
    { encoding: 'gzip', body: Buffer.concat([member, next.subarray(0, 12)]) },
  ]
  for (const { encoding, body } of broken) {
    await service.create('packed', 'n UInt32 `json:$.n`')
    const answer = await service.call('POST', append, { body, headers: { 'content-encoding': encoding } })
    t.equal(answer.status, 400, answer.text)
    const refused = await service.events(
      'packed',
      body,
      { wait: 'true' },
      { headers: { 'content-encoding': encoding } },
    )
    t.equal(refused.status, 400, refused.text)
    const stored = await service.rows('SELECT n FROM packed ORDER BY n')
    t.ok(stored.length >= 2, `${encoding}: ${stored.length} rows`)
    t.same(stored, expected.slice(0, stored.length))
    await service.call('DELETE', '/v0/datasources/packed')
  }
})
