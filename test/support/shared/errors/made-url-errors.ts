import { errors } from '../../../../src/shared/errors/errors.ts'

const place = 'https://files.example.com/orders.csv'

/** Errors of files that are imported by their URL, each with its status and message. */
export const madeUrlErrors = {
  URL_INVALID: [errors.URL_INVALID({ reason: 'it has no host' }), 400, 'The URL cannot be used: it has no host'],
  URL_REFUSED: [
    errors.URL_REFUSED({ place, reason: 'its address is not public' }),
    400,
    'The URL https://files.example.com/orders.csv is refused: its address is not public',
  ],
  REMOTE_FILE_CHANGED: [
    errors.REMOTE_FILE_CHANGED({ place, reason: 'its ETag is another one' }),
    409,
    'The file https://files.example.com/orders.csv changed while it was imported: its ETag is another one. Import it again from a URL whose content stays the same',
  ],
  REMOTE_TOO_LARGE: [
    errors.REMOTE_TOO_LARGE({ place, bytesMax: 32 * 1024 ** 3 }),
    413,
    'The file https://files.example.com/orders.csv is larger than 32 GiB',
  ],
  REMOTE_STATUS: [
    errors.REMOTE_STATUS({ place, remoteStatus: 404 }),
    422,
    'The server answered 404 for https://files.example.com/orders.csv',
  ],
  REMOTE_UNREACHABLE: [
    errors.REMOTE_UNREACHABLE({ place, reason: 'the connection was refused' }),
    422,
    'No answer was received for https://files.example.com/orders.csv: the connection was refused',
  ],
  REMOTE_BROKEN: [
    errors.REMOTE_BROKEN({ place, reason: 'the connection was closed too early' }),
    422,
    'The file https://files.example.com/orders.csv could not be received: the connection was closed too early',
  ],
  REMOTE_TOO_SLOW: [
    errors.REMOTE_TOO_SLOW({ place, rate: 32.4, rateMin: 65_536, storedRows: 12 }),
    422,
    'The file https://files.example.com/orders.csv arrives at 32 bytes a second, below 64 KiB (--url-rate-min), and others wait; 12 rows are stored so far. Import it from a faster server',
  ],
  IMPORT_TOO_LONG: [
    errors.IMPORT_TOO_LONG({ timeMaxMs: 86_400_000, storedRows: null }),
    422,
    'The import takes longer than 86400 seconds (--url-time-max-ms); nothing was replaced. Import the rest in smaller files',
  ],
} as const
