// The process around the service: reads the environment, opens the service, and closes it in order on a signal. The only
// place of `process.env` and `process.exit`. Lines for people go to stdout, the log goes to stderr.
//
// Exit codes: 0 closed in order, 1 failed, 2 wrong options.

import { readFileSync } from 'node:fs'
import { availableParallelism, totalmem } from 'node:os'
import process from 'node:process'
import type { Options } from './config.ts'
import { readOptions } from './config-reader.ts'
import { helpText } from './config-text.ts'
import { createLogger, type Logger } from './observe/logger.ts'

// Each statement in the engine holds a thread of libuv's pool; with Node's own 4, files and compression would starve.
const poolThreadsMin = 16

await main()

async function main(): Promise<void> {
  const reading = readOptions({
    flags: process.argv.slice(2),
    environment: process.env,
    machine: { coreCount: availableParallelism(), memoryBytes: usableMemoryBytes() },
  })
  switch (reading.kind) {
    case 'help':
      process.stdout.write(helpText())
      return
    case 'version':
      process.stdout.write(`millrace ${packageVersion()}\n`)
      return
    case 'wrong':
      process.stderr.write(`millrace: ${reading.problems.join('\nmillrace: ')}\n`)
      process.exit(2)
      return
    case 'options':
      await serve(reading.options, reading.warnings)
  }
}

async function serve(options: Options, warnings: readonly string[]): Promise<void> {
  const logger = createLogger({ level: options.logLevel })
  for (const warning of warnings) logger.warn({}, warning)
  warnOfSmallPool(logger)
  // The crash itself is left to Node: after a fault of our own the state cannot be trusted.
  process.on('uncaughtExceptionMonitor', (err) => logger.error({ err }, 'The service crashes on an unexpected error.'))
  const stop = stopSignal()
  const service = await open(options, logger)
  process.stdout.write(
    startText({ version: packageVersion(), address: service.address, adminToken: service.adminToken }),
  )
  const signal = await stop
  logger.info({ signal }, 'The service closes.')
  process.exit(await close(service, logger, options.closeTimeoutMs))
}

async function open(options: Options, logger: Logger): Promise<OpenService> {
  try {
    // Loaded only now, as `--help` has no need of an engine of half a gigabyte.
    const { openService } = await import('./service.ts')
    return await openService(options, logger)
  } catch (err) {
    logger.debug({ err }, 'The service did not start.')
    process.stderr.write(`millrace: did not start: ${err instanceof Error ? err.message : String(err)}\n`)
    process.exit(1)
  }
}

interface OpenService {
  readonly address: string
  readonly adminToken: string
  close(): Promise<void>
}

/** Closes within `timeoutMs`; gives the exit code. */
async function close(service: OpenService, logger: Logger, timeoutMs: number): Promise<number> {
  const timeout = new Promise<'late'>((resolve) => {
    setTimeout(resolve, timeoutMs, 'late')
  })
  try {
    if ((await Promise.race([service.close(), timeout])) !== 'late') return 0
    logger.error({ timeoutMs }, 'The service did not close in time and was given up.')
  } catch (err) {
    logger.error({ err }, 'The service did not close in order.')
  }
  return 1
}

/** Resolves at the first SIGTERM or SIGINT, also when it comes while the service still opens; the second one exits. */
function stopSignal(): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    let isStopping = false
    const stop = (signal: NodeJS.Signals): void => {
      if (isStopping) process.exit(1)
      isStopping = true
      resolve(signal)
    }
    process.on('SIGTERM', stop)
    process.on('SIGINT', stop)
  })
}

function warnOfSmallPool(logger: Logger): void {
  const threads = Number(process.env['UV_THREADPOOL_SIZE'] ?? 4)
  if (threads >= poolThreadsMin) return
  logger.warn(
    { threads, threadsMin: poolThreadsMin },
    'The thread pool is small, so statements, files and compression wait for each other: set UV_THREADPOOL_SIZE before the start.',
  )
}

interface StartFields {
  readonly version: string
  readonly address: string
  readonly adminToken: string
}

// The lines are for any POSIX shell: single quotes keep the backticks of the JSONPaths, printf makes the line break.
function startText({ version, address, adminToken }: StartFields): string {
  const request = `curl -H 'Authorization: Bearer ${adminToken}' '${address}`
  return `Millrace ${version} listens on ${address}
Admin token: ${adminToken}

Create a data source, send two events, query them:

${request}/v0/datasources' -d 'name=visits' --data-urlencode 'schema=ts DateTime64(3) \`json:$.ts\`, page String \`json:$.page\`, ms UInt32 \`json:$.ms\`'
${request}/v0/events?name=visits&wait=true' --data-binary "$(printf '%s\\n' '{"ts":"2026-01-01T10:00:00.120Z","page":"/","ms":31}' '{"ts":"2026-01-01T10:00:01Z","page":"/docs","ms":12}')"
${request}/v0/sql' --data-urlencode 'q=SELECT page, count() AS visits, avg(ms) AS ms FROM visits GROUP BY page ORDER BY page FORMAT JSON' -G

`
}

function packageVersion(): string {
  // The program runs as dist/src/main.js, two folders below package.json, which always has a version.
  const text = readFileSync(new URL('../../package.json', import.meta.url), 'utf8')
  return (JSON.parse(text) as { readonly version: string }).version
}

// A container's limit counts, not the machine it runs on; without one Node tells 0 or a number beyond the machine.
function usableMemoryBytes(): number {
  const limitBytes = process.constrainedMemory()
  return limitBytes > 0 ? Math.min(limitBytes, totalmem()) : totalmem()
}
