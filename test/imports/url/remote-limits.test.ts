import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import type { FileIdentity, RemoteFile } from '../../../src/imports/url/remote-file.types.ts'
import { noSignal, openTestRemoteFiles } from '../../support/imports/test-remote-files.ts'
import {
  type Answer,
  answerFile,
  openRemoteServer,
  type RemoteServer,
  randomContent,
  sha256Of,
} from '../../support/remote-server.ts'

const pieceBytes = 64 * 1024
const content = randomContent(8 * pieceBytes, 3)
const sha256 = createHash('sha256').update(content).digest('hex')

/** Redirects `/0` to `/1` and so on until the last one, which is the file. */
function redirectChain(length: number): Answer {
  return (request, response) => {
    const index = Number((request.url ?? '/0').slice(1))
    if (index < length)
      response.writeHead([301, 302, 303, 307, 308][index % 5] ?? 302, { location: `/${index + 1}` }).end('moved')
    else answerFile({ content })(request, response)
  }
}

t.test('redirects are followed up to their limit, and no further', async (t) => {
  for (const length of [0, 4, 5, 6]) {
    const server = await openRemoteServer(t, redirectChain(length))
    const opening = openTestRemoteFiles(t, { redirectsMax: 5 }).open(`${server.origin}/0`, { signal: noSignal })
    if (length <= 5) t.equal(await sha256Of((await opening).read({ offset: 0, isParallel: true })), sha256)
    else await t.rejects(opening, { code: 'REMOTE_BROKEN', message: /redirects more than 5 times/ })
    t.ok(server.requests.filter(({ url }) => url !== `/${length}`).length <= 6)
  }
})

t.test('a loop of redirects is told, and so is one without a target', async (t) => {
  const locations = new Map([
    ['/a', '/b'],
    ['/b', '/c'],
    ['/c', '/a'],
    ['/self', '/self#x'],
    ['/empty', 'http://'],
  ])
  const server = await openRemoteServer(t, (request, response) => {
    const location = locations.get(request.url ?? '')
    response.writeHead(302, location === undefined ? {} : { location }).end()
  })
  const files = openTestRemoteFiles(t)
  for (const [path, message] of [
    ['/a', /form a loop/],
    ['/self', /form a loop|more than/],
    ['/empty', /without a valid Location/],
    ['/none', /without a valid Location/],
  ] as const) {
    await t.rejects(
      files.open(`${server.origin}${path}`, { signal: noSignal }),
      { code: 'REMOTE_BROKEN', message },
      path,
    )
  }
})

t.test('a target of a redirect that has expired is asked for again', async (t) => {
  let generation = 0
  const server = await openRemoteServer(t, (request, response) => {
    if (request.url === '/file.csv') {
      generation += 1
      response.writeHead(302, { location: `/signed/${generation}` }).end()
    } else if (request.url !== `/signed/${generation}` || (generation === 1 && server.requests.length > 3)) {
      response.writeHead(403).end()
    } else answerFile({ content })(request, response)
  })
  const file = await openTestRemoteFiles(t).open(`${server.origin}/file.csv`, { signal: noSignal })
  t.equal(file.fileName, 'file.csv')
  t.equal(await sha256Of(file.read({ offset: 0, isParallel: false })), sha256)
  t.equal(await sha256Of(file.read({ offset: 0, isParallel: false })), sha256)
  t.ok(generation > 1)
})

t.test('a file may have as many bytes as the limit, told or not, and none more', async (t) => {
  for (const hasLength of [true, false]) {
    for (const hasRanges of [true, false]) {
      for (const excess of [-1, 0, 1]) {
        const server = await openRemoteServer(t, answerFile({ content, hasLength, hasRanges }))
        const files = openTestRemoteFiles(t, { bytesMax: content.length - excess })
        const reading = async (): Promise<string> => {
          const file = await files.open(`${server.origin}/`, { signal: noSignal })
          return await sha256Of(file.read({ offset: 0, isParallel: false }))
        }
        if (excess <= 0) t.equal(await reading(), sha256)
        else await t.rejects(reading(), { code: 'REMOTE_TOO_LARGE', status: 413 })
      }
    }
  }
})

t.test('headers are read up to their limit', async (t) => {
  for (const [headerBytes, isRead] of [
    [3_000, true],
    [5_000, false],
  ] as const) {
    const server = await openRemoteServer(t, answerFile({ content, headers: { 'x-long': 'x'.repeat(headerBytes) } }))
    const opening = openTestRemoteFiles(t, { headerBytesMax: 4_096 }).open(`${server.origin}/`, { signal: noSignal })
    if (isRead) t.equal((await opening).identity.byteCount, content.length)
    else await t.rejects(opening, { code: 'REMOTE_BROKEN', message: /headers are too long/ })
    t.equal(server.requests.length, 1)
  }
})

t.test('a server that says nothing, or stops in the middle, is left and asked again', async (t) => {
  const silent = await openRemoteServer(t, () => {})
  const files = openTestRemoteFiles(t, { headersTimeoutMs: 50, idleTimeoutMs: 50, attemptsMax: 2 })
  await t.rejects(files.open(`${silent.origin}/`, { signal: noSignal }), {
    code: 'REMOTE_UNREACHABLE',
    message: /headers did not arrive in time/,
  })
  t.equal(silent.requests.length, 2)
  let isStalling = true
  const stalling = await openRemoteServer(t, (request, response) => {
    if (isStalling)
      response.writeHead(200, { etag: '"one"', 'content-length': content.length }).write(content.subarray(0, 9_999))
    else answerFile({ content, hasRanges: false })(request, response)
  })
  const file = await files.open(`${stalling.origin}/`, { signal: noSignal })
  isStalling = false
  t.equal(await sha256Of(file.read({ offset: 0, isParallel: true })), sha256)
  t.equal(stalling.requests.length, 2)
})

t.test('a server that sends single bytes to keep the connection open is left', async (t) => {
  let clockMs = 0
  const server = await openRemoteServer(t, (_, response) => {
    response.writeHead(200, { etag: '"one"', 'content-length': content.length })
    const send = (): void => {
      clockMs += 1_000
      if (!response.destroyed) response.write('x', () => setImmediate(send))
    }
    send()
  })
  const files = openTestRemoteFiles(t, { attemptsMax: 2, idleTimeoutMs: 10_000 }, { now: () => clockMs })
  const file = await files.open(`${server.origin}/`, { signal: noSignal })
  await t.rejects(sha256Of(file.read({ offset: 0, isParallel: false })), {
    code: 'REMOTE_BROKEN',
    message: /arrive too slowly/,
  })
})

t.test(
  'a host that does not exist is told at once, and one that is not resolved in time is asked for again',
  async (t) => {
    const missing = Object.assign(new Error('getaddrinfo ENOTFOUND'), { code: 'ENOTFOUND' })
    let count = 0
    const resolve = async (): Promise<readonly string[]> => {
      count += 1
      throw missing
    }
    const files = openTestRemoteFiles(t, {}, { resolve })
    await t.rejects(files.open('https://files.test/', { signal: noSignal }), {
      code: 'REMOTE_UNREACHABLE',
      message: 'No answer was received for https://files.test/: the host name does not exist',
    })
    t.equal(count, 1)
    const never = openTestRemoteFiles(
      t,
      { connectTimeoutMs: 20, attemptsMax: 3 },
      { resolve: () => new Promise(() => {}) },
    )
    await t.rejects(never.open('https://files.test/', { signal: noSignal }), { message: /could not be resolved now/ })
    t.equal(never.delaysMs.length, 2)
    const many = openTestRemoteFiles(t, {}, { resolve: async () => new Array<string>(257).fill('8.8.8.8') })
    await t.rejects(many.open('https://files.test/', { signal: noSignal }), { code: 'REMOTE_UNREACHABLE' })
  },
)

t.test('of several addresses the next one is tried when the first takes no connection', async (t) => {
  const server = await openRemoteServer(t, answerFile({ content }))
  const files = openTestRemoteFiles(t, { allow: 'files.test' }, { resolve: async () => ['127.0.0.2', '127.0.0.1'] })
  const file = await files.open(`http://files.test:${server.port}/`, { signal: noSignal })
  t.equal(await sha256Of(file.read({ offset: 0, isParallel: true })), sha256)
  t.same(files.delaysMs, [])
})

t.test('no more is held than the window, however long nobody reads', async (t) => {
  const server = await openRemoteServer(t, answerFile({ content }))
  const files = openTestRemoteFiles(t, { connectionsMax: 3 })
  const file = await files.open(`${server.origin}/`, { signal: noSignal })
  const chunks = file.read({ offset: 0, isParallel: true })[Symbol.asyncIterator]()
  await chunks.next()
  while (file.receivedBytes < 3 * pieceBytes) await new Promise((resolve) => setImmediate(resolve))
  for (let turn = 0; turn < 100; turn += 1) await new Promise((resolve) => setImmediate(resolve))
  // The stream itself has room for 256 KiB, four pieces; of the others there are three.
  t.ok(file.receivedBytes <= 8 * pieceBytes)
  t.ok(server.connectionCount <= 3)
  await file.close()
})

t.test('a server that has too much to do gets fewer requests at once', async (t) => {
  let openCount = 0
  let openMax = 0
  const server = await openRemoteServer(t, (request, response) => {
    openCount += 1
    response.once('close', () => {
      openCount -= 1
    })
    if (openCount > 1) response.writeHead(429).end()
    else answerFile({ content })(request, response)
    if (server.requests.length > 12) openMax = Math.max(openMax, openCount)
  })
  const file = await openTestRemoteFiles(t, { attemptsMax: 50 }).open(`${server.origin}/`, { signal: noSignal })
  t.equal(await sha256Of(file.read({ offset: 0, isParallel: true })), sha256)
  t.ok(openMax <= 4)
})

t.test('a file is opened again only where it is the expected one', async (t) => {
  const modified = 'Wed, 01 Jul 2026 00:00:00 GMT'
  const identity: FileIdentity = { etag: '"one"', lastModified: modified, byteCount: content.length }
  const cases: readonly (readonly [
    FileIdentity,
    { etag: string | null; lastModified: string | null },
    RegExp | null,
  ])[] = [
    [identity, { etag: '"one"', lastModified: modified }, null],
    [identity, { etag: '"one"', lastModified: 'Thu, 02 Jul 2026 00:00:00 GMT' }, null],
    [identity, { etag: null, lastModified: modified }, null],
    [identity, { etag: 'W/"one"', lastModified: modified }, /is another one/],
    [identity, { etag: '"two"', lastModified: modified }, /is another one/],
    [identity, { etag: null, lastModified: null }, /cannot be continued/],
    [{ ...identity, byteCount: 1 }, { etag: '"one"', lastModified: modified }, /is another one/],
    [
      { etag: null, lastModified: null, byteCount: content.length },
      { etag: null, lastModified: null },
      /cannot be continued/,
    ],
  ]
  for (const [expected, answer, message] of cases) {
    const server = await openRemoteServer(t, answerFile({ content, ...answer }))
    const opening = openTestRemoteFiles(t).open(`${server.origin}/`, { signal: noSignal, expected })
    if (message === null) t.equal((await opening).identity.byteCount, content.length)
    else await t.rejects(opening, { code: 'REMOTE_FILE_CHANGED', status: 409, message })
  }
})

interface Phase {
  readonly name: string
  readonly answer: Answer
  readonly resolve?: () => Promise<readonly string[]>
  /** Whether the phase has begun. */
  readonly isBegun: (server: RemoteServer, file: RemoteFile | undefined) => boolean
  readonly isPaused?: boolean
}

let isResolving = false
const phases: readonly Phase[] = [
  {
    name: 'resolving',
    answer: () => {},
    resolve: () => {
      isResolving = true
      return new Promise(() => {})
    },
    isBegun: () => isResolving,
  },
  { name: 'waiting for headers', answer: () => {}, isBegun: ({ requests }) => requests.length > 0 },
  {
    name: 'receiving',
    answer: (_, response) => {
      response.writeHead(200, { 'content-length': 1_000_000, etag: '"one"' }).write('some')
    },
    isBegun: (_, file) => (file?.receivedBytes ?? 0) > 0,
  },
  {
    name: 'receiving a range',
    answer: (_, response) => {
      const headers = { 'content-range': 'bytes 0-65535/1000000', etag: '"one"', 'content-length': 65_536 }
      response.writeHead(206, headers).write('some')
    },
    isBegun: (_, file) => (file?.receivedBytes ?? 0) > 0,
  },
  {
    name: 'pausing before another attempt',
    answer: (_, response) => response.writeHead(503).end(),
    isBegun: ({ requests }) => requests.length > 0,
    isPaused: true,
  },
  { name: 'waiting for a reader', answer: answerFile({ content }), isBegun: (_, file) => file !== undefined },
]

for (const { name, answer, resolve, isBegun, isPaused } of phases) {
  for (const end of ['signal', 'close'] as const) {
    t.test(
      `while ${name}, ${end === 'signal' ? 'an aborted signal' : 'the end of the service'} ends everything`,
      async (t) => {
        isResolving = false
        const server = await openRemoteServer(t, answer)
        const delay = (_: number, signal: AbortSignal): Promise<never> =>
          new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
        const files = openTestRemoteFiles(
          t,
          { allow: 'files.test' },
          { resolve: resolve ?? (async () => ['127.0.0.1']), ...(isPaused === true ? { delay } : {}) },
        )
        const abort = new AbortController()
        let file: RemoteFile | undefined
        const reading = (async () => {
          file = await files.open(`http://files.test:${server.port}/`, { signal: abort.signal })
          const stream = file.read({ offset: 0, isParallel: true })
          if (name === 'waiting for a reader') await new Promise((resolve) => stream.once('readable', resolve))
          await sha256Of(stream)
        })()
        reading.catch(() => {})
        while (!isBegun(server, file)) await new Promise((resolve) => setImmediate(resolve))
        const begunAt = performance.now()
        if (end === 'signal') abort.abort(new Error('cancelled by its user'))
        else await files.close()
        await t.rejects(reading, end === 'signal' ? { message: 'cancelled by its user' } : { code: 'SHUTTING_DOWN' })
        await file?.close()
        while (server.openCount > 0) await new Promise((resolve) => setImmediate(resolve))
        t.ok(performance.now() - begunAt < 2_000)
      },
    )
  }
}

t.test('a stream that is destroyed ends its requests, and the file can be read again', async (t) => {
  const server = await openRemoteServer(t, answerFile({ content, writeBytes: 1_000 }))
  const file = await openTestRemoteFiles(t).open(`${server.origin}/`, { signal: noSignal })
  for (const isParallel of [true, false]) {
    const stream = file.read({ offset: 0, isParallel })
    for await (const chunk of stream) {
      t.ok(chunk.length > 0)
      break
    }
    t.ok(stream.destroyed)
  }
  t.equal(await sha256Of(file.read({ offset: 0, isParallel: true })), sha256)
  await file.close()
  while (server.openCount > 0) await new Promise((resolve) => setImmediate(resolve))
})

/** A key and a certificate of one host that it signs itself. */
function selfSigned(t: Test, hostname: string): { readonly key: string; readonly cert: string } {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-tls-'))
  t.teardown(() => rmSync(folder, { recursive: true }))
  const paths = { key: join(folder, 'key.pem'), cert: join(folder, 'cert.pem') }
  execFileSync(
    'openssl',
    [
      ...['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2'],
      ...['-subj', `/CN=${hostname}`, '-addext', `subjectAltName=DNS:${hostname}`],
      ...['-keyout', paths.key, '-out', paths.cert],
    ],
    { stdio: 'ignore' },
  )
  return { key: readFileSync(paths.key, 'utf8'), cert: readFileSync(paths.cert, 'utf8') }
}

t.test('over TLS the certificate is that of the name, although the socket goes to a judged address', async (t) => {
  const tls = selfSigned(t, 'files.test')
  const server = await openRemoteServer(t, answerFile({ content }), { tls })
  const resolve = async (): Promise<readonly string[]> => ['127.0.0.1']
  const trusting = openTestRemoteFiles(t, {}, { ca: tls.cert, resolve })
  const file = await trusting.open(`https://files.test:${server.port}/`, { signal: noSignal })
  t.equal(await sha256Of(file.read({ offset: 0, isParallel: true })), sha256)
  t.match(server.requests[0], { headers: { host: `files.test:${server.port}` } })
  const requestCount = server.requests.length
  for (const host of ['other.test', '127.0.0.1']) {
    await t.rejects(trusting.open(`https://${host}:${server.port}/`, { signal: noSignal }), {
      code: 'REMOTE_UNREACHABLE',
      message: /ERR_TLS_CERT_ALTNAME_INVALID/,
    })
  }
  await t.rejects(
    openTestRemoteFiles(t, {}, { resolve }).open(`https://files.test:${server.port}/`, { signal: noSignal }),
    {
      code: 'REMOTE_UNREACHABLE',
      message: /DEPTH_ZERO_SELF_SIGNED_CERT/,
    },
  )
  t.equal(server.requests.length, requestCount)
  t.same(trusting.delaysMs, [], 'a certificate does not get better by waiting')
})
