import type { FileIdentity } from './remote-file.types.ts'

export type IdentityVerdict =
  | 'same'
  | 'other'
  /** Nothing contradicts it, but the server says too little to prove it. */
  | 'unclear'

/**
 * Whether two answers are about the same state of a file: the same strong ETag proves it, else the same time and length do. An
 * ETag that is weak promises only that the content means the same.
 */
export function compareIdentities(one: FileIdentity, other: FileIdentity): IdentityVerdict {
  if (differ(one.byteCount, other.byteCount)) return 'other'
  const isSameTag = one.etag !== null && one.etag === other.etag
  if (isSameTag && isStrong(one.etag)) return 'same'
  if (differ(one.etag, other.etag) || differ(one.lastModified, other.lastModified)) return 'other'
  const isSameTime = one.lastModified !== null && one.lastModified === other.lastModified
  return isSameTime && one.byteCount !== null && one.byteCount === other.byteCount ? 'same' : 'unclear'
}

/** Whether another answer about the file can be known to be about the same state of it. */
export function isProvable(identity: FileIdentity): boolean {
  return compareIdentities(identity, identity) === 'same'
}

/** See RFC 9110 §8.8.3. */
export function isStrong(etag: string | null): boolean {
  return etag !== null && !etag.startsWith('W/')
}

function differ<Value>(one: Value | null, other: Value | null): boolean {
  return one !== null && other !== null && one !== other
}
