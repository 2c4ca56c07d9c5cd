import t from 'tap'
import { ByteReader } from '../../../src/ingest/unpack/byte-reader.ts'
import { type MemberHeader, readMemberHeader, signatures } from '../../../src/ingest/unpack/zip-headers.ts'

interface Fields {
  readonly signature?: number
  readonly flags?: number
  readonly method?: number
  readonly name?: string
  readonly extra?: Buffer
  readonly packed?: number
  readonly unpacked?: number
}

function headerOf({
  signature = signatures.member,
  flags = 0,
  method = 8,
  name = 'a.csv',
  extra,
  ...sizes
}: Fields): Buffer {
  const fixed = Buffer.alloc(30)
  fixed.writeUInt32LE(signature, 0)
  fixed.writeUInt16LE(flags, 6)
  fixed.writeUInt16LE(method, 8)
  fixed.writeUInt32LE(0xabcd1234, 14)
  fixed.writeUInt32LE(sizes.packed ?? 7, 18)
  fixed.writeUInt32LE(sizes.unpacked ?? 9, 22)
  fixed.writeUInt16LE(Buffer.byteLength(name), 26)
  fixed.writeUInt16LE(extra?.length ?? 0, 28)
  return Buffer.concat([fixed, Buffer.from(name), extra ?? Buffer.alloc(0)])
}

/** An extra field: its id, and 64-bit numbers. */
function extraOf(id: number, ...sizes: readonly bigint[]): Buffer {
  const field = Buffer.alloc(4 + 8 * sizes.length)
  field.writeUInt16LE(id, 0)
  field.writeUInt16LE(8 * sizes.length, 2)
  for (const [n, size] of sizes.entries()) field.writeBigUInt64LE(size, 4 + 8 * n)
  return field
}

async function* chunksOf(...chunks: readonly Uint8Array[]): AsyncGenerator<Uint8Array> {
  for (const chunk of chunks) yield chunk
}

async function read(bytes: Buffer, cut = bytes.length): Promise<readonly [MemberHeader | null, string]> {
  const reader = new ByteReader(chunksOf(bytes.subarray(0, cut), bytes.subarray(cut)))
  const header = await readMemberHeader(reader)
  return [header, Buffer.from(await reader.take(100)).toString('latin1')]
}

t.test('a header is read wherever it is cut, and the reader stands behind it', async (t) => {
  const bytes = Buffer.concat([headerOf({ name: 'orders é.csv', extra: extraOf(0x5455, 1n) }), Buffer.from('rows')])
  for (let cut = 0; cut <= bytes.length; cut += 1) {
    const [header, rest] = await read(bytes, cut)
    t.same(
      header,
      {
        name: 'orders é.csv',
        isEncrypted: false,
        method: 8,
        hasDescriptor: false,
        isZip64: false,
        checksum: 0xabcd1234,
        packedBytes: 7,
        unpackedBytes: 9,
      },
      `cut at ${cut}`,
    )
    t.equal(rest, 'rows')
  }
})

t.test('flags say that it is encrypted, and that its sizes stand behind it', async (t) => {
  t.match((await read(headerOf({ flags: 1 })))[0], { isEncrypted: true, hasDescriptor: false, packedBytes: 7 })
  const [header] = await read(headerOf({ flags: 8, method: 0 }))
  t.match(header, { isEncrypted: false, hasDescriptor: true, method: 0, packedBytes: null, unpackedBytes: null })
})

t.test('sizes of four gigabytes and more stand in an extra field, behind others', async (t) => {
  const mark = 0xffffffff
  const extra = Buffer.concat([extraOf(0x5455, 1n, 2n), extraOf(1, 5_000_000_000n, 4_900_000_000n)])
  const [wide] = await read(headerOf({ extra, packed: mark, unpacked: mark }))
  t.match(wide, { isZip64: true, unpackedBytes: 5_000_000_000, packedBytes: 4_900_000_000 })
  const [narrow] = await read(headerOf({ extra, packed: mark - 1, unpacked: mark - 1 }))
  t.match(
    narrow,
    { isZip64: true, unpackedBytes: mark - 1, packedBytes: mark - 1 },
    'only where the header has no size',
  )
  const [missing] = await read(headerOf({ extra: extraOf(1), packed: mark, unpacked: mark }))
  t.match(missing, { isZip64: true, unpackedBytes: mark, packedBytes: mark })
  const [cut] = await read(headerOf({ extra: extra.subarray(0, extra.length - 1), packed: mark, unpacked: mark }))
  t.match(cut, { unpackedBytes: 5_000_000_000, packedBytes: mark }, 'a field that is longer than its header says')
})

t.test('the directory ends the members, and is left for whoever reads it', async (t) => {
  for (const signature of [signatures.directory, signatures.directoryEnd, signatures.archiveExtra]) {
    const bytes = headerOf({ signature })
    t.same(await read(bytes), [null, bytes.toString('latin1')])
  }
})

t.test('a mark of a split archive is passed over', async (t) => {
  const mark = Buffer.from('PK\u0007\b', 'latin1')
  const [header, rest] = await read(Buffer.concat([mark, headerOf({}), Buffer.from('rows')]))
  t.same([header?.name, rest], ['a.csv', 'rows'])
})

t.test('a header that is cut, and what is none, is refused', async (t) => {
  const bytes = headerOf({})
  for (let cut = 0; cut < 30; cut += 1) {
    await t.rejects(read(bytes.subarray(0, cut)), { code: 'BODY_CORRUPT', status: 400 }, `${cut} bytes`)
  }
  await t.rejects(read(headerOf({ signature: 0x04034b51 })), { code: 'BODY_CORRUPT', message: /something else is/ })
})
