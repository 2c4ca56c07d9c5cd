// Imports from servers that do not do what servers should: all rows once, or an error that says why, and what is stored.

import zlib from 'node:zlib'
import t from 'tap'
import {
  csvOf,
  ndjsonOf,
  openUrlService,
  storedSumOf,
  sumOf,
  testJsonSchema,
  testRows,
  testSchema,
} from '../support/imports/url-imports.ts'
import { type Answer, answerFile } from '../support/remote-server.ts'
import { SeededRandom, testSeed } from '../support/seeded-random.ts'
import { byTier } from '../support/tier.ts'

const rows = testRows(30_000)
const csv = csvOf(rows)
const small = { urlPieceBytes: 65_536, frameBytes: 65_536 }

t.test('every row comes once from servers with and without ranges, that are slow, cut or busy', async (t) => {
  const seed = testSeed()
  t.comment(`SEED=${seed}`)
  const random = new SeededRandom(seed)
  const { service, files, run } = await openUrlService(t, { ...small, urlAttemptsMax: 50 })
  const cutAfter = (share: number) => (bodyBytes: number) =>
    random.fraction() < share ? random.below(bodyBytes) : null
  const busy = (answer: Answer, share: number): Answer => {
    return (request, response) => {
      const status = random.pick([500, 502, 503, 504, 429])
      if (random.fraction() < share) response.writeHead(status, status === 429 ? { 'retry-after': '0' } : {}).end()
      else answer(request, response)
    }
  }
  const answers: Readonly<Record<string, Answer>> = {
    ranges: answerFile({ content: csv }),
    whole: answerFile({ content: csv, hasRanges: false }),
    chunked: answerFile({ content: csv, hasRanges: false, hasLength: false }),
    slow: answerFile({ content: csv, hasRanges: false, writeBytes: 4_000 }),
    'ranges and slow': answerFile({ content: csv, writeBytes: 1_500 }),
    'ranges and cuts': answerFile({ content: csv, cutAfter: cutAfter(0.5) }),
    'whole and cuts': answerFile({ content: csv, hasRanges: false, cutAfter: cutAfter(0.6) }),
    'chunked and cuts': answerFile({ content: csv, hasRanges: false, hasLength: false, cutAfter: cutAfter(0.6) }),
    'by date': answerFile({
      content: csv,
      etag: null,
      lastModified: 'Thu, 01 Jan 2026 00:00:00 GMT',
      cutAfter: cutAfter(0.4),
    }),
    busy: busy(answerFile({ content: csv, cutAfter: cutAfter(0.2) }), 0.5),
    'busy without ranges': busy(answerFile({ content: csv, hasRanges: false, cutAfter: cutAfter(0.2) }), 0.5),
    'packed and cuts': answerFile({ content: zlib.gzipSync(csv), cutAfter: cutAfter(0.5) }),
    'encoded and cuts': answerFile({ content: zlib.gzipSync(csv), contentEncoding: 'gzip', cutAfter: cutAfter(0.5) }),
    'ndjson and cuts': answerFile({
      content: ndjsonOf(rows),
      cutAfter: cutAfter(0.5),
      headers: { 'content-type': 'application/x-ndjson' },
    }),
  }
  for (let round = 0; round < byTier({ quick: 1, full: 2, soak: 50 }); round += 1) {
    for (const [title, answer] of Object.entries(answers)) {
      const path = title.startsWith('ndjson') ? '/rows.ndjson' : '/rows.csv'
      files.set(path, answer)
      const name = `${title.replaceAll(' ', '_')}_${round}`
      const job = await run({ name, schema: testJsonSchema }, path)
      t.match(job, { status: 'done', rows_read: rows.length, imported_rows: rows.length, quarantine_rows: 0 }, title)
      if (job.status === 'done') t.same(await storedSumOf(service, name), sumOf(rows), title)
    }
  }
})

t.test('a file that changes ends its job, which tells the rows stored so far', async (t) => {
  const { service, server, files, run } = await openUrlService(t, { ...small, urlConnectionsMax: 1 })
  for (const hasRanges of [true, false]) {
    let count = 0
    files.set('/rows.csv', (request, response) => {
      count += 1
      const isLater = count > (hasRanges ? 10 : 1)
      const cut = { cutAfter: (bodyBytes: number) => (hasRanges || isLater ? null : Math.floor(bodyBytes / 2)) }
      answerFile({ content: csv, hasRanges, etag: isLater ? '"two"' : '"one"', ...cut })(request, response)
    })
    const name = hasRanges ? 'ranges' : 'whole'
    const job = await run({ name, schema: testSchema }, '/rows.csv')
    const message = `The file ${server.origin}/rows.csv changed while it was imported: its ETag, Last-Modified or length is another one`
    t.match(job, { status: 'error', error: new RegExp(`^${message}`), errors: [String] })
    const stored = job.imported_rows ?? -1
    t.ok(stored > 0 && stored < rows.length, `${stored} rows`)
    t.equal(job.rows_read, stored)
    t.same(await storedSumOf(service, name), sumOf(rows.slice(0, stored)), 'the first rows, each once')
  }
})

t.test('redirects are followed to their end, and refused where they lead astray', async (t) => {
  const { service, server, files, run } = await openUrlService(t)
  const to =
    (location: string): Answer =>
    (_, response) =>
      void response.writeHead(302, { location }).end()
  files.set('/1', to('/2'))
  files.set('/2', to(`${server.origin}/3?X-Signature=verysecret`))
  files.set('/3', to('rows.csv'))
  files.set('/rows.csv', answerFile({ content: csv }))
  t.match(await run({ name: 'a' }, '/1'), { status: 'done' })
  t.same(await storedSumOf(service, 'a'), sumOf(rows))
  const places: readonly (readonly [string, RegExp])[] = [
    ['/loop', /redirect/],
    ['http://127.0.0.2/rows.csv', /refused: its address is not public/],
    ['http://169.254.169.254/latest/meta-data', /refused: its address is not public/],
    ['http://[::ffff:10.0.0.1]/', /cannot be used|refused/],
    ['http://8.8.8.8:22/', /refused: port 22 is not allowed/],
    ['file:///etc/passwd', /cannot be used/],
    ['ftp://127.0.0.1/', /cannot be used/],
    ['http://user:verysecret@127.0.0.1/', /has a user or a password/],
  ]
  for (const [index, [location, error]] of places.entries()) {
    files.set('/loop', to(location))
    const job = await run({ name: `b${index}` }, '/loop')
    t.match(job, { status: 'error', error }, location)
    t.notMatch(JSON.stringify(job), /verysecret/)
    t.equal((await service.call('GET', `/v0/datasources/b${index}`)).status, 404, 'nothing was made')
  }
})

t.test('lengths and encodings that are wrong are errors, and no rows that are not there', async (t) => {
  const { service, files, run } = await openUrlService(t, { ...small, urlAttemptsMax: 3 })
  const head = (headers: Record<string, string | number>): Answer => {
    return (_, response) => {
      response.writeHead(200, headers)
      response.write(csv, () => response.socket?.end())
    }
  }
  const answers: Readonly<Record<string, readonly [Answer, RegExp]>> = {
    longer: [head({ 'content-length': csv.length + 5_000, etag: '"a"' }), /could not be received/],
    neither: [
      (_, response) => {
        response.socket?.write('HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n')
        response.socket?.end(csv)
      },
      /neither its length nor chunks/,
    ],
    unpacked: [answerFile({ content: csv, contentEncoding: 'gzip' }), /gzip|packed|unpack|compress/i],
    brotli: [answerFile({ content: csv, contentEncoding: 'br' }), /br/],
    torn: [answerFile({ content: zlib.gzipSync(csv).subarray(0, 30_000) }), /gzip|packed|unpack|compress|end/i],
    denied: [(_, response) => void response.writeHead(403).end('no'), /answered 403/],
    page: [
      answerFile({ content: Buffer.from('<!DOCTYPE html><html></html>'), headers: { 'content-type': 'text/html' } }),
      /HTML/,
    ],
  }
  for (const [name, [answer, error]] of Object.entries(answers)) {
    files.set('/rows', answer)
    const job = await run({ name, schema: testSchema }, '/rows')
    t.match(job, { status: 'error', error }, name)
    const found = await service.call('GET', `/v0/datasources/${name}`)
    const stored = found.status === 404 ? 0 : await service.count(name)
    t.equal(job.imported_rows ?? 0, stored, `${name}: ${stored} rows`)
    if (stored > 0) t.same(await storedSumOf(service, name), sumOf(rows.slice(0, stored)), name)
    t.equal((job.rows_read ?? 0) - stored, (job.quarantine_rows ?? 0) + (job.invalid_lines ?? 0), name)
  }
})
