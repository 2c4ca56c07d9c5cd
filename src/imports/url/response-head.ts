// What the headers of an answer say of a file, and what of it they contradict.

import { errors } from '../../shared/errors/errors.ts'
import { brokenFault, RemoteFault } from './remote-fault.ts'
import type { FileIdentity, RemoteFile } from './remote-file.types.ts'
import type { ByteRange, RemoteResponse } from './remote-requests.ts'
import { decodedText, urlPlace } from './url-place.ts'

export interface ResponseHead {
  readonly identity: FileIdentity
  readonly contentEncoding: RemoteFile['contentEncoding']
  /** Where in the file the body begins. */
  readonly offset: number
  /** Of the body; null where only its end tells. */
  readonly bodyBytes: number | null
  /** Whether the end of a body can be told from a connection that is cut. */
  readonly isFramed: boolean
}

const headerCharsMax = 1_024

/**
 * Reads the headers of an answer that brings bytes.
 *
 * @throws RemoteFault for every other status, and for an answer that is not about the range that was asked for.
 */
export function readHead(response: RemoteResponse, asked: ByteRange | null, nowMs: number): ResponseHead {
  const { headers, status, url } = response
  const place = urlPlace(url)
  const range = asked !== null && status === 206 ? readContentRange(response, asked) : null
  if (range === null && status !== 200) throw statusFault(response, nowMs)
  const contentLength = readLength(headerOf(headers, 'content-length'))
  if (range !== null && contentLength !== null && contentLength !== range.byteCount) {
    throw brokenFault(place, 'Content-Length and Content-Range of the answer contradict each other', {
      isRetryable: true,
    })
  }
  return {
    identity: {
      etag: headerOf(headers, 'etag'),
      lastModified: headerOf(headers, 'last-modified'),
      byteCount: range === null ? contentLength : range.totalBytes,
    },
    contentEncoding: readEncoding(headerOf(headers, 'content-encoding')),
    offset: range?.start ?? 0,
    bodyBytes: range?.byteCount ?? contentLength,
    isFramed: contentLength !== null || /\bchunked\b/i.test(headerOf(headers, 'transfer-encoding') ?? ''),
  }
}

/** Media type and name of the file, which are hints. */
export function readHints({
  headers,
}: RemoteResponse): Pick<RemoteFile, 'mediaType'> & { readonly name: string | null } {
  const mediaType = headerOf(headers, 'content-type')?.split(';')[0]?.trim().toLowerCase()
  return {
    mediaType: mediaType === '' ? undefined : mediaType,
    name: dispositionName(headerOf(headers, 'content-disposition')),
  }
}

interface ContentRange {
  readonly start: number
  readonly byteCount: number
  readonly totalBytes: number
}

function readContentRange({ headers, url }: RemoteResponse, asked: ByteRange): ContentRange {
  const broken = (reason: string): RemoteFault => brokenFault(urlPlace(url), reason, { isRetryable: true })
  const text = headerOf(headers, 'content-range')
  if (text === null) throw broken('the answer to a request for a range does not say which one it is')
  const numbers = /^bytes (\d{1,15})-(\d{1,15})\/(\d{1,15})$/i.exec(text)?.slice(1).map(Number)
  const [start = 0, end = 0, totalBytes = 0] = numbers ?? []
  const endMax = Math.min(asked.end ?? totalBytes - 1, totalBytes - 1)
  if (numbers === undefined || start !== asked.start || end < start || end > endMax) {
    throw broken('the answer has another range than the one that was requested')
  }
  return { start, byteCount: end - start + 1, totalBytes }
}

/** Statuses that another request may not get: the server is busy, or something before it is. */
const passingStatuses: ReadonlySet<number> = new Set([408, 425, 429])
const throttlingStatuses: ReadonlySet<number> = new Set([429, 503])

function statusFault({ headers, status, url }: RemoteResponse, nowMs: number): RemoteFault {
  return new RemoteFault(errors.REMOTE_STATUS({ place: urlPlace(url), remoteStatus: status }), {
    isRetryable: status >= 500 || passingStatuses.has(status),
    retryAfterMs: readRetryAfter(headerOf(headers, 'retry-after'), nowMs),
    isThrottled: throttlingStatuses.has(status),
  })
}

/** Seconds, or a date. */
function readRetryAfter(text: string | null, nowMs: number): number | undefined {
  if (text === null) return undefined
  if (/^\d{1,9}$/.test(text)) return Number(text) * 1_000
  const dateMs = Date.parse(text)
  return Number.isNaN(dateMs) ? undefined : Math.max(0, dateMs - nowMs)
}

function readEncoding(text: string | null): RemoteFile['contentEncoding'] {
  // S3 keeps the encoding of an upload in the header, where it says nothing about the file.
  const encodings = (text ?? '')
    .toLowerCase()
    .split(',')
    .map((encoding) => encoding.trim())
    .filter((encoding) => !['', 'identity', 'aws-chunked'].includes(encoding))
  const [encoding] = encodings
  if (encoding === undefined) return undefined
  if (encodings.length === 1 && (encoding === 'gzip' || encoding === 'x-gzip')) return 'gzip'
  if (encodings.length === 1 && encoding === 'zstd') return 'zstd'
  const unsupported = errors.ENCODING_UNSUPPORTED({
    encoding: encodings.join(', ').slice(0, 100),
    supported: ['gzip', 'zstd'],
  })
  throw new RemoteFault(unsupported, { isRetryable: false })
}

function readLength(text: string | null): number | null {
  return text !== null && /^\d{1,15}$/.test(text) ? Number(text) : null
}

function dispositionName(text: string | null): string | null {
  if (text === null) return null
  const [, extended] = /;\s*filename\*\s*=\s*utf-8'[^']*'([^;\s]+)/i.exec(text) ?? []
  if (extended !== undefined) return decodedText(extended)
  const [, quoted, plain] = /;\s*filename\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^;\s"]+))/i.exec(text) ?? []
  return quoted?.replaceAll(/\\(.)/g, '$1') ?? plain ?? null
}

function headerOf(headers: RemoteResponse['headers'], name: string): string | null {
  const value = headers[name]
  const [text] = typeof value === 'string' ? [value] : (value ?? [])
  return text === undefined || text.length > headerCharsMax ? null : text.trim()
}
