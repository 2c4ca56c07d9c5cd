import type { Test } from 'tap'
import type { RemoteFileDeps, RemoteFileOptions, RemoteFiles } from '../../../src/imports/url/remote-file.types.ts'
import { openRemoteFiles } from '../../../src/imports/url/remote-files.ts'
import { createLogger } from '../../../src/observe/logger.ts'

const options: RemoteFileOptions = {
  allow: '127.0.0.1',
  allowHttp: true,
  allowCredentials: false,
  ports: '80,443,8080,8443,9000',
  connectTimeoutMs: 5_000,
  headersTimeoutMs: 5_000,
  idleTimeoutMs: 5_000,
  bytesMax: 1024 ** 3,
  headerBytesMax: 16 * 1024,
  redirectsMax: 5,
  attemptsMax: 8,
  retryDelayMaxMs: 30_000,
  connectionsMax: 4,
  pieceBytes: 64 * 1024,
}

export interface TestRemoteFiles extends RemoteFiles {
  /** Pauses before requests that were repeated. */
  readonly delaysMs: readonly number[]
  /** Lines of the log. */
  readonly lines: readonly string[]
}

/** Files by URL whose pauses are only noted; only 127.0.0.1 is allowed beside what is public. */
export function openTestRemoteFiles(
  t: Test,
  changed: Partial<RemoteFileOptions> = {},
  deps: Partial<RemoteFileDeps> = {},
): TestRemoteFiles {
  const delaysMs: number[] = []
  const lines: string[] = []
  const logger = createLogger({ level: 'debug', output: { write: (line: string) => lines.push(line) } })
  const delay = async (timeMs: number): Promise<void> => {
    delaysMs.push(timeMs)
  }
  const files = openRemoteFiles({ ...options, ...changed }, { logger, delay, random: () => 0.5, ...deps })
  t.teardown(() => files.close())
  return {
    check: (url) => files.check(url),
    open: (url, context) => files.open(url, context),
    close: () => files.close(),
    delaysMs,
    lines,
  }
}

export const noSignal = new AbortController().signal
