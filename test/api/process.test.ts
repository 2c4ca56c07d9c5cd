import { type ChildProcess, execFile, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import process from 'node:process'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import t from 'tap'
import { createTestDirectory } from '../store/test-store.ts'
import { openRawClient } from '../support/raw-client.ts'

const run = promisify(execFile)
const mainPath = fileURLToPath(new URL('../../src/main.js', import.meta.url))
const directory = await createTestDirectory()
t.teardown(() => directory.remove())

/** The service in a process of its own, as `npm start` starts it. */
class ServiceProcess {
  readonly child: ChildProcess
  readonly exited: Promise<number | string>
  readonly curlLines: string[] = []
  address = ''
  adminToken = ''
  log = ''

  constructor() {
    this.child = spawn(process.execPath, ['--enable-source-maps', mainPath], {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: {
        ...process.env,
        UV_THREADPOOL_SIZE: '16',
        MILLRACE_PORT: '0',
        MILLRACE_DATA_DIR: directory.path,
        MILLRACE_ADMIN_TOKEN: '',
      },
    })
    this.exited = once(this.child, 'exit').then(([code, signal]) => code ?? signal)
    this.child.stderr?.on('data', (text: Buffer) => {
      this.log += text.toString()
    })
    t.teardown(() => this.child.kill('SIGKILL'))
  }

  /** Reads the start text; resolves when the service said all of it. */
  async started(): Promise<this> {
    if (this.child.stdout === null) throw new Error('stdout is a pipe')
    for await (const line of createInterface({ input: this.child.stdout })) {
      this.address = / listens on (http:\S+)$/.exec(line)?.[1] ?? this.address
      this.adminToken = /^Admin token: (\S+)$/.exec(line)?.[1] ?? this.adminToken
      if (line.startsWith('curl ')) this.curlLines.push(line)
      if (this.curlLines.length === 3) return this
    }
    throw new Error(`the service did not start: ${this.log}`)
  }

  async logged(message: string): Promise<void> {
    if (this.child.stderr === null) throw new Error('stderr is a pipe')
    while (!this.log.includes(message)) await once(this.child.stderr, 'data')
  }

  async sql(query: string): Promise<string> {
    const headers = { authorization: `Bearer ${this.adminToken}` }
    const response = await fetch(`${this.address}/v0/sql`, { method: 'POST', headers, body: query })
    return await response.text()
  }

  get port(): number {
    return Number(new URL(this.address).port)
  }
}

const hasCurl = spawnSync('curl', ['--version']).status === 0

/** Runs a line as it would run when pasted into a terminal. Without curl, its arguments are what the shell makes of them. */
async function paste(line: string): Promise<unknown> {
  if (hasCurl) return JSON.parse((await run('sh', ['-c', `${line} --silent --show-error --max-time 30`])).stdout)
  const told = await run('sh', ['-c', `curl() { for one in "$@"; do printf '%s\\0' "$one"; done; }; ${line}`])
  return await fetchAsCurl(told.stdout.split('\0').slice(0, -1))
}

async function fetchAsCurl(words: readonly string[]): Promise<unknown> {
  const after = (flag: string): string | undefined =>
    words.includes(flag) ? words[words.indexOf(flag) + 1] : undefined
  const pair = after('--data-urlencode')
  const encoded = pair?.replace(/=(.*)$/s, (_, value: string) => `=${encodeURIComponent(value)}`)
  const form = [after('-d'), encoded].filter((part) => part !== undefined).join('&')
  const isGet = words.includes('-G')
  const url = `${words.find((word) => word.startsWith('http'))}${isGet ? `?${form}` : ''}`
  const headers = {
    authorization: after('-H')?.replace('Authorization: ', '') ?? '',
    'content-type': 'application/x-www-form-urlencoded',
  }
  const response = await fetch(
    url,
    isGet ? { headers } : { method: 'POST', headers, body: after('--data-binary') ?? form },
  )
  return await response.json()
}

async function isAnswered(url: string): Promise<boolean> {
  try {
    await (await fetch(url)).arrayBuffer()
    return true
  } catch {
    // Refused: that is what the caller waits for.
    return false
  }
}

t.test('the three lines that a start prints do what they say, and are for one process alone', async (t) => {
  const service = await new ServiceProcess().started()
  const [create = '', send = '', query = ''] = service.curlLines
  t.match(await paste(create), { datasource: { name: 'visits', type: 'ndjson' }, error: false })
  t.match(await paste(send), { successful_rows: 2, quarantined_rows: 0 })
  t.match(await paste(query), {
    data: [
      { page: '/', visits: 1, ms: 31 },
      { page: '/docs', visits: 1, ms: 12 },
    ],
  })

  const second = new ServiceProcess()
  t.equal(await second.exited, 1)
  t.match(second.log, /^millrace: did not start: .*(another process|is open|in use)/m)
  t.match(second.log, directory.path)
  t.match(await service.sql('SELECT count() AS n FROM visits FORMAT CSV'), /^2\n$/)

  service.child.kill('SIGTERM')
  t.equal(await service.exited, 0)
})

t.test('the token is kept, and SIGTERM lets an import come to its end', async (t) => {
  const service = await new ServiceProcess().started()
  const { adminToken } = service
  const head = [
    'POST /v0/datasources?mode=append&name=visits&format=csv HTTP/1.1',
    'Host: localhost',
    `Authorization: Bearer ${adminToken}`,
    'Transfer-Encoding: chunked',
    'Content-Type: text/csv',
  ].join('\r\n')
  const client = await openRawClient(service.port)
  t.teardown(() => client.socket.destroy())
  const row = '2026-01-02T00:00:00Z,/late,7\n'
  const chunk = `${row.length.toString(16)}\r\n${row}\r\n`
  client.send(`${head}\r\n\r\n`, chunk)
  // The answer to another request tells that the import has begun.
  t.equal(await service.sql('SELECT page FROM visits ORDER BY page LIMIT 1 FORMAT CSV'), '"/"\n')

  service.child.kill('SIGTERM')
  await service.logged('The service closes.')
  // The port closes in a moment; from then on nobody is let in.
  while (await isAnswered(`${service.address}/health/live`));
  client.send(chunk, '0\r\n\r\n')
  const answer = await client.answer()
  t.equal(answer.status, 200)
  t.match(answer.body, { imported_rows: 2, error: false })
  t.equal(await service.exited, 0)

  const again = await new ServiceProcess().started()
  t.equal(again.adminToken, adminToken)
  t.equal(await again.sql("SELECT countIf(page = '/late') FROM visits FORMAT CSV"), '2\n')
  again.child.kill('SIGTERM')
  t.equal(await again.exited, 0)
})

t.test('what was answered is there after kill -9', async (t) => {
  const service = await new ServiceProcess().started()
  const headers = { authorization: `Bearer ${service.adminToken}` }
  const create = `${service.address}/v0/datasources?name=killed&format=csv&schema=${encodeURIComponent('n UInt32, s String')}`
  const made = await fetch(create, { method: 'POST', headers, body: '1,a\n2,b\nx,c\n' })
  t.match(await made.json(), { imported_rows: 2, quarantine_rows: 1 })
  const event = await fetch(`${service.address}/v0/events?name=killed`, {
    method: 'POST',
    headers,
    body: '{"n":3,"s":"d"}',
  })
  t.equal(event.status, 202)
  service.child.kill('SIGKILL')
  t.equal(await service.exited, 'SIGKILL')

  const again = await new ServiceProcess().started()
  // What the log held is stored beside the first requests.
  while ((await again.sql('SELECT count() FROM killed FORMAT TSV')) !== '3\n');
  t.equal(await again.sql('SELECT n, s FROM killed ORDER BY n FORMAT TSV'), '1\ta\n2\tb\n3\td\n')
  t.equal(await again.sql('SELECT n, s FROM killed_quarantine FORMAT TSV'), 'x\tc\n')
  const list = await fetch(`${again.address}/v0/datasources?attrs=name`, { headers })
  t.same(await list.json(), { datasources: [{ name: 'visits' }, { name: 'killed' }] })
  again.child.kill('SIGTERM')
  t.equal(await again.exited, 0)
})
