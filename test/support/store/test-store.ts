import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Logger } from '../../../src/observe/logger.ts'
import { mebibyte } from '../../../src/shared/bytes.ts'
import type { EmbeddedStoreOptions } from '../../../src/store/embedded/embedded-store.types.ts'

/** Small options for a store of a test. */
export function testStoreOptions(dataDirectory: string): EmbeddedStoreOptions {
  return {
    dataDirectory,
    insertsInFlightMax: 2,
    insertTimeMaxMs: 60_000,
    insertMemoryBytesMax: 1024 * mebibyte,
    selectsInFlightMax: 2,
    statementsInFlightMax: 2,
    waitingMax: 8,
    memoryBytesMax: 2048 * mebibyte,
    mergeThreads: 2,
    queryTimeMaxMs: 20_000,
    queryMemoryBytesMax: 512 * mebibyte,
    resultBytesMax: 100 * mebibyte,
    openResultsMax: 4,
    resultFilesBytesMax: 64 * mebibyte,
    copyPartitionsMax: 10_000,
    heldResultBytesMax: 16 * mebibyte,
    closeTimeMaxMs: 1_000,
  }
}

export interface TestDirectory {
  readonly path: string
  remove(): Promise<void>
}

/** A directory of its own under the system's temporary one. */
export async function createTestDirectory(): Promise<TestDirectory> {
  const path = await mkdtemp(join(tmpdir(), 'millrace-test-'))
  return { path, remove: () => rm(path, { recursive: true, force: true }) }
}

/** A logger that keeps nothing. */
export const silentLogger: Logger = {
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
  debug: () => undefined,
}
