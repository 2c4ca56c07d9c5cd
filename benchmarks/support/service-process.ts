import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { endChild, keepLastLog, untilReady } from '../../test/support/child-server.ts'
import { freePort } from '../../test/support/free-port.ts'
import { repositoryRoot } from '../../test/support/repository-root.ts'

/** The service as a user starts it, in a process of its own. */
export interface ServiceProcess {
  readonly url: string
  readonly adminToken: string
  readonly pid: number
  /** Asks for a clean end by SIGTERM. */
  close(): Promise<void>
}

const startTimeoutMs = 30_000
const closeGraceMs = 15_000

/**
 * Starts the built service (`dist/src/main.js`) on a free port of 127.0.0.1 with its data in `directory`.
 *
 * `MILLRACE_…` variables of the caller's environment hold, except host, port, directory and token.
 * @throws Error when the service is not built or not ready within 30 s.
 */
export async function startServiceProcess(options: {
  readonly directory: string
  /** The built checkout to run; this one by default. */
  readonly root?: string
}): Promise<ServiceProcess> {
  const main = join(options.root ?? repositoryRoot, 'dist', 'src', 'main.js')
  if (!existsSync(main)) throw new Error(`${main} is missing: run npm run build`)
  const port = await freePort()
  const adminToken = 'p.benchmark'
  const child = spawn(process.execPath, ['--single-threaded-gc', '--enable-source-maps', main], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {
      // The engine holds a thread of this pool for each statement, and its size is fixed before Node starts.
      UV_THREADPOOL_SIZE: '16',
      // As `npm start` has it.
      JE_MALLOC_CONF: 'dirty_decay_ms:100',
      ...process.env,
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
    await untilReady({ child, url: `${url}/health/ready`, standstillMsMax: startTimeoutMs, lastLog })
  } catch (error) {
    await close()
    throw error
  }
  return { url, adminToken, pid, close }
}
