import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { besideBytesMax, zipMember } from '../../../src/ingest/unpack/zip-entry.ts'
import { repositoryRoot } from '../../support/repository-root.ts'
import { byTier } from '../../support/tier.ts'
import { zipEnd as end, packedMember as packed } from '../../support/zip-archive.ts'

const rows = `n,word\n${Array.from({ length: 300 }, (_, n) => `${n},"word ${n}, ${'é'.repeat(n % 5)}"\n`).join('')}`

function archive(name: string): Buffer {
  return readFileSync(join(repositoryRoot, `fixtures/archives/${name}.zip`))
}

async function unzip(chunks: readonly Uint8Array[], bytesMax = 1_000_000): Promise<Buffer> {
  async function* body(): AsyncGenerator<Uint8Array> {
    for (const chunk of chunks) yield Uint8Array.from(chunk)
  }
  const pieces: Buffer[] = []
  for await (const chunk of zipMember(body(), bytesMax)) pieces.push(Buffer.from(chunk))
  return Buffer.concat(pieces)
}

t.test('the one file of an archive is read, however it was packed', async (t) => {
  for (const name of ['deflated', 'stored', 'streamed', 'zip64', 'folder']) {
    t.equal((await unzip([archive(name)])).toString(), rows, name)
  }
})

t.test('an archive gives the same file wherever the network cuts it', async (t) => {
  const step = byTier({ quick: 4, full: 1, soak: 1 })
  for (const name of ['deflated', 'streamed', 'folder']) {
    const bytes = archive(name)
    for (let cut = 1; cut < bytes.length; cut += name === 'folder' ? 7 * step : step) {
      const text = (await unzip([bytes.subarray(0, cut), bytes.subarray(cut)])).toString()
      if (text !== rows) t.fail(`${name}, cut at ${cut}`)
    }
    const singles = Array.from({ length: bytes.length }, (_, at) => bytes.subarray(at, at + 1))
    t.equal((await unzip(singles)).toString(), rows, `${name}, byte by byte`)
  }
})

t.test('sizes that stand behind the bytes are read in each of their forms', async (t) => {
  const content = Buffer.from('a,b\n1,2\n')
  for (const sizeBytes of [4, 8] as const) {
    for (const isSigned of [true, false]) {
      const bytes = Buffer.concat([packed('a.csv', content, { sizeBytes, isSigned }), end])
      t.equal((await unzip([bytes])).toString(), content.toString(), `${sizeBytes} bytes, signed: ${isSigned}`)
    }
  }
  const large = Buffer.alloc(3_000_000, 'abc,def\n')
  t.ok((await unzip([packed('a.csv', large), end], large.length)).equals(large), 'of exactly the limit')
  await t.rejects(unzip([packed('a.csv', large), end], large.length - 1), { code: 'DECOMPRESSED_TOO_LARGE' })
  await t.rejects(unzip([archive('deflated')], 1000), { code: 'DECOMPRESSED_TOO_LARGE' })
})

t.test('what lies beside the file of an archive is bounded together', async (t) => {
  const file = packed('a.csv', Buffer.from('a,b\n1,2\n'))
  const half = packed('__MACOSX/._a.csv', Buffer.alloc(besideBytesMax / 2))
  t.equal((await unzip([half, file, half, end])).toString(), 'a,b\n1,2\n', 'of exactly the limit')
  const one = packed('__MACOSX/._b.csv', Buffer.from('1'))
  const error = {
    code: 'ARCHIVE_UNSUPPORTED',
    message: /the other content of the archive unpacks to more than 16 MiB; send the file by itself$/,
  }
  for (const members of [
    [half, file, half, one],
    [half, half, one, file],
    [packed('.DS_Store', Buffer.alloc(besideBytesMax + 1)), file],
  ]) {
    await t.rejects(unzip([...members, end], 100 * besideBytesMax), error)
  }
})

t.test('an archive that is no one file is refused with the reason', async (t) => {
  const cases = [
    ['two-files', /has more than one file, "rows.csv" and "other.ndjson"; send each by itself$/],
    ['encrypted', /"rows.csv" in it is encrypted$/],
    ['bzip2', /"rows.csv" is packed by method 12; only deflate and uncompressed files are read/],
    ['empty', /it has no file$/],
  ] as const
  for (const [name, message] of cases) {
    await t.rejects(unzip([archive(name)]), { code: 'ARCHIVE_UNSUPPORTED', status: 400, message }, name)
  }
  const folders = Array.from({ length: 1001 }, (_, n) => packed(`${n}/`, Buffer.alloc(0)))
  await t.rejects(unzip([...folders, end]), { code: 'ARCHIVE_UNSUPPORTED', message: /more than 1000 members/ })
})

t.test('an archive that is cut or changed is never taken for a whole one', async (t) => {
  for (const name of ['deflated', 'streamed', 'stored']) {
    const bytes = archive(name)
    for (let cut = 1; cut < bytes.length; cut += 3) {
      await t.rejects(unzip([bytes.subarray(0, cut)]), { code: 'BODY_CORRUPT', status: 400 }, `${name}, ${cut} bytes`)
    }
    const changed = Buffer.from(bytes)
    changed[100] = (changed[100] ?? 0) ^ 1
    await t.rejects(unzip([changed]), { code: 'BODY_CORRUPT' }, `${name}, changed`)
  }
})
