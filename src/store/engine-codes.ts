// The one list of ClickHouse error numbers (`errorCodeToName`) that the service tells apart, and what each set stands for.

/** The errors that modules tell apart by name. */
export const clickhouseCodes = {
  notFoundColumnInBlock: 10,
  badArguments: 36,
  /** ILLEGAL_COLUMN: an argument of a function is no constant, among others. */
  illegalColumn: 44,
  unknownIdentifier: 47,
  notImplemented: 48,
  unknownTable: 60,
  syntaxError: 62,
  /** TOO_MANY_ROWS: more than a statement may read, or groups than it may make. */
  tooManyRows: 158,
  timeoutExceeded: 159,
  /** TOO_SLOW. */
  tooSlow: 160,
  /** TOO_MANY_PARTS: a block of too many partitions, or a table of too many parts. */
  tooManyParts: 252,
  memoryLimitExceeded: 241,
  queryWasCancelled: 394,
  accessDenied: 497,
  /** FUNCTION_THROW_IF_VALUE_IS_NON_ZERO: a row is there that should not be. */
  thrownIf: 395,
  /** TOO_MANY_ROWS_OR_BYTES: the result is larger than its limit. */
  resultTooLarge: 396,
} as const

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

/**
 * Errors that are not the service's own, but that no value of a row can raise either, whatever a DEFAULT or a key makes of
 * it: limits, locks, and tables that a change is being made in, which lack columns for a while. Other faults of a definition
 * are not here.
 */
export const circumstanceCodes: ReadonlySet<number> = new Set([
  10, // NOT_FOUND_COLUMN_IN_BLOCK
  16, // NO_SUCH_COLUMN_IN_TABLE
  23, // CANNOT_READ_FROM_ISTREAM
  24, // CANNOT_WRITE_TO_OSTREAM
  47, // UNKNOWN_IDENTIFIER
  60, // UNKNOWN_TABLE
  81, // UNKNOWN_DATABASE
  115, // UNKNOWN_SETTING
  158, // TOO_MANY_ROWS
  164, // READONLY
  198, // DNS_ERROR
  201, // QUOTA_EXCEEDED
  202, // TOO_MANY_SIMULTANEOUS_QUERIES
  203, // NO_FREE_CONNECTION
  209, // SOCKET_TIMEOUT
  210, // NETWORK_ERROR
  216, // QUERY_WITH_SAME_ID_IS_ALREADY_RUNNING
  218, // TABLE_IS_DROPPED
  234, // NO_REPLICA_HAS_PART
  236, // ABORTED
  241, // MEMORY_LIMIT_EXCEEDED
  242, // TABLE_IS_READ_ONLY
  252, // TOO_MANY_PARTS
  279, // ALL_CONNECTION_TRIES_FAILED
  290, // LIMIT_EXCEEDED
  302, // CHILD_WAS_NOT_EXITED_NORMALLY
  305, // TABLE_WAS_NOT_DROPPED
  307, // TOO_MANY_BYTES
  319, // UNKNOWN_STATUS_OF_INSERT
  384, // PART_IS_TEMPORARILY_LOCKED
  388, // CANNOT_ASSIGN_OPTIMIZE
  394, // QUERY_WAS_CANCELLED
  473, // DEADLOCK_AVOIDED
  478, // UNKNOWN_POLICY
  479, // UNKNOWN_DISK
  481, // PATH_ACCESS_DENIED
  497, // ACCESS_DENIED
  499, // S3_ERROR
  500, // AZURE_BLOB_STORAGE_ERROR
  504, // FILE_ALREADY_EXISTS
  548, // UNKNOWN_VOLUME
  616, // UNKNOWN_READ_METHOD
  667, // NOT_INITIALIZED
  677, // THREAD_WAS_CANCELED
  692, // TOO_MANY_MUTATIONS
  710, // FAULT_INJECTED
  712, // TOO_MANY_MATERIALIZED_VIEWS
  722, // ASYNC_LOAD_WAIT_FAILED
  724, // TOO_MANY_TABLES
  725, // TOO_MANY_DATABASES
  733, // TABLE_IS_BEING_RESTARTED
  734, // CANNOT_WRITE_AFTER_BUFFER_CANCELED
  735, // QUERY_WAS_CANCELLED_BY_CLIENT
  738, // PART_IS_LOCKED
  745, // SERVER_OVERLOADED
  757, // CANNOT_GET_THREAD_PRIORITY
  764, // DEDUPLICATION_IS_NOT_POSSIBLE
  771, // CACHE_CANNOT_WRITE_TO_CACHE_DISK
  774, // TABLE_IS_PERMANENTLY_READ_ONLY
  776, // RESOURCE_LIMIT_EXCEEDED
  777, // MEMORY_RESERVATION_KILLED
  778, // MEMORY_RESERVATION_FAILED
])

/** Bugs of the engine, damage, and what libraries throw: base, geometry and hash functions by a value, disks by themselves. */
export const unclearCodes: ReadonlySet<number> = new Set([
  40, // CHECKSUM_DOESNT_MATCH
  49, // LOGICAL_ERROR
  246, // CORRUPTED_DATA
  271, // CANNOT_DECOMPRESS
  668, // INVALID_STATE
  1000, // POCO_EXCEPTION
  1001, // STD_EXCEPTION
  1002, // UNKNOWN_EXCEPTION
])

/** Bugs of the engine and what libraries throw; damaged bytes of a Parquet file bring them about too. */
export const libraryCodes: ReadonlySet<number> = new Set([49, 1000, 1001, 1002])

/** What only the bytes of a Parquet file bring about. */
export const parquetFileCodes: ReadonlySet<number> = new Set([
  32, // ATTEMPT_TO_READ_AFTER_EOF
  33, // CANNOT_READ_ALL_DATA
  40, // CHECKSUM_DOESNT_MATCH
  48, // NOT_IMPLEMENTED
  50, // UNKNOWN_TYPE
  117, // INCORRECT_DATA
  354, // ZLIB_INFLATE_FAILED
  432, // UNKNOWN_CODEC
  636, // CANNOT_EXTRACT_TABLE_STRUCTURE
])

/**
 * What the engine reports, as its own fault or as that of a file, when a text that a query casts to an aggregate state is no
 * such state.
 */
export const stateTextCodes: ReadonlySet<number> = new Set([49, 246, 1001, 1002])

/** Errors whose messages repeat names of the query and no values, which may be made of a secret: `hex(…)`. */
export const valuelessCodes: ReadonlySet<number> = new Set([
  42, // NUMBER_OF_ARGUMENTS_DOESNT_MATCH
  46, // UNKNOWN_FUNCTION
  47, // UNKNOWN_IDENTIFIER
  60, // UNKNOWN_TABLE
  62, // SYNTAX_ERROR
  184, // ILLEGAL_AGGREGATION
  215, // NOT_AN_AGGREGATE
])

/** Errors whose messages count what was read. */
export const countingCodes: ReadonlySet<number> = new Set([
  158, // TOO_MANY_ROWS
  201, // QUOTA_EXCEEDED
  241, // MEMORY_LIMIT_EXCEEDED
  307, // TOO_MANY_BYTES
])

/** A value that is no number, time, address or element of an enum, as a placeholder for a parameter may be none. */
export const valueCodes: ReadonlySet<number> = new Set([
  6, // CANNOT_PARSE_TEXT
  26, // CANNOT_PARSE_QUOTED_STRING
  27, // CANNOT_PARSE_INPUT_ASSERTION_FAILED
  32, // ATTEMPT_TO_READ_AFTER_EOF
  36, // BAD_ARGUMENTS
  38, // CANNOT_PARSE_DATE
  41, // CANNOT_PARSE_DATETIME
  69, // ARGUMENT_OUT_OF_BOUND
  70, // CANNOT_CONVERT_TYPE
  72, // CANNOT_PARSE_NUMBER
  153, // ILLEGAL_DIVISION
  376, // CANNOT_PARSE_UUID
  441, // CANNOT_PARSE_DOMAIN_VALUE_FROM_STRING
  675, // CANNOT_PARSE_IPV4
  676, // CANNOT_PARSE_IPV6
  691, // UNKNOWN_ELEMENT_OF_ENUM
])
