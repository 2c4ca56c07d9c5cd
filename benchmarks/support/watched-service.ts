import { spawn } from 'node:child_process'
import { closeSync, openSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { endChild, untilReady } from '../../test/support/child-server.ts'
import { freePort } from '../../test/support/free-port.ts'
import { repositoryRoot } from '../../test/support/repository-root.ts'
import type { ServiceProcess } from './service-process.ts'

const closeGraceMs = 60_000
const startTimeoutMs = 60_000
const adminToken = 'p.benchmark'

/**
 * Starts the built service as `npm start` does, with its default options, and the probe of its memory beside it.
 *
 * Log and output go to `logPath`, sockets of the probes into `probeDirectory`. No variable `MILLRACE_…` of the caller holds.
 */
export async function startWatchedService(options: {
  readonly directory: string
  readonly probeDirectory: string
  readonly logPath: string
}): Promise<ServiceProcess> {
  const { directory, probeDirectory, logPath } = options
  const probe = fileURLToPath(import.meta.resolve('./memory-probe.js'))
  const inherited = Object.entries(process.env).filter(([name]) => !name.startsWith('MILLRACE_'))
  const port = await freePort()
  const log = openSync(logPath, 'a')
  const main = join(repositoryRoot, 'dist', 'src', 'main.js')
  const child = spawn(process.execPath, ['--single-threaded-gc', '--enable-source-maps', main], {
    stdio: ['ignore', log, log],
    env: {
      UV_THREADPOOL_SIZE: '16',
      JE_MALLOC_CONF: 'dirty_decay_ms:100',
      ...Object.fromEntries(inherited),
      NODE_OPTIONS: `--import ${probe}`,
      MEMORY_PROBE_DIR: probeDirectory,
      MILLRACE_PORT: String(port),
      MILLRACE_DATA_DIR: directory,
      MILLRACE_ADMIN_TOKEN: adminToken,
    },
  })
  closeSync(log)
  const { pid } = child
  if (pid === undefined) throw new Error(`cannot run ${process.execPath}`)
  const killWithParent = () => child.kill('SIGKILL')
  process.once('exit', killWithParent)
  const url = `http://127.0.0.1:${port}`
  const close = async () => {
    await endChild(child, () => child.kill('SIGTERM'), closeGraceMs)
    process.off('exit', killWithParent)
  }
  try {
    const lastLog = () => readFileSync(logPath, 'utf8').slice(-2_000)
    await untilReady({ child, url: `${url}/health/ready`, standstillMsMax: startTimeoutMs, lastLog })
  } catch (error) {
    await close()
    throw error
  }
  return { url, adminToken, pid, close }
}
