// The log of the running process: who reads it, what a request leaves in it, and that no reader of it can stop the service.
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, constants, openSync, readSync } from 'node:fs'
import { Agent, request as sendRequest } from 'node:http'
import { join } from 'node:path'
import process from 'node:process'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { openRequestsMax } from '../../src/http/server/pipelining.ts'
import { openRawClient } from '../support/raw-client.ts'
import { createTestDirectory } from '../support/store/test-store.ts'

const mainPath = fileURLToPath(new URL('../../src/main.js', import.meta.url))
const adminToken = 'an-admin-token-of-the-test'

interface LoggingService {
  readonly child: ChildProcess
  readonly address: string
  readonly exited: Promise<number | string>
}

interface StartOptions {
  /** The descriptor that becomes stderr, or `pipe` for one of Node's. */
  readonly stderr: number | 'pipe'
  readonly environment?: Readonly<Record<string, string>>
}

/** The service in a process of its own; stdout is read, stderr is whatever the test wants it to be. */
async function startService(t: Test, { stderr, environment = {} }: StartOptions): Promise<LoggingService> {
  const directory = await createTestDirectory()
  const child = spawn(process.execPath, ['--enable-source-maps', mainPath], {
    stdio: ['ignore', 'pipe', stderr],
    env: {
      ...process.env,
      UV_THREADPOOL_SIZE: '16',
      MILLRACE_PORT: '0',
      MILLRACE_DATA_DIR: directory.path,
      MILLRACE_ADMIN_TOKEN: adminToken,
      ...environment,
    },
  })
  const exited = once(child, 'exit').then(([code, signal]) => code ?? signal)
  t.teardown(async () => {
    child.kill('SIGKILL')
    await exited
    await directory.remove()
  })
  if (child.stdout === null) throw new Error('stdout is a pipe')
  for await (const line of createInterface({ input: child.stdout })) {
    const address = / listens on (http:\S+)$/.exec(line)?.[1]
    if (address !== undefined) return { child, address, exited }
  }
  throw new Error('the service did not start')
}

/** A named pipe that this process has open at both ends and does not read. */
async function createUnreadPipe(t: Test): Promise<{ readonly readEnd: number; readonly writeEnd: number }> {
  const directory = await createTestDirectory()
  t.teardown(() => directory.remove())
  const path = join(directory.path, 'stderr')
  execFileSync('mkfifo', [path])
  const readEnd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
  t.teardown(() => closeSync(readEnd))
  const writeEnd = openSync(path, constants.O_WRONLY)
  return { readEnd, writeEnd }
}

const agent = new Agent({ keepAlive: true, maxSockets: 8 })
t.teardown(() => agent.destroy())

/** The status of one request. */
async function statusOf(url: string, body?: string): Promise<number> {
  return await new Promise((resolve, reject) => {
    const headers = { authorization: `Bearer ${adminToken}` }
    const sent = sendRequest(url, { agent, method: body === undefined ? 'GET' : 'POST', headers }, (response) => {
      response.resume()
      response.on('end', () => resolve(response.statusCode ?? 0))
      response.on('error', reject)
    })
    sent.on('error', reject)
    sent.end(body)
  })
}

/** Sends `count` requests on one connection, half as many ahead as it may have; gives how many were answered, by status. */
async function flood(url: string, count: number): Promise<Readonly<Record<string, number>>> {
  const { port, pathname } = new URL(url)
  const client = await openRawClient(Number(port))
  const request = `GET ${pathname} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${adminToken}\r\n\r\n`
  const counts: Record<string, number> = {}
  for (let left = count; left > 0 && !client.isEnded; ) {
    const sentCount = Math.min(left, openRequestsMax / 2)
    client.send(request.repeat(sentCount))
    const text = await client.until((all) => statusesIn(all).length === sentCount)
    for (const status of statusesIn(text)) counts[status] = (counts[status] ?? 0) + 1
    client.text = ''
    left -= sentCount
  }
  client.socket.destroy()
  return counts
}

function statusesIn(text: string): readonly string[] {
  return [...text.matchAll(/HTTP\/1\.1 (\d+) /g)].map(([, status = '']) => status)
}

/** All of what lies in the pipe now. */
function readWhatIsThere(descriptor: number): string {
  const chunk = Buffer.alloc(1024 * 1024)
  let text = ''
  try {
    for (;;) {
      const byteCount = readSync(descriptor, chunk)
      if (byteCount === 0) return text
      text += chunk.toString('utf8', 0, byteCount)
    }
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EAGAIN') return text
    throw error
  }
}

/** Entries of requests that were refused, and how many were dropped; the last line may not be whole yet. */
function countEntries(log: string): { readonly told: number; readonly dropped: number } {
  const entries = log
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line))
  return {
    told: entries.filter(({ code }) => code === 'DATASOURCE_NOT_FOUND').length,
    dropped: entries.reduce((sum, { droppedCount = 0 }) => sum + droppedCount, 0),
  }
}

/** Each entry fills a good part of a kilobyte, so that these more than fill a pipe and the log's own memory. */
const longName = 'many%20words%20'.repeat(60)
const floodCount = 2_000

t.test('a reader of stderr that stops reading stops no request, and learns how many entries it missed', async (t) => {
  const { readEnd, writeEnd } = await createUnreadPipe(t)
  const { child, address, exited } = await startService(t, { stderr: writeEnd })
  closeSync(writeEnd)
  t.same(await flood(`${address}/v0/datasources/${longName}`, floodCount), { 404: floodCount })
  t.equal(await statusOf(`${address}/health/ready`), 200)
  let log = ''
  let counts = { told: 0, dropped: 0 }
  // Each entry was written or counted: else this never ends.
  while (counts.told + counts.dropped < floodCount) {
    log += readWhatIsThere(readEnd)
    counts = countEntries(log)
    await statusOf(`${address}/health/live`)
  }
  t.equal(counts.told + counts.dropped, floodCount)
  t.ok(counts.told > 0 && counts.dropped > 0)
  child.kill('SIGTERM')
  t.equal(await exited, 0)
})

t.test('a full stderr does not keep the service from its end', async (t) => {
  for (const kind of ['named pipe', 'socket'] as const) {
    const pipe = kind === 'named pipe' ? await createUnreadPipe(t) : null
    const { child, address, exited } = await startService(t, { stderr: pipe?.writeEnd ?? 'pipe' })
    if (pipe !== null) closeSync(pipe.writeEnd)
    child.stderr?.pause()
    t.same(await flood(`${address}/v0/datasources/${longName}`, floodCount), { 404: floodCount })
    child.kill('SIGTERM')
    t.equal(await exited, 0, kind)
  }
})

t.test('a stderr that nobody has open any more does not stop the service', async (t) => {
  const { child, address, exited } = await startService(t, { stderr: 'pipe' })
  child.stderr?.destroy()
  t.same(await flood(`${address}/v0/datasources/none`, 100), { 404: 100 })
  child.kill('SIGTERM')
  t.equal(await exited, 0)
})

/** What the service logs while `ask` runs; the log is JSON, as stderr is no terminal. */
async function entriesOf(
  t: Test,
  environment: Readonly<Record<string, string>>,
  ask: (address: string) => Promise<void>,
): Promise<readonly Readonly<Record<string, unknown>>[]> {
  const { child, address, exited } = await startService(t, { stderr: 'pipe', environment })
  const chunks: Buffer[] = []
  child.stderr?.on('data', (chunk: Buffer) => chunks.push(chunk))
  await ask(address)
  child.kill('SIGTERM')
  t.equal(await exited, 0)
  const lines = Buffer.concat(chunks).toString().split('\n').slice(0, -1)
  return lines.map((line) => JSON.parse(line))
}

t.test('the daily work leaves no line at the default level, what is refused leaves one with its code', async (t) => {
  const entries = await entriesOf(t, {}, async (address) => {
    t.equal(await statusOf(`${address}/v0/events?name=visits`, '{"page":"/","ms":31}'), 202)
    t.equal(await statusOf(`${address}/v0/sql?q=SELECT%201`), 200)
    t.equal(await statusOf(`${address}/health/live`), 200)
    t.equal(await statusOf(`${address}/health/ready`), 200)
    t.equal(await statusOf(`${address}/v0/datasources`), 200)
    t.equal(await statusOf(`${address}/v0/events?name=visits&wait=perhaps`, '{"page":"/"}'), 400)
    t.equal(await statusOf(`${address}/v0/sql?q=SELECT%20'a%20row'%20FROM%20nowhere%20WHERE%20x%3D'my%20value'`), 400)
    t.equal(await statusOf(`${address}/v0/nowhere?token=${adminToken}`), 404)
  })
  const requests = entries.filter((entry) => 'requestId' in entry)
  t.match(requests, [
    { level: 'warn', dataSource: 'visits' },
    { level: 'info', status: 200, url: '/v0/datasources' },
    { level: 'warn', status: 400, code: 'PARAMETER_INVALID', reason: /wait/ },
    { level: 'warn', status: 400, code: 'SQL_INVALID' },
    { level: 'warn', status: 404, code: 'NOT_FOUND', url: '/v0/nowhere?…' },
  ])
  t.equal(requests.length, 5)
  t.notMatch(JSON.stringify(entries), /my value|a row/)
})

t.test('no place of a request, and no writing, brings a token into the log', async (t) => {
  const token = adminToken
  const twice = encodeURIComponent(encodeURIComponent(`token=${token}`))
  const hexed = [...Buffer.from(token)].map((byte) => `%${byte.toString(16)}`).join('')
  const paths = [
    `/v0/sql;token=${token}`,
    `/v0/sql%3Ftoken=${token}`,
    `/v0/sql&token=${token}`,
    `/v0/sql?q=1?token=${token}`,
    `/v0/sql?q=${token}`,
    `/v0/sql?${token}`,
    `/v0/sql?token[]=${token}&q=`,
    `/v0/sql?${twice}`,
    `/v0/sql/${token}`,
    `/v0/sql/${hexed}`,
    `/v0/%zz?token=${token}`,
    `/v0/%zz/${hexed}`,
    `/v0/datasources/${token}`,
    `/v0/datasources/${hexed}`,
    `/v0/pipes/${token}.json`,
    `/v0/pipes/a.json?mode=${token}`,
    `/v0/events?name=${token}&format=${token}`,
    `/v0/events?name=a&wait=${token}`,
    `/v0/variables/${token}`,
    `/${token}`,
    `//${token}@host/`,
  ]
  const bodies = [
    `token=${token}`,
    `{"token":"${token}"`,
    token,
    `"${token}"`,
    `name=a&schema=${token}`,
    `x y ${token}`,
  ]
  const headers = { referer: `http://host/?token=${token}`, cookie: `token=${token}`, 'user-agent': token }
  const entries = await entriesOf(t, { MILLRACE_LOG_LEVEL: 'trace' }, async (address) => {
    for (const path of paths) {
      for (const authorization of [`Bearer ${token}`, token, 'Bearer wrong']) {
        const url = new URL(address)
        const options = { host: url.hostname, port: url.port, path, headers: { ...headers, authorization } }
        await new Promise((resolve, reject) => {
          sendRequest(options, (response) => response.resume().on('end', resolve))
            .on('error', reject)
            .end()
        })
      }
    }
    for (const path of [
      '/v0/sql',
      '/v0/datasources',
      '/v0/events?name=a',
      '/v0/pipes',
      '/v0/variables',
      '/v0/analyze',
    ]) {
      for (const body of bodies) await statusOf(`${address}${path}`, body)
    }
  })
  t.ok(entries.length > paths.length * 3 + bodies.length * 6, 'each request left an entry')
  const known = token.slice(0, 12)
  for (const entry of entries) t.notMatch(decodeURIComponent(JSON.stringify(entry).replaceAll('%zz', '')), known)
})

t.test('the format of the log is an option', async (t) => {
  const { child, address, exited } = await startService(t, {
    stderr: 'pipe',
    environment: { MILLRACE_LOG_FORMAT: 'text' },
  })
  let log = ''
  child.stderr?.on('data', (chunk: Buffer) => {
    log += chunk.toString()
  })
  t.equal(await statusOf(`${address}/v0/datasources/none`), 404)
  child.kill('SIGTERM')
  t.equal(await exited, 0)
  t.match(log, /^\d\d:\d\d:\d\d\.\d{3} info {2}The service is open\. address=http:\S+ dataDir=\S+$/m)
  t.match(log, /^\d\d:\d\d:\d\d\.\d{3} warn {2}A request was refused\. .*status=404 .*code=DATASOURCE_NOT_FOUND/m)
})
