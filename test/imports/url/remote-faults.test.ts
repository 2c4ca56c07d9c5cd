import { createHash } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import t, { type Test } from 'tap'
import { noSignal, openTestRemoteFiles } from '../../support/imports/test-remote-files.ts'
import {
  type Answer,
  answerFile,
  type FileAnswer,
  openRemoteServer,
  randomContent,
  rangeOf,
  sha256Of,
} from '../../support/remote-server.ts'
import { SeededRandom, testSeed } from '../../support/seeded-random.ts'
import { byTier } from '../../support/tier.ts'

const pieceBytes = 64 * 1024
const content = randomContent(5 * pieceBytes + 17, 1)
const sha256 = createHash('sha256').update(content).digest('hex')
const modified = 'Wed, 01 Jul 2026 00:00:00 GMT'

type Files = ReturnType<typeof openTestRemoteFiles>

async function hashOf(files: Files, url: string, isParallel: boolean): Promise<string> {
  const file = await files.open(url, { signal: noSignal })
  try {
    return await sha256Of(file.read({ offset: 0, isParallel }))
  } finally {
    await file.close()
  }
}

/** Asserts that a file fails, in parallel and in order, after bytes that are all right. */
async function failsWith(
  t: Test,
  answer: () => Answer,
  expected: { code: string | RegExp; message?: RegExp },
): Promise<void> {
  for (const isParallel of [true, false]) {
    const server = await openRemoteServer(t, answer())
    const files = openTestRemoteFiles(t)
    const received: Buffer[] = []
    const reading = async (): Promise<void> => {
      const file = await files.open(`${server.origin}/`, { signal: noSignal })
      for await (const chunk of file.read({ offset: 0, isParallel })) received.push(chunk)
    }
    await t.rejects(reading(), expected, isParallel ? 'in parallel' : 'in order')
    const bytes = Buffer.concat(received)
    t.ok(content.subarray(0, bytes.length).equals(bytes), 'what came before is right')
    t.ok(bytes.length <= content.length)
  }
}

/** Answers as `first` does until `count` requests were answered, then as `then` does. */
function after(count: number, first: Answer, then: Answer): Answer {
  let requestCount = 0
  return (request, response) => {
    requestCount += 1
    if (requestCount <= count) first(request, response)
    else then(request, response)
  }
}

const exact: readonly (readonly [name: string, file: Partial<FileAnswer>])[] = [
  ['with ranges and a strong ETag', {}],
  ['with ranges and Last-Modified alone', { etag: null, lastModified: modified }],
  ['with ranges and a weak ETag', { etag: 'W/"one"', lastModified: modified }],
  ['with ranges in chunks', { hasLength: false }],
  ['with ranges and nothing that tells its states apart', { etag: null }],
  ['with ranges and a weak ETag alone', { etag: 'W/"one"' }],
  ['without ranges', { hasRanges: false }],
  ['without ranges, in chunks', { hasRanges: false, hasLength: false }],
  ['without ranges, in small chunks', { hasRanges: false, hasLength: false, writeBytes: 1_000 }],
  ['that is packed', { contentEncoding: 'gzip' }],
  ['that is packed, with nothing that tells its states apart', { contentEncoding: 'zstd', etag: null }],
  ['that is packed, without ranges', { contentEncoding: 'x-gzip', hasRanges: false }],
]

for (const [name, file] of exact) {
  t.test(`a file ${name} is read exactly, as it is sent`, async (t) => {
    for (const byteCount of [0, 1, pieceBytes - 1, pieceBytes, pieceBytes + 1, content.length]) {
      const part = content.subarray(0, byteCount)
      const expected = createHash('sha256').update(part).digest('hex')
      const server = await openRemoteServer(t, answerFile({ ...file, content: part }))
      const files = openTestRemoteFiles(t)
      for (const isParallel of [true, false]) {
        t.equal(await hashOf(files, `${server.origin}/`, isParallel), expected, `${byteCount} bytes`)
      }
      t.same(files.delaysMs, [], 'nothing had to be repeated')
      for (const { headers } of server.requests) t.equal(headers['accept-encoding'], 'identity')
    }
  })
}

t.test('a file is read from any byte on, and as often as somebody wants', async (t) => {
  for (const hasRanges of [true, false]) {
    const server = await openRemoteServer(t, answerFile({ content, hasRanges }))
    const file = await openTestRemoteFiles(t).open(`${server.origin}/`, { signal: noSignal })
    for (const offset of [0, 1, pieceBytes, 2 * pieceBytes + 5, content.length - 1, content.length]) {
      const expected = createHash('sha256').update(content.subarray(offset)).digest('hex')
      for (const isParallel of [true, false]) {
        t.equal(await sha256Of(file.read({ offset, isParallel })), expected, `from ${offset}`)
      }
    }
    const beyond = sha256Of(file.read({ offset: content.length + 1, isParallel: false }))
    await t.rejects(beyond, { code: 'REMOTE_FILE_CHANGED' })
  }
})

t.test('name, media type and encoding are those that the server says', async (t) => {
  const headers = new Map<string, Record<string, string>>([
    ['/a/orders%20x.csv?b=/c.d', { 'content-type': 'Text/CSV; charset=utf-8' }],
    ['/download', { 'content-disposition': 'attachment; filename="or\\"ders.ndjson"' }],
    ['/star', { 'content-disposition': "attachment; filename=x; filename*=UTF-8''%e2%82%ac.csv.gz" }],
    ['/path', { 'content-disposition': 'attachment; filename=../../etc/passwd' }],
    ['/aws.csv', { 'content-encoding': 'aws-chunked' }],
    ['/both.csv', { 'content-encoding': 'identity, GZIP' }],
  ])
  const server = await openRemoteServer(t, (request, response) =>
    answerFile({ content, headers: headers.get(request.url ?? '') ?? {} })(request, response),
  )
  const files = openTestRemoteFiles(t)
  const seen = new Map<string, unknown>()
  for (const path of headers.keys()) {
    const { fileName, mediaType, contentEncoding } = await files.open(`${server.origin}${path}`, { signal: noSignal })
    seen.set(path, { fileName, mediaType, contentEncoding })
  }
  const plain = { mediaType: undefined, contentEncoding: undefined }
  t.same(
    [...seen.values()],
    [
      { fileName: 'orders x.csv', mediaType: 'text/csv', contentEncoding: undefined },
      { ...plain, fileName: 'or"ders.ndjson' },
      { ...plain, fileName: '€.csv.gz' },
      { ...plain, fileName: 'passwd' },
      { ...plain, fileName: 'aws.csv' },
      { ...plain, fileName: 'both.csv', contentEncoding: 'gzip' },
    ],
  )
})

t.test('an encoding that is not supported is refused at once', async (t) => {
  for (const contentEncoding of ['br', 'deflate', 'gzip, gzip', 'compress']) {
    for (const hasRanges of [true, false]) {
      const server = await openRemoteServer(t, answerFile({ content, contentEncoding, hasRanges }))
      const opening = openTestRemoteFiles(t).open(`${server.origin}/`, { signal: noSignal })
      await t.rejects(opening, { code: 'ENCODING_UNSUPPORTED', message: contentEncoding })
      t.equal(server.requests.length, 1)
    }
  }
})

/** What a server may answer to a request for a range although it should not. */
type Lie = (request: IncomingMessage, response: ServerResponse) => void

function lie(status: number, headers: Record<string, string | number>, body: Buffer): Lie {
  return (_, response) => {
    response.writeHead(status, { etag: '"one"', ...headers }).end(body)
  }
}

const lies: readonly (readonly [name: string, (range: { start: number; end: number }) => Lie])[] = [
  ['206 without Content-Range', ({ start, end }) => lie(206, {}, content.subarray(start, end + 1))],
  [
    '206 of another offset',
    ({ end }) => lie(206, { 'content-range': `bytes 7-${end + 7}/${content.length}` }, content.subarray(7, end + 8)),
  ],
  [
    '206 of more than was asked for',
    ({ start }) =>
      lie(206, { 'content-range': `bytes ${start}-${content.length}/${content.length + 1}` }, content.subarray(start)),
  ],
  [
    '206 of an unknown whole',
    ({ start, end }) => lie(206, { 'content-range': `bytes ${start}-${end}/*` }, content.subarray(start, end + 1)),
  ],
  [
    '206 whose length is another one',
    ({ start, end }) =>
      lie(
        206,
        { 'content-range': `bytes ${start}-${end}/${content.length}`, 'content-length': 5 },
        Buffer.from('abcde'),
      ),
  ],
  [
    '206 that ends before it begins',
    ({ start }) => lie(206, { 'content-range': `bytes ${start + 9}-${start}/${content.length}` }, Buffer.from('')),
  ],
  [
    '206 in several parts',
    () =>
      lie(
        206,
        { 'content-type': 'multipart/byteranges; boundary=x' },
        Buffer.from('--x\r\ncontent-range: bytes 0-1/9\r\n\r\nab\r\n--x--'),
      ),
  ],
  ['416', () => lie(416, { 'content-range': `bytes */${content.length}` }, Buffer.alloc(0))],
]

for (const [name, makeLie] of lies) {
  t.test(`a server that answers ${name} to every range is read without ranges`, async (t) => {
    const server = await openRemoteServer(t, (request, response) => {
      const range = rangeOf(request.headers.range, content.length)
      if (range === null || range === 'unsatisfiable') answerFile({ content })(request, response)
      else makeLie(range)(request, response)
    })
    for (const isParallel of [true, false]) {
      t.equal(await hashOf(openTestRemoteFiles(t), `${server.origin}/`, isParallel), sha256)
    }
  })

  t.test(
    `a server that answers ${name} in the middle of a file ends the reading, if it goes on like this`,
    async (t) => {
      const answer = (): Answer =>
        after(1, answerFile({ content }), (request, response) => {
          const range = rangeOf(request.headers.range, content.length)
          if (range !== null && range !== 'unsatisfiable') makeLie(range)(request, response)
        })
      await failsWith(t, answer, { code: /^REMOTE_(?:BROKEN|STATUS|FILE_CHANGED)$/ })
    },
  )
}

t.test('an answer that is longer than its range, or ends in order before it, ends the reading', async (t) => {
  for (const extra of [1, -1, 5_000, -5_000]) {
    const answer = (): Answer =>
      after(1, answerFile({ content }), (request, response) => {
        const range = rangeOf(request.headers.range, content.length)
        if (range === null || range === 'unsatisfiable') throw new Error('a range was expected')
        const { start, end } = range
        response.writeHead(206, { etag: '"one"', 'content-range': `bytes ${start}-${end}/${content.length}` })
        response.end(
          Buffer.concat([content.subarray(start, end + 1 + Math.min(0, extra)), Buffer.alloc(Math.max(0, extra))]),
        )
      })
    const message = extra > 0 ? /longer than it says/ : /shorter than it says/
    const server = await openRemoteServer(t, answer())
    const file = await openTestRemoteFiles(t).open(`${server.origin}/`, { signal: noSignal })
    await t.rejects(sha256Of(file.read({ offset: 0, isParallel: true })), { code: 'REMOTE_BROKEN', message })
  }
})

t.test(
  'a server that forgets its ranges is read on from the beginning in order, and in parallel it ends the reading',
  async (t) => {
    const answer = (): Answer => after(1, answerFile({ content }), answerFile({ content, hasRanges: false }))
    const server = await openRemoteServer(t, answer())
    t.equal(await hashOf(openTestRemoteFiles(t), `${server.origin}/`, false), sha256)
    const other = await openRemoteServer(t, answer())
    await t.rejects(hashOf(openTestRemoteFiles(t), `${other.origin}/`, true), {
      code: 'REMOTE_BROKEN',
      message: /stopped answering with ranges/,
    })
  },
)

t.test('a file that changes while it is read ends the reading', async (t) => {
  const changes: readonly (readonly [Partial<FileAnswer>, Partial<FileAnswer>])[] = [
    [{}, { etag: '"two"' }],
    [{}, { content: randomContent(content.length + 1, 2) }],
    [{}, { content: content.subarray(0, -1) }],
    [{}, { etag: null }],
    [
      { etag: null, lastModified: modified },
      { etag: null, lastModified: 'Wed, 01 Jul 2026 00:00:01 GMT' },
    ],
    [{}, { contentEncoding: 'gzip' }],
  ]
  for (const [before, then] of changes) {
    const answer = (): Answer =>
      after(1, answerFile({ content, ...before }), answerFile({ content, ...before, ...then }))
    await failsWith(t, answer, { code: 'REMOTE_FILE_CHANGED' })
    const cut = (): Answer =>
      after(
        1,
        answerFile({ content, ...before, hasRanges: false, cutAfter: () => 100_000 }),
        answerFile({ content, ...before, ...then, hasRanges: false }),
      )
    await failsWith(t, cut, { code: 'REMOTE_FILE_CHANGED' })
  }
})

t.test('a file that breaks off is not continued where nothing tells its states apart', async (t) => {
  for (const file of [{ etag: null }, { etag: null, hasLength: false, lastModified: modified }, { etag: 'W/"one"' }]) {
    const answer = (): Answer => {
      const whole = { content, ...file, hasRanges: false }
      return after(1, answerFile({ ...whole, cutAfter: () => 100_000 }), answerFile(whole))
    }
    await failsWith(t, answer, { code: 'REMOTE_FILE_CHANGED', message: /cannot be continued/ })
  }
})

t.test('a length that is not told at all, or is not kept, is no file', async (t) => {
  const raw =
    (head: string, bytes: Buffer): Answer =>
    (request) => {
      request.socket.end(Buffer.concat([Buffer.from(`HTTP/1.1 200 OK\r\nETag: "one"\r\n${head}\r\n`), bytes]))
    }
  await failsWith(t, () => raw('Connection: close\r\n', content), {
    code: 'REMOTE_BROKEN',
    message: /neither its length nor chunks/,
  })
  await failsWith(t, () => raw(`Content-Length: ${content.length + 1}\r\n`, content), { code: 'REMOTE_BROKEN' })
  await failsWith(t, () => raw('Content-Length: 70000\r\n', content), {
    code: 'REMOTE_BROKEN',
    message: /more bytes than/,
  })
  await failsWith(t, () => raw(`Content-Length: ${content.length}\r\nContent-Length: 7\r\n`, content), {
    code: 'REMOTE_BROKEN',
  })
  await failsWith(t, () => raw(`Content-Length: 7\r\nTransfer-Encoding: chunked\r\n`, content), {
    code: 'REMOTE_BROKEN',
  })
  await failsWith(t, () => raw('Transfer-Encoding: chunked\r\n', content), { code: 'REMOTE_BROKEN' })
})

t.test('a status that is no file is told at once, and one that may pass is asked for again', async (t) => {
  for (const status of [204, 205, 304, 400, 401, 403, 404, 410, 411, 451]) {
    const server = await openRemoteServer(t, (_, response) => response.writeHead(status).end())
    await t.rejects(openTestRemoteFiles(t).open(`${server.origin}/a?b`, { signal: noSignal }), {
      code: 'REMOTE_STATUS',
      status: 422,
      message: `The server answered ${status} for ${server.origin}/a`,
    })
    t.equal(server.requests.length, 1, String(status))
  }
  for (const status of [408, 425, 429, 500, 502, 503, 504, 599]) {
    const busy: Answer = (_, response) => response.writeHead(status).end()
    const server = await openRemoteServer(t, after(3, busy, answerFile({ content })))
    const files = openTestRemoteFiles(t)
    t.equal(await hashOf(files, `${server.origin}/`, true), sha256, String(status))
    t.same(files.delaysMs, [375, 750, 1_500], 'each pause is twice the last one, with jitter')
  }
})

t.test('Retry-After is kept, in seconds and as a date, up to the longest pause', async (t) => {
  for (const [text, delayMs] of [
    ['7', 7_000],
    ['0', 375],
    ['86400', 30_000],
    ['nonsense', 375],
    [new Date(Date.now() + 3_600_000).toUTCString(), 30_000],
    ['Wed, 01 Jan 2020 00:00:00 GMT', 375],
  ] as const) {
    const busy: Answer = (_, response) => response.writeHead(429, { 'retry-after': text }).end()
    const server = await openRemoteServer(t, after(1, busy, answerFile({ content })))
    const files = openTestRemoteFiles(t)
    await files.open(`${server.origin}/`, { signal: noSignal })
    t.same(files.delaysMs, [delayMs], text)
  }
})

t.test('attempts are counted: the last one may succeed, and there is none after it', async (t) => {
  for (const faultCount of [2, 3, 4]) {
    for (const busy of [
      ((_, response) => response.writeHead(500).end()) as Answer,
      ((request) => request.socket.destroy()) as Answer,
    ]) {
      const server = await openRemoteServer(t, after(faultCount, busy, answerFile({ content })))
      const reading = hashOf(openTestRemoteFiles(t, { attemptsMax: 4 }), `${server.origin}/`, false)
      if (faultCount < 4) t.equal(await reading, sha256)
      else await t.rejects(reading, { code: /^REMOTE_(?:STATUS|UNREACHABLE)$/ })
      t.ok(faultCount < 4 || server.requests.length === 4)
    }
  }
})

t.test('a server that breaks off is asked again from the byte that was reached', async (t) => {
  for (const isParallel of [true, false]) {
    const server = await openRemoteServer(
      t,
      answerFile({ content, cutAfter: (bodyBytes) => (bodyBytes > 30_000 ? 30_000 : null) }),
    )
    const files = openTestRemoteFiles(t, { attemptsMax: 20 })
    const file = await files.open(`${server.origin}/`, { signal: noSignal })
    t.equal(await sha256Of(file.read({ offset: 0, isParallel })), sha256)
    t.equal(file.receivedBytes, content.length, 'each byte is counted once')
    t.ok(server.requests.length >= content.length / 30_000)
  }
})

t.test('random faults never change a byte', async (t) => {
  const seed = testSeed()
  t.comment(`SEED=${seed}`)
  const random = new SeededRandom(seed)
  let exactCount = 0
  for (let round = 0; round < byTier({ quick: 60, full: 400, soak: 10_000 }); round += 1) {
    const size = random.below(6 * pieceBytes)
    const part = content.subarray(0, Math.min(size, content.length))
    const hasRanges = random.below(3) > 0
    const file: FileAnswer = {
      content: part,
      hasRanges,
      hasLength: random.below(4) > 0,
      ...(random.below(2) === 0 ? { etag: '"one"' } : { etag: null, lastModified: modified }),
      cutAfter: (bodyBytes) => (random.below(3) === 0 ? random.below(bodyBytes + 1) : null),
      ...(random.below(3) === 0 ? { writeBytes: 1 + random.below(9_000) } : {}),
    }
    const server = await openRemoteServer(t, (request, response) => {
      const choice = random.below(12)
      if (choice === 0) response.writeHead(random.pick([500, 502, 503, 429])).end('busy')
      else if (choice === 1) request.socket.destroy()
      else if (choice === 2 && hasRanges) response.writeHead(206, { etag: '"one"' }).end(part)
      else answerFile(file)(request, response)
    })
    const files = openTestRemoteFiles(t, { attemptsMax: 30 })
    try {
      const actual = await hashOf(files, `${server.origin}/`, random.below(2) === 0)
      t.equal(actual, createHash('sha256').update(part).digest('hex'), `round ${round}`)
      exactCount += 1
    } catch (error) {
      t.match(error, { code: /^REMOTE_/ }, `round ${round}`)
    }
  }
  t.comment(`${exactCount} of the files were read to their end`)
  t.ok(exactCount > 0)
})

t.test('a server that only ever informs is waited for as long as one that says nothing', async (t) => {
  for (const status of ['100 Continue', '103 Early Hints']) {
    const server = await openRemoteServer(t, ({ socket }) => {
      const inform = (): void => {
        if (!socket.destroyed) socket.write(`HTTP/1.1 ${status}\r\n\r\n`, () => setImmediate(inform))
      }
      inform()
    })
    const files = openTestRemoteFiles(t, { attemptsMax: 2, headersTimeoutMs: 200 })
    await t.rejects(files.open(`${server.origin}/`, { signal: noSignal }), { code: 'REMOTE_UNREACHABLE' }, status)
    t.equal(server.requests.length, 2, status)
  }
})
