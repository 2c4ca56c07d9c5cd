import { isOfStoredData, isOfSystem } from '../../store/service-faults.ts'
import { isFaultOfEngine, isOfView, isTooCostly, StoreError } from '../../store/store-error.ts'

/**
 * Why a block was not stored.
 *
 * - `view`: a materialized view behind the table failed; the table itself may have the rows already.
 * - `costly`: the INSERT took more time or memory than it may: fewer rows may pass.
 * - `rows`: the table refuses the block for what is in it: some row of it is poison.
 * - `unclear`: an error that one row can bring about, and the engine by itself as well: that is found out by trying.
 * - `engine`: of which time or people may get the better: memory, disk, a missing table.
 * - `closed`: the store closes.
 *
 * What an expression of the definition brings about for every row is `rows` too: neither time nor anybody can change a
 * definition while its rows wait, and from the quarantine they can be replayed under a better one.
 */
export type InsertFailureKind = 'closed' | 'costly' | 'engine' | 'rows' | 'unclear' | 'view'

/**
 * Of all codes of the engine those that no value of a row can raise, whatever a DEFAULT or a key makes of it. Tables that an
 * alter is being made in lack columns for a while: those are here, other faults of a definition are not.
 */
export const engineCodes: ReadonlySet<number> = new Set([
  10, // NOT_FOUND_COLUMN_IN_BLOCK
  16, // NO_SUCH_COLUMN_IN_TABLE
  23, // CANNOT_READ_FROM_ISTREAM
  24, // CANNOT_WRITE_TO_OSTREAM
  47, // UNKNOWN_IDENTIFIER
  60, // UNKNOWN_TABLE
  74, // CANNOT_READ_FROM_FILE_DESCRIPTOR
  75, // CANNOT_WRITE_TO_FILE_DESCRIPTOR
  76, // CANNOT_OPEN_FILE
  77, // CANNOT_CLOSE_FILE
  81, // UNKNOWN_DATABASE
  83, // DIRECTORY_DOESNT_EXIST
  87, // CANNOT_SEEK_THROUGH_FILE
  88, // CANNOT_TRUNCATE_FILE
  91, // SIZES_OF_MARKS_FILES_ARE_INCONSISTENT
  95, // CANNOT_READ_FROM_SOCKET
  96, // CANNOT_WRITE_TO_SOCKET
  107, // FILE_DOESNT_EXIST
  109, // CANNOT_BLOCK_SIGNAL
  110, // CANNOT_UNBLOCK_SIGNAL
  111, // CANNOT_MANIPULATE_SIGSET
  112, // CANNOT_WAIT_FOR_SIGNAL
  114, // CANNOT_CLOCK_GETTIME
  115, // UNKNOWN_SETTING
  158, // TOO_MANY_ROWS
  164, // READONLY
  172, // CANNOT_CREATE_DIRECTORY
  173, // CANNOT_ALLOCATE_MEMORY
  198, // DNS_ERROR
  201, // QUOTA_EXCEEDED
  202, // TOO_MANY_SIMULTANEOUS_QUERIES
  203, // NO_FREE_CONNECTION
  204, // CANNOT_FSYNC
  209, // SOCKET_TIMEOUT
  210, // NETWORK_ERROR
  214, // CANNOT_STATVFS
  216, // QUERY_WITH_SAME_ID_IS_ALREADY_RUNNING
  218, // TABLE_IS_DROPPED
  226, // NO_FILE_IN_DATA_PART
  227, // UNEXPECTED_FILE_IN_DATA_PART
  228, // BAD_SIZE_OF_FILE_IN_DATA_PART
  230, // NOT_FOUND_EXPECTED_DATA_PART
  231, // TOO_MANY_UNEXPECTED_DATA_PARTS
  232, // NO_SUCH_DATA_PART
  234, // NO_REPLICA_HAS_PART
  235, // DUPLICATE_DATA_PART
  236, // ABORTED
  239, // CANNOT_MUNMAP
  240, // CANNOT_MREMAP
  241, // MEMORY_LIMIT_EXCEEDED
  242, // TABLE_IS_READ_ONLY
  243, // NOT_ENOUGH_SPACE
  252, // TOO_MANY_PARTS
  272, // CANNOT_IO_SUBMIT
  273, // CANNOT_IO_GETEVENTS
  274, // AIO_READ_ERROR
  275, // AIO_WRITE_ERROR
  279, // ALL_CONNECTION_TRIES_FAILED
  290, // LIMIT_EXCEEDED
  294, // CANNOT_WRITE_TO_FILE
  298, // CANNOT_PIPE
  299, // CANNOT_FORK
  301, // CANNOT_CREATE_CHILD_PROCESS
  302, // CHILD_WAS_NOT_EXITED_NORMALLY
  303, // CANNOT_SELECT
  304, // CANNOT_WAITPID
  305, // TABLE_WAS_NOT_DROPPED
  307, // TOO_MANY_BYTES
  319, // UNKNOWN_STATUS_OF_INSERT
  363, // CANNOT_CREATE_IO_BUFFER
  375, // CANNOT_DLOPEN
  384, // PART_IS_TEMPORARILY_LOCKED
  388, // CANNOT_ASSIGN_OPTIMIZE
  394, // QUERY_WAS_CANCELLED
  400, // CANNOT_STAT
  402, // CANNOT_IOSETUP
  411, // PTHREAD_ERROR
  412, // NETLINK_ERROR
  413, // CANNOT_SET_SIGNAL_HANDLER
  423, // CANNOT_GETTIMEOFDAY
  424, // CANNOT_LINK
  425, // SYSTEM_ERROR
  439, // CANNOT_SCHEDULE_TASK
  445, // CANNOT_MPROTECT
  458, // CANNOT_UNLINK
  459, // CANNOT_SET_THREAD_PRIORITY
  460, // CANNOT_CREATE_TIMER
  461, // CANNOT_SET_TIMER_PERIOD
  463, // CANNOT_FCNTL
  468, // CANNOT_PTHREAD_ATTR
  473, // DEADLOCK_AVOIDED
  478, // UNKNOWN_POLICY
  479, // UNKNOWN_DISK
  481, // PATH_ACCESS_DENIED
  497, // ACCESS_DENIED
  499, // S3_ERROR
  500, // AZURE_BLOB_STORAGE_ERROR
  502, // CANNOT_SIGQUEUE
  504, // FILE_ALREADY_EXISTS
  521, // ATOMIC_RENAME_FAIL
  531, // CANNOT_FSTAT
  548, // UNKNOWN_VOLUME
  566, // CANNOT_RMDIR
  567, // DUPLICATED_PART_UUIDS
  573, // EPOLL_ERROR
  586, // CANNOT_CREATE_FILE
  590, // CANNOT_SYSCONF
  615, // CANNOT_ADVISE
  616, // UNKNOWN_READ_METHOD
  625, // IO_SETUP_ERROR
  635, // CANNOT_POLL
  641, // CANNOT_APPEND_TO_FILE
  661, // CANNOT_SEND_SIGNAL
  662, // FS_METADATA_ERROR
  667, // NOT_INITIALIZED
  677, // THREAD_WAS_CANCELED
  678, // IO_URING_INIT_FAILED
  679, // IO_URING_SUBMIT_ERROR
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
  740, // POTENTIALLY_BROKEN_DATA_PART
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

export function insertFailureKind(thrown: unknown): InsertFailureKind {
  if (!(thrown instanceof StoreError)) return 'engine'
  const { kind, clickhouseCode: code } = thrown
  if (kind === 'closed') return 'closed'
  if (kind !== 'engine' || code === undefined) return 'engine'
  if (isOfView(thrown)) return 'view'
  if (isTooCostly(thrown)) return 'costly'
  if (thrown.diskFault !== null || engineCodes.has(code)) return 'engine'
  if (isOfSystem(thrown) || isOfStoredData(thrown.message)) return 'engine'
  if (unclearCodes.has(code)) return 'unclear'
  return isFaultOfEngine(thrown) ? 'engine' : 'rows'
}

/** Whether it is worth while to look for rows that are refused. */
export function mayBeOfRows(thrown: unknown): boolean {
  const kind = insertFailureKind(thrown)
  return kind === 'rows' || kind === 'unclear'
}
