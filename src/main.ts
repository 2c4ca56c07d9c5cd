// The process around the service: reads the environment, opens the service, and closes it in order on a signal. The only
// place of `process.env` and `process.exit`. Lines for people go to stdout, the log goes to stderr.
//
// Exit codes: 0 closed in order, 1 failed, 2 wrong options.

import { existsSync, readFileSync } from 'node:fs'
import { availableParallelism, totalmem } from 'node:os'
import { dirname, join } from 'node:path'
import process from 'node:process'
import { isatty } from 'node:tty'
import { environmentName, type Options } from './config.ts'
import { readOptions } from './config-reader.ts'
import { helpText } from './config-text.ts'
import { LogOutput } from './observe/log-output.ts'
import { LogSecrets } from './observe/log-secrets.ts'
import { createLogger, type Logger } from './observe/logger.ts'
import { checkOpenFiles } from './open-files.ts'
import type { Service } from './service.ts'
import { StartRefusal } from './shared/errors/start-refusals.ts'
import { startText } from './start-text.ts'

// Each statement in the engine holds a thread of libuv's pool; with Node's own 4, files and compression would starve.
const poolThreadsMin = 16

// How long the end of the process may wait for who reads its output.
const flushTimeoutMs = 1_000

// Whoever supervises the service starts it again.
const failedCode = 1

// Rows, tokens and the log's events lie in the files that are made, by the engine too: for no other user of the machine.
const privateUmask = 0o077

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
      openOutput('auto').printError(`millrace: ${reading.problems.join('\nmillrace: ')}\n`)
      process.exit(2)
      return
    case 'options':
      if (reading.options.rotateSecretKey) await rotateKey(reading.options)
      else await serve(reading.options, reading.warnings)
  }
}

async function rotateKey(options: Options): Promise<void> {
  process.umask(privateUmask)
  const output = openOutput(options.logFormat)
  const logger = createLogger({ level: options.logLevel, output })
  try {
    const { rotateSecretKey } = await import('./rotate-secret-key.ts')
    output.printOutput(await rotateSecretKey(options, logger))
  } catch (err) {
    output.printError(`millrace: ${refusalText(err)}\n`)
    process.exit(failedCode)
  }
}

async function serve(options: Options, warnings: readonly string[]): Promise<void> {
  process.umask(privateUmask)
  const output = openOutput(options.logFormat)
  const secrets = new LogSecrets()
  if (options.adminToken !== undefined) secrets.hide(options.adminToken)
  const logger = createLogger({ level: options.logLevel, output, secrets })
  for (const warning of warnings) logger.warn({}, warning)
  warnOfSmallPool(logger)
  // After a fault of our own the state cannot be trusted. Node itself would write to stderr, and wait for its reader.
  process.on('uncaughtException', (err) => {
    logger.error({ err }, 'The service crashes on an unexpected error.')
    process.exit(1)
  })
  const stop = stopSignal()
  const service = await open(options, { logger, output })
  if (service.adminToken.text !== null) secrets.hide(service.adminToken.text)
  output.printOutput(
    startText({
      version: packageVersion(),
      address: service.address,
      adminToken: service.adminToken,
      isTokenShown: options.showToken,
      lostSecretCount: service.lostSecretCount,
      tokenVariable: environmentName('adminToken'),
    }),
  )
  const cause = await Promise.race([stop, service.failed])
  if (cause instanceof Error) logger.error({ err: cause }, 'The service cannot go on and closes.')
  else logger.info({ signal: cause }, 'The service closes.')
  const code = await close(service, logger, options.closeTimeoutMs)
  process.exit(cause instanceof Error ? failedCode : code)
}

/** Everything that the process says goes through it, so that none of its readers can stop the process. */
function openOutput(format: Options['logFormat']): LogOutput {
  const isForPeople = format === 'text' || (format === 'auto' && isatty(2))
  const output = new LogOutput({ format: isForPeople ? 'text' : 'json' })
  process.on('exit', () => output.flush(flushTimeoutMs))
  return output
}

interface Voices {
  readonly logger: Logger
  readonly output: LogOutput
}

async function open(options: Options, { logger, output }: Voices): Promise<Service> {
  try {
    checkOpenFiles(logger)
    // Loaded only now, as `--help` has no need of an engine of half a gigabyte.
    const { openService } = await import('./service.ts')
    return await openService(options, logger)
  } catch (err) {
    logger.debug({ err }, 'The service did not start.')
    output.printError(`millrace: did not start: ${refusalText(err)}\n`)
    process.exit(1)
  }
}

function refusalText(err: unknown): string {
  if (err instanceof StartRefusal) return `${err.message} (${err.documentation})`
  return err instanceof Error ? err.message : String(err)
}

/** Closes within `timeoutMs`; gives the exit code. */
async function close(service: Service, logger: Logger, timeoutMs: number): Promise<number> {
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

/** That of the package whose folder the program lies in, at whatever depth. */
function packageVersion(): string {
  for (let folder = import.meta.dirname; ; folder = dirname(folder)) {
    const path = join(folder, 'package.json')
    if (!existsSync(path)) continue
    return (JSON.parse(readFileSync(path, 'utf8')) as { readonly version: string }).version
  }
}

// A container's limit counts, not the machine it runs on; without one Node tells 0 or a number beyond the machine.
function usableMemoryBytes(): number {
  const limitBytes = process.constrainedMemory()
  return limitBytes > 0 ? Math.min(limitBytes, totalmem()) : totalmem()
}
