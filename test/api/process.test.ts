import { type ChildProcess, execFile, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import t from 'tap'
import { entriesBelow, pathOf } from '../support/living-folder.ts'
import { openRawClient } from '../support/raw-client.ts'
import { createTestDirectory } from '../support/store/test-store.ts'

const run = promisify(execFile)
const mainPath = fileURLToPath(new URL('../../src/main.js', import.meta.url))
const directory = await createTestDirectory()
t.teardown(() => directory.remove())

interface StartOptions {
  readonly dataDir?: string
  readonly flags?: readonly string[]
  readonly adminToken?: string
}

/** The service in a process of its own, as `npm start` starts it. */
class ServiceProcess {
  readonly child: ChildProcess
  readonly exited: Promise<number | string>
  readonly curlLines: string[] = []
  address = ''
  adminToken = ''
  startText = ''
  log = ''
  readonly #dataDir: string

  constructor({ dataDir = directory.path, flags = [], adminToken = '' }: StartOptions = {}) {
    this.#dataDir = dataDir
    this.child = spawn(process.execPath, ['--enable-source-maps', mainPath, ...flags], {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: {
        ...process.env,
        UV_THREADPOOL_SIZE: '16',
        MILLRACE_PORT: '0',
        MILLRACE_DATA_DIR: dataDir,
        MILLRACE_ADMIN_TOKEN: adminToken,
        // A tenth of it is what an import has for its end.
        MILLRACE_CLOSE_TIMEOUT_MS: '300000',
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
      this.startText += `${line}\n`
      if (line.startsWith('curl ')) this.curlLines.push(line)
      if (this.curlLines.length < 3) continue
      const path = join(this.#dataDir, 'admin-token')
      if (existsSync(path)) this.adminToken = readFileSync(path, 'utf8').trim()
      return this
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

/** The start that makes the directory: the first two tests ask it, and the second ends it. */
const first = await new ServiceProcess().started()

t.test('the three lines that a start prints do what they say, and are for one process alone', async (t) => {
  t.match(first.startText, `\nAdmin token: ${first.adminToken}\n`, 'the start that makes the token prints it')
  const [create = '', send = '', query = ''] = first.curlLines
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
  t.match(await first.sql('SELECT count() AS n FROM visits FORMAT CSV'), /^2\n$/)
})

t.test('SIGTERM lets an import come to its end', async (t) => {
  const { adminToken } = first
  const head = [
    'POST /v0/datasources?mode=append&name=visits&format=csv HTTP/1.1',
    'Host: localhost',
    `Authorization: Bearer ${adminToken}`,
    'Transfer-Encoding: chunked',
    'Content-Type: text/csv',
  ].join('\r\n')
  const client = await openRawClient(first.port)
  t.teardown(() => client.socket.destroy())
  const row = '2026-01-02T00:00:00Z,/late,7\n'
  const chunk = `${row.length.toString(16)}\r\n${row}\r\n`
  client.send(`${head}\r\n\r\n`, chunk)
  // The answer to another request tells that the import has begun.
  t.equal(await first.sql('SELECT page FROM visits ORDER BY page LIMIT 1 FORMAT CSV'), '"/"\n')

  first.child.kill('SIGTERM')
  await first.logged('The service closes.')
  // The port closes in a moment; from then on nobody is let in.
  while (await isAnswered(`${first.address}/health/live`));
  client.send(chunk, '0\r\n\r\n')
  const answer = await client.answer()
  t.equal(answer.status, 200)
  t.match(answer.body, { imported_rows: 2, error: false })
  t.equal(await first.exited, 0)
})

t.test('a later start has the token and the rows, and what was answered is there after kill -9', async (t) => {
  const service = await new ServiceProcess().started()
  t.equal(service.adminToken, first.adminToken)
  t.notMatch(service.startText, service.adminToken, 'a later start does not print the token')
  t.match(service.startText, join(directory.path, 'admin-token'), 'but where it is')
  t.match(await paste(service.curlLines[2] ?? ''), { rows: 3 })
  t.equal(await service.sql("SELECT countIf(page = '/late') FROM visits FORMAT CSV"), '2\n')
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

/** Everything below a directory, with itself, whose mode lets others in. */
function openToOthers(path: string): readonly string[] {
  const paths = [path, ...entriesBelow(path).map(pathOf)]
  return paths.flatMap((one) => {
    const status = lstatSync(one, { throwIfNoEntry: false })
    const isOpen = status !== undefined && !status.isSymbolicLink() && (status.mode & 0o077) !== 0
    return isOpen ? [`${(status.mode & 0o777).toString(8)} ${one}`] : []
  })
}

t.test('log and columns are for their owner alone, also in a directory that an earlier release made', async (t) => {
  const place = await createTestDirectory()
  t.teardown(() => place.remove())
  chmodSync(place.path, 0o755)
  mkdirSync(join(place.path, 'wal'), { mode: 0o755 })
  // A path at which a shell would stumble, if it were not quoted; and a file of the token that leads elsewhere.
  const dataDir = join(place.path, "it's $HOME & `so` !x")
  mkdirSync(dataDir, { mode: 0o755 })
  mkdirSync(join(dataDir, 'wal'), { mode: 0o755 })
  symlinkSync(join(place.path, 'elsewhere'), join(dataDir, 'admin-token'))
  const service = await new ServiceProcess({ dataDir }).started()
  for (const line of service.curlLines.slice(0, 2)) await paste(line)
  t.equal(await service.sql('SELECT count() FROM visits FORMAT TSV'), '2\n')
  t.same(openToOthers(dataDir), [])
  t.match(service.log, 'was open to other users')
  t.notOk(existsSync(join(place.path, 'elsewhere')), 'the link is replaced, not followed')
  service.child.kill('SIGTERM')
  t.equal(await service.exited, 0)

  chmodSync(join(dataDir, 'admin-token'), 0o644)
  const again = await new ServiceProcess({ dataDir }).started()
  t.same(openToOthers(dataDir), [], 'the file is private again')
  t.match(await paste(again.curlLines[2] ?? ''), { rows: 2 })
  t.notMatch(again.startText + again.log, again.adminToken)
  again.child.kill('SIGTERM')
  t.equal(await again.exited, 0)
})

t.test('a token is shown when it is asked for, and never when it was given', async (t) => {
  const given = 'hunter2-hunter2'
  const service = await new ServiceProcess({ adminToken: given, flags: ['--show-token'] }).started()
  t.notMatch(service.startText + service.log, given)
  for (const line of service.curlLines) t.match(line, '"Authorization: Bearer $MILLRACE_ADMIN_TOKEN"')
  service.child.kill('SIGTERM')
  t.equal(await service.exited, 0)

  unlinkSync(join(directory.path, 'admin-token'))
  writeFileSync(join(directory.path, 'admin-token.new'), 'left by a crash')
  const shown = await new ServiceProcess({ flags: ['--show-token'] }).started()
  t.match(shown.adminToken, /^p\.[\w-]+\.[\w-]+$/, 'the file is made again')
  t.match(shown.startText, `\nAdmin token: ${shown.adminToken}\n`)
  t.match(await paste(shown.curlLines[2] ?? ''), { rows: 3 })
  shown.child.kill('SIGTERM')
  t.equal(await shown.exited, 0)
})
