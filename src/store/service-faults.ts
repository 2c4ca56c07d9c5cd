// Which failures are the service's own, of all that the engine names (`errorCodeToName`): no caller can bring them about.

/** What a failure tells of itself. */
export interface Failed {
  readonly clickhouseCode: number | undefined
  readonly message?: string
}

/** The engine itself, calls of the system, and files; not what a caller's own text or file may be wrong in. */
export const serviceFaultCodes: ReadonlySet<number> = new Set([
  49, // LOGICAL_ERROR
  // Reading and writing files and sockets.
  ...[74, 75, 76, 77], // CANNOT_READ_FROM_FILE_DESCRIPTOR, CANNOT_WRITE_TO_…, CANNOT_OPEN_FILE, CANNOT_CLOSE_FILE
  ...[83, 84], // DIRECTORY_DOESNT_EXIST, DIRECTORY_ALREADY_EXISTS
  ...[87, 88], // CANNOT_SEEK_THROUGH_FILE, CANNOT_TRUNCATE_FILE
  ...[95, 96], // CANNOT_READ_FROM_SOCKET, CANNOT_WRITE_TO_SOCKET
  107, // FILE_DOESNT_EXIST
  ...[172, 204, 214], // CANNOT_CREATE_DIRECTORY, CANNOT_FSYNC, CANNOT_STATVFS
  243, // NOT_ENOUGH_SPACE
  ...[272, 273, 274, 275], // CANNOT_IO_SUBMIT, CANNOT_IO_GETEVENTS, AIO_READ_ERROR, AIO_WRITE_ERROR
  ...[294, 363, 400, 402], // CANNOT_WRITE_TO_FILE, CANNOT_CREATE_IO_BUFFER, CANNOT_STAT, CANNOT_IOSETUP
  ...[424, 458, 463], // CANNOT_LINK, CANNOT_UNLINK, CANNOT_FCNTL
  ...[521, 531, 566, 586], // ATOMIC_RENAME_FAIL, CANNOT_FSTAT, CANNOT_RMDIR, CANNOT_CREATE_FILE
  ...[615, 625, 631, 641], // CANNOT_ADVISE, IO_SETUP_ERROR, UNKNOWN_FILE_SIZE, CANNOT_APPEND_TO_FILE
  ...[662, 678, 679], // FS_METADATA_ERROR, IO_URING_INIT_FAILED, IO_URING_SUBMIT_ERROR
  // Memory, threads, signals, timers and descriptors.
  ...[109, 110, 111, 112], // CANNOT_BLOCK_SIGNAL, CANNOT_UNBLOCK_SIGNAL, CANNOT_MANIPULATE_SIGSET, CANNOT_WAIT_FOR_SIGNAL
  ...[114, 173, 239, 240], // CANNOT_CLOCK_GETTIME, CANNOT_ALLOCATE_MEMORY, CANNOT_MUNMAP, CANNOT_MREMAP
  ...[298, 299, 300, 301], // CANNOT_PIPE, CANNOT_FORK, CANNOT_DLSYM, CANNOT_CREATE_CHILD_PROCESS
  ...[303, 304, 375, 380], // CANNOT_SELECT, CANNOT_WAITPID, CANNOT_DLOPEN, CANNOT_KILL
  ...[411, 412, 413], // PTHREAD_ERROR, NETLINK_ERROR, CANNOT_SET_SIGNAL_HANDLER
  ...[423, 425, 439, 445], // CANNOT_GETTIMEOFDAY, SYSTEM_ERROR, CANNOT_SCHEDULE_TASK, CANNOT_MPROTECT
  ...[459, 460, 461, 468], // CANNOT_SET_THREAD_PRIORITY, CANNOT_CREATE_TIMER, CANNOT_SET_TIMER_PERIOD, CANNOT_PTHREAD_ATTR
  ...[502, 573, 590, 635, 661], // CANNOT_SIGQUEUE, EPOLL_ERROR, CANNOT_SYSCONF, CANNOT_POLL, CANNOT_SEND_SIGNAL
  // Parts of tables, and what stands beside them.
  ...[91, 226, 227, 228], // SIZES_OF_MARKS_FILES_ARE_INCONSISTENT, NO_FILE_IN_…, UNEXPECTED_FILE_IN_…, BAD_SIZE_OF_FILE_IN_DATA_PART
  ...[230, 231, 232, 233, 235], // NOT_FOUND_EXPECTED_DATA_PART, TOO_MANY_UNEXPECTED_…, NO_SUCH_…, BAD_DATA_PART_NAME, DUPLICATE_…
  ...[238, 246, 451], // FORMAT_VERSION_TOO_OLD, CORRUPTED_DATA, BAD_TTL_FILE
  ...[513, 567, 579, 713, 740, 741], // UNKNOWN_PART_TYPE, DUPLICATED_PART_UUIDS, INCORRECT_PART_TYPE, BROKEN_PROJECTION, POTENTIALLY_BROKEN_DATA_PART, TABLE_UUID_MISMATCH
  ...[1001, 1002], // STD_EXCEPTION, UNKNOWN_EXCEPTION
])

const thrownByCaller = 395

/** Whether the engine tells an error of the system, as it does at the very end, behind whatever else the message quotes. */
export function isOfSystem({ clickhouseCode, message = '' }: Failed): boolean {
  if (clickhouseCode === thrownByCaller) return false
  return /, errno: \d+, strerror: [\w ,/-]+\.?(?:\s*\([A-Z][A-Z0-9_]+\)\.?| \(version [^()]*\))*\s*$/.test(message)
}

/**
 * Whether what the engine could not read is a part of a table. The same codes (40, 33, 32, 117) tell of states and files that a
 * caller has written; then a function, or a format, stands in the message, and no part.
 */
export function isOfStoredData(message: string): boolean {
  if (
    /^(?:Query failed: )?(?:Code: \d+\. DB::\w+: )*Checksum doesn't match: corrupted data\. Reference: /.test(message)
  )
    return true
  return / \(while reading from part .* in table /s.test(message) && !/while executing 'FUNCTION /.test(message)
}

/** What the engine says of a bug of its own and of libraries, which damaged bytes bring about too. */
const libraryCodes: ReadonlySet<number> = new Set([49, 1000, 1001, 1002])
const cancelled = 394

/**
 * Whether the engine failed while it decoded a column of a Parquet file, or its metadata: it names the stage of reading and the
 * column then, whichever library it was that found the bytes wrong. Errors of the system, and a library's of memory, are not
 * the file's.
 */
export function isOfParquetPages({ clickhouseCode, message = '' }: Failed): boolean {
  if (clickhouseCode === undefined || clickhouseCode === thrownByCaller || clickhouseCode === cancelled) return false
  if (serviceFaultCodes.has(clickhouseCode) && !libraryCodes.has(clickhouseCode)) return false
  if (isOfSystem({ clickhouseCode, message }) || isOfStoredData(message)) return false
  if (libraryCodes.has(clickhouseCode) && /^std::|bad_alloc|filesystem_error|system_error/.test(message)) return false
  return / read stage: (?:ColumnData|ColumnIndexAndOffsetIndex|OffsetIndex|BloomFilter\w*|MainData|PrewhereData)\b/.test(
    message,
  )
    ? /: While executing Parquet/.test(message)
    : /^(?:apache::thrift|parquet)::.*: While executing Parquet/s.test(message)
}
