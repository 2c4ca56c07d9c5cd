import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { endChild, keepLastLog, untilReady } from '../../test/support/child-server.ts'
import { freePort } from '../../test/support/free-port.ts'
import { nodeFlags } from '../../test/support/node-flags.ts'
import { repositoryRoot } from '../../test/support/repository-root.ts'
import type { BareFastify } from './bare-fastify.ts'
import type { EngineAlone } from './engine-alone.ts'
import type { FileServer } from './file-server.ts'
import type { LoadGenerator } from './load-generator.ts'
import { type Remote, startRemote } from './remote-functions.ts'

/** The service as a user starts it, in a process of its own. */
export interface ServiceProcess {
  readonly url: string
  /** Headers that let a request in. */
  readonly headers: Readonly<Record<string, string>>
  readonly pid: number
  /** The last 16 KiB of its log. */
  readonly lastLog: () => string
  /** Asks for a clean end by SIGTERM. */
  close(): Promise<void>
}

const standstillMsMax = 60_000
const closeGraceMs = 60_000

/**
 * Starts the built service (`dist/src/main.js`) with what `npm start` sets, on a free port, with its data in `directory`.
 *
 * `MILLRACE_…` variables of the caller's environment hold, except host, port, directory and token.
 * @throws Error when the service is not built, or does not become ready.
 */
export async function startService(options: {
  readonly directory: string
  /** The built checkout to run; this one by default. */
  readonly root?: string
  /** Options by the names that they have in the environment. */
  readonly environment?: Readonly<Record<string, string>>
  /** A module that is loaded in front of the service. */
  readonly preloaded?: string
}): Promise<ServiceProcess> {
  const root = options.root ?? repositoryRoot
  const main = join(root, 'dist', 'src', 'main.js')
  if (!existsSync(main)) throw new Error(`${main} is missing: run npm run build`)
  const preload = options.preloaded === undefined ? [] : ['--import', options.preloaded]
  const port = await freePort()
  const adminToken = 'p.benchmark'
  const child = spawn(process.execPath, [...nodeFlags(root), ...preload, main], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {
      UV_THREADPOOL_SIZE: '16',
      JE_MALLOC_CONF: 'dirty_decay_ms:100',
      ...process.env,
      ...options.environment,
      MILLRACE_HOST: '127.0.0.1',
      MILLRACE_PORT: String(port),
      MILLRACE_DATA_DIR: options.directory,
      MILLRACE_ADMIN_TOKEN: adminToken,
    },
  })
  const { pid } = child
  if (pid === undefined) throw new Error(`cannot run ${process.execPath}`)
  const killWithParent = () => child.kill('SIGKILL')
  process.once('exit', killWithParent)
  const url = `http://127.0.0.1:${port}`
  const lastLog = keepLastLog(child.stdout, child.stderr)
  const close = async () => {
    await endChild(child, () => child.kill('SIGTERM'), closeGraceMs)
    process.off('exit', killWithParent)
  }
  try {
    await untilReady({ child, url: `${url}/health/ready`, standstillMsMax, lastLog })
  } catch (error) {
    await close()
    throw error
  }
  return { url, headers: { authorization: `Bearer ${adminToken}` }, pid, lastLog, close }
}

/** Starts the process that sends and asks. It ends with this one. */
export function startGenerator(): Remote<LoadGenerator> {
  return startRemote(fileURLToPath(import.meta.resolve('./load-generator.js')))
}

/** Starts the process that serves files. It ends with this one. */
export function startFileServer(): Remote<FileServer> {
  return startRemote(fileURLToPath(import.meta.resolve('./file-server.js')))
}

/** Starts the process of the engine alone. It ends with this one. */
export function startEngine(): Remote<EngineAlone> {
  return startRemote(fileURLToPath(import.meta.resolve('./engine-alone.js')))
}

/** A Fastify server with one route that reads the body and answers 202, with the flags of Node that the service has. */
export async function startBareFastify(): Promise<{
  readonly url: string
  readonly pid: number
  close(): Promise<void>
}> {
  const modulePath = fileURLToPath(import.meta.resolve('./bare-fastify.js'))
  const remote = startRemote<BareFastify>(modulePath, nodeFlags(repositoryRoot))
  return { url: await remote.call('listen', null), pid: remote.pid, close: () => remote.close() }
}
