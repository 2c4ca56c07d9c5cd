/** The directory at the end of a zip archive. See APPNOTE.TXT 4.3.12 and 4.3.16. */
import { type ApiError, errors } from '../../shared/errors/errors.ts'
import { signatures } from './zip-headers.ts'

/** The directory of a thousand members, with long names and comments. */
export const directoryBytesMax = 2 * 1024 * 1024

const endBytes = 22
const entryBytes = 46

/**
 * Refuses an archive by its last bytes: one without a directory, and one of several files. What a directory does not tell,
 * or tells wrongly, is found when the members are read.
 *
 * @throws ARCHIVE_UNSUPPORTED, BODY_CORRUPT (400).
 */
export function checkDirectory(tail: Buffer): void {
  const end = endOfDirectory(tail)
  const files = namesIn(tail, end).filter((name) => !isBesideFile(name))
  const [first, second] = files
  if (first !== undefined && second !== undefined) throw severalFiles(first, second)
}

/** Where the record that ends the directory begins; @throws BODY_CORRUPT (400) where there is none. */
export function endOfDirectory(tail: Buffer): number {
  const end = tail.lastIndexOf('PK\u0005\u0006')
  if (end >= 0 && tail.length >= end + endBytes) return end
  throw errors.BODY_CORRUPT({ format: 'zip archive', reason: 'it ends before its directory does' })
}

function namesIn(tail: Buffer, end: number): readonly string[] {
  const names: string[] = []
  let at = end - tail.readUInt32LE(end + 12)
  while (at >= 0 && at + entryBytes <= end && tail.readUInt32LE(at) === signatures.directory) {
    const [nameBytes, extraBytes, commentBytes] = [28, 30, 32].map((offset) => tail.readUInt16LE(at + offset))
    const nameEnd = at + entryBytes + (nameBytes ?? 0)
    names.push(tail.toString('utf8', at + entryBytes, nameEnd))
    at = nameEnd + (extraBytes ?? 0) + (commentBytes ?? 0)
  }
  return names
}

/** Folders, and the files in which macOS keeps what its file system knows of a file. */
export function isBesideFile(name: string): boolean {
  return name.endsWith('/') || name.startsWith('__MACOSX/') || /(?:^|\/)\.DS_Store$/.test(name)
}

export function severalFiles(first: string, second: string): ApiError {
  return errors.ARCHIVE_UNSUPPORTED({
    reason: `it has more than one file, "${first}" and "${second}"; send each by itself`,
  })
}
