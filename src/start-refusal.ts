// What a start failed with, as a refusal of the table: the modules throw their own errors, or those of the system.

import { dirname, join, resolve, sep } from 'node:path'
import { CatalogRecordError } from './catalog/record-fields.ts'
import type { Options } from './config.ts'
import { diskFaultOf } from './shared/disk-fault.ts'
import { StartRefusal, startRefusals } from './shared/errors/start-refusals.ts'
import { StorageDamagedError, StorageLayoutError } from './storage/storage-errors.ts'
import { WalCorruptError, WalFormatError } from './wal/wal-errors.ts'

type Places = Pick<Options, 'dataDir' | 'host' | 'port'>

/** The refusal that the operator is told; what is no known refusal stays as it is. */
export function toStartRefusal(thrown: unknown, { dataDir, host, port }: Places): unknown {
  if (thrown instanceof StartRefusal || !(thrown instanceof Error)) return thrown
  const { message: reason } = thrown
  const cause = thrown
  if (thrown instanceof WalCorruptError) {
    return thrown.isMissing
      ? startRefusals.LOG_MISSING({ reason, cause })
      : startRefusals.LOG_DAMAGED({ reason, cause })
  }
  if (thrown instanceof WalFormatError) return startRefusals.LOG_FORMAT_UNKNOWN({ reason, cause })
  if (thrown instanceof StorageLayoutError) return startRefusals.CATALOG_FORMAT_UNKNOWN({ reason, cause })
  if (thrown instanceof CatalogRecordError) {
    return startRefusals.CATALOG_RECORD_UNREADABLE({ path: join(dataDir, 'catalog.lmdb'), reason, cause })
  }
  if (thrown instanceof StorageDamagedError) {
    return startRefusals.CATALOG_DAMAGED({ path: join(dataDir, 'catalog.lmdb'), reason, cause })
  }
  if (isSystemError(thrown, listenCalls)) return startRefusals.ADDRESS_UNAVAILABLE({ host, port, reason, cause })
  const ownFile = ownFileOf(thrown, dataDir)
  if (ownFile !== null) return startRefusals.PROGRAM_INCOMPLETE({ path: ownFile, reason, cause })
  if (isSystemError(thrown, fileCalls)) return startRefusals.DATA_DIR_UNUSABLE({ path: dataDir, reason, cause })
  const diskFault = diskFaultOf(thrown)
  return diskFault === null ? thrown : startRefusals.DATA_DIR_UNUSABLE({ path: dataDir, reason: diskFault, cause })
}

const listenCalls: readonly string[] = ['listen', 'getaddrinfo', 'bind']
const fileCalls: readonly string[] = [
  ...['mkdir', 'open', 'read', 'write', 'fsync', 'fdatasync', 'ftruncate', 'rename', 'unlink', 'rmdir', 'rm'],
  ...['scandir', 'stat', 'lstat', 'access', 'chmod', 'statfs', 'copyfile', 'link'],
]

/** Errors of the system say which call failed. */
function isSystemError(thrown: Error, calls: readonly string[]): boolean {
  return 'syscall' in thrown && typeof thrown.syscall === 'string' && calls.includes(thrown.syscall)
}

/** The folder of the program: of what is compiled, or of the sources. */
const programFolder = dirname(import.meta.dirname)

/** The file of the program that could not be read; null where the error is of another one. The data directory may lie beside the sources. */
function ownFileOf(thrown: Error, dataDir: string): string | null {
  const path = isSystemError(thrown, fileCalls) && 'path' in thrown ? thrown.path : null
  if (typeof path !== 'string' || isIn(path, resolve(dataDir))) return null
  return isIn(path, programFolder) ? path : null
}

function isIn(path: string, folder: string): boolean {
  return path === folder || path.startsWith(`${folder}${sep}`)
}
