import { execFile, spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdir, readdir, readFile, rename } from 'node:fs/promises'
import { tmpdir, userInfo } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { type ClickHouseClient, ClickHouseLogLevel, createClient } from '@clickhouse/client'
import { endChild, keepLastLog, untilReady } from './child-server.ts'
import { freePort } from './free-port.ts'
import { repositoryRoot } from './repository-root.ts'

/**
 * A real ClickHouse server for comparisons, made of the same engine library that the npm package chdb carries.
 * It needs a C compiler, so benchmarks and the tests of server mode use it and `npm test` does not.
 */
export interface ClickHouseServer {
  readonly url: string
  readonly pid: number
  readonly client: ClickHouseClient
  close(): Promise<void>
}

/** A statement over a large file says nothing for long. */
const requestMsMax = 600_000
const standstillMsMax = 30_000
/** A kept-alive connection holds the engine for seconds after its end was asked for; nobody needs the data of a comparison any more. */
const closeGraceMs = 2_000

/** Blocks on standard input, so that closing it (or the death of this process) ends the server. */
const serveUntilInputEnds =
  "SYSTEM START LISTEN HTTP; SELECT count() FROM file('/dev/stdin', LineAsString, 'line String') FORMAT Null"

/**
 * Starts a ClickHouse server with an HTTP port on 127.0.0.1, the engine's own defaults, zone UTC, data in `directory`.
 * Resolves when it answers `/ping`; `close` resolves when the process is gone.
 * @throws Error when there is no C compiler or the server does not answer within 30 s.
 */
export async function startClickHouseServer(options: { readonly directory: string }): Promise<ClickHouseServer> {
  const launcher = await buildLauncher()
  await mkdir(options.directory, { recursive: true })
  const port = await freePort()
  const child = spawn(
    launcher,
    [await engineLibrary(), '--path', options.directory, `--http_port=${port}`, '--query', serveUntilInputEnds],
    { stdio: ['pipe', 'ignore', 'pipe'], env: { ...process.env, TZ: 'UTC' } },
  )
  const { pid } = child
  if (pid === undefined) throw new Error(`cannot run ${launcher}`)
  const url = `http://127.0.0.1:${port}`
  const lastLog = keepLastLog(child.stderr)
  // The pipe breaks when the server dies first; its exit is what tells.
  child.stdin.on('error', () => undefined)
  const client = createClient({
    url,
    request_timeout: requestMsMax,
    keep_alive: { enabled: false },
    // Refusals are what some callers ask for; all of them get the error.
    log: { level: ClickHouseLogLevel.OFF },
  })
  const close = async () => {
    await client.close()
    await endChild(child, () => child.stdin.end(), closeGraceMs)
  }
  try {
    await untilReady({ child, url: `${url}/ping`, standstillMsMax, lastLog })
  } catch (error) {
    await close()
    throw error
  }
  return { url, pid, client, close }
}

/**
 * What a statement that names its format answers.
 * @throws ClickHouseError when the server refuses it.
 */
export async function answerOf({ client }: ClickHouseServer, statement: string): Promise<Buffer> {
  const { stream } = await client.exec({ query: statement })
  return Buffer.concat(await stream.toArray())
}

/** Compiles the launcher once per version of its source, into a folder of this user's own. */
async function buildLauncher(): Promise<string> {
  const source = join(repositoryRoot, 'test', 'support', 'clickhouse-server.c')
  const version = createHash('sha256')
    .update(await readFile(source))
    .digest('hex')
    .slice(0, 16)
  const folder = join(tmpdir(), `millrace-launcher-${userInfo().uid}`)
  const launcher = join(folder, `clickhouse-server-${version}`)
  if (existsSync(launcher)) return launcher
  await mkdir(folder, { recursive: true, mode: 0o700 })
  // Renaming is atomic: two processes that build at once never run a half-written file.
  const unfinished = `${launcher}.${process.pid}`
  await promisify(execFile)('cc', ['-O1', source, '-o', unfinished, '-ldl', '-lpthread'])
  await rename(unfinished, launcher)
  return launcher
}

async function engineLibrary(): Promise<string> {
  const folder = join(repositoryRoot, 'node_modules', '@chdb')
  for (const name of await readdir(folder)) {
    const library = join(folder, name, 'libchdb.so')
    if (existsSync(library)) return library
  }
  throw new Error(`no libchdb.so under ${folder}`)
}
