// What the operating system says when it takes no more: told apart from faults of our own, in words for callers.

/** Who is told that the disk refused something: the state is logged once, and readiness follows it. */
export interface DiskReports {
  /** @param reason of `diskFaultOf`. */
  report(reason: string, cause: unknown): void
  /** The disk is taken for well only when `isWell` says so too. */
  alsoAsk(isWell: () => boolean): void
}

/** For modules that are opened alone: nobody listens. */
export const noDiskReports: DiskReports = { report: () => undefined, alsoAsk: () => undefined }

const reasons: Readonly<Record<string, string>> = {
  ENOSPC: 'the disk is full',
  EDQUOT: 'the disk quota is used up',
  EROFS: 'the file system is read-only',
  EIO: 'the disk cannot be read or written',
  EFBIG: 'a file has reached the size that the system allows',
  EMFILE: 'the process has too many open files',
  ENFILE: 'the system has too many open files',
}

/** What `diskFaultOf` gives for a disk without room. */
export const fullDiskReason = 'the disk is full'

/**
 * Free bytes of the disk below which no definition of a table is made or changed, and a disk that was full is full still:
 * what the engine writes then in several small files would come to an end in their middle.
 */
export const roomyBytesMin = 4 * 1024 * 1024

// As Linux numbers them; lmdb gives these.
const names: Readonly<Record<number, string>> = {
  5: 'EIO',
  23: 'ENFILE',
  24: 'EMFILE',
  27: 'EFBIG',
  28: 'ENOSPC',
  30: 'EROFS',
  122: 'EDQUOT',
}

const causesMax = 8

/**
 * Why the disk refused, as a clause ("the disk is full"), when that is what an error or one of its causes says; else null.
 * The store's errors carry the reason as `diskFault`.
 */
export function diskFaultOf(thrown: unknown): string | null {
  let error = thrown
  for (let depth = 0; depth < causesMax && error instanceof Error; depth += 1) {
    if ('diskFault' in error && typeof error.diskFault === 'string') return error.diskFault
    // What comes back from a worker has lost its fields; Node begins the message with the name. Numbers are passed over:
    // libraries that unpack number their own errors from 0 on.
    const code = 'code' in error && typeof error.code === 'string' ? error.code : undefined
    const reason = reasonOf(code ?? /^E[A-Z]+(?=: )/.exec(error.message)?.[0])
    if (reason !== null) return reason
    error = error.cause
  }
  return null
}

/** The reason for a name or a number of an error of the system; null for what is no fault of the disk. */
export function reasonOf(code: unknown): string | null {
  const name = typeof code === 'number' ? names[code] : code
  return typeof name === 'string' && Object.hasOwn(reasons, name) ? (reasons[name] ?? null) : null
}

const wordings: readonly (readonly [RegExp, string])[] = [
  [/No space left on device|errno: 28\b|NOT_ENOUGH_SPACE|Not enough space/, 'ENOSPC'],
  [/Disk quota exceeded|errno: 122\b/, 'EDQUOT'],
  [/Read-only file system|errno: 30\b/, 'EROFS'],
  [/Too many open files in system|errno: 23\b/, 'ENFILE'],
  [/Too many open files|errno: 24\b/, 'EMFILE'],
  [/File too large|errno: 27\b/, 'EFBIG'],
  [/Input\/output error|errno: 5\b/, 'EIO'],
]

/** The reason that stands in a message of a library that gives no codes; null when none does. */
export function diskFaultIn(message: string): string | null {
  const found = wordings.find(([wording]) => wording.test(message))
  return found === undefined ? null : reasonOf(found[1])
}
