// What a file that is imported by its URL fails with. Sorted by status.
//
// They stand in the job of an import more often than in an answer. All are of the 4xx family: asking the same again at once
// helps nobody, as the service has tried again already. No text has the query of a URL or its credentials.

import { formatBytes } from '../bytes.ts'
import { define } from './definition.ts'

export const urlErrors = {
  URL_INVALID: define({
    status: 400,
    when: 'A URL cannot be read, or is written in a way that programs read differently.',
    message: ({ reason }: { readonly reason: string }) => `The URL cannot be used: ${reason}`,
  }),
  URL_REFUSED: define({
    status: 400,
    when: 'The service must not connect to a URL: its scheme, port or address is not allowed, or it has credentials (`urlAllow`, `urlAllowHttp`, `urlCredentials`, `urlPorts`). Redirects are judged in the same way.',
    message: ({ place, reason }: RemotePlace & Reason) => `The URL ${place} is refused: ${reason}`,
  }),
  REMOTE_FILE_CHANGED: define({
    status: 409,
    when: 'A file at a URL changed while it was read, or is not provably the one that an earlier attempt has begun to read. Rows stored so far stay.',
    message: ({ place, reason }: RemotePlace & Reason) =>
      `The file ${place} changed while it was imported: ${reason}. Import it again from a URL whose content stays the same`,
  }),
  REMOTE_TOO_LARGE: define({
    status: 413,
    when: 'A file at a URL is larger than `urlBytesMax`, as it is sent.',
    limit: () => 'url_file_size',
    message: ({ place, bytesMax }: RemotePlace & { readonly bytesMax: number }) =>
      `The file ${place} is larger than ${formatBytes(bytesMax)}`,
  }),
  REMOTE_STATUS: define({
    status: 422,
    when: 'The server of a URL answers with a status that does not bring the file. After 408, 425, 429 and 5xx the service tries again, `urlAttemptsMax` times in all.',
    message: ({ place, remoteStatus }: RemotePlace & { readonly remoteStatus: number }) =>
      `The server answered ${remoteStatus} for ${place}`,
    hint: ({ remoteStatus }) => statusHint(remoteStatus),
  }),
  REMOTE_UNREACHABLE: define({
    status: 422,
    when: 'The server of a URL cannot be reached, or does not answer in time (`urlConnectTimeoutMs`, `urlHeadersTimeoutMs`). The service tries again, `urlAttemptsMax` times in all, unless the host does not exist or its certificate is not valid.',
    message: ({ place, reason }: RemotePlace & Reason) => `No answer was received for ${place}: ${reason}`,
  }),
  REMOTE_BROKEN: define({
    status: 422,
    when: 'The server of a URL does not send the file as it says: the connection ends or stalls again and again, lengths or ranges are wrong, or redirects do not end.',
    message: ({ place, reason }: RemotePlace & Reason) => `The file ${place} could not be received: ${reason}`,
  }),
  REMOTE_TOO_SLOW: define({
    status: 422,
    when: 'The server of a URL sends fewer bytes a second than `urlRateMin` while other imports wait for the place of this one, for `urlIdleTimeoutMs`. The counted rows are stored.',
    message: ({ place, rate, rateMin, storedRows }: RemotePlace & SlowFile & Stored) =>
      `The file ${place} arrives at ${formatBytes(Math.round(rate))} a second, below ${formatBytes(rateMin)} (--url-rate-min), and others wait; ${storedWords(storedRows)}. Import it from a faster server`,
  }),
  IMPORT_TOO_LONG: define({
    status: 422,
    when: 'An import by URL takes longer than `urlTimeMaxMs`. The counted rows are stored.',
    limit: () => 'url_import_time',
    message: ({ timeMaxMs, storedRows }: Stored & { readonly timeMaxMs: number }) =>
      `The import takes longer than ${timeMaxMs / 1000} seconds (--url-time-max-ms); ${storedWords(storedRows)}. Import the rest in smaller files`,
  }),
}

interface SlowFile {
  /** Bytes a second. */
  readonly rate: number
  readonly rateMin: number
}

interface Stored {
  /** Null for a replace. */
  readonly storedRows: number | null
}

function storedWords(storedRows: number | null): string {
  return storedRows === null ? 'nothing was replaced' : `${storedRows} rows are stored so far`
}

interface RemotePlace {
  /** Scheme, host and path of a URL, and nothing else of it. */
  readonly place: string
}

interface Reason {
  readonly reason: string
}

function statusHint(remoteStatus: number): string | undefined {
  if (remoteStatus === 401 || remoteStatus === 403) {
    return 'Use a URL that needs no login, such as a presigned one, and check that it has not expired.'
  }
  if (remoteStatus === 404 || remoteStatus === 410) return 'Check the path of the URL.'
  return undefined
}
