// The one table of what stops a start. Each message says what is wrong, where, and which option or step helps; each code
// has its section in docs/recovery.md, which a test holds to this table.

/** Why the service did not start, in words for the operator. */
export class StartRefusal extends Error {
  override readonly name = 'StartRefusal'
  readonly code: StartRefusalCode
  /** Where the steps are. */
  readonly documentation: string

  constructor(code: StartRefusalCode, message: string, cause: unknown) {
    super(message, cause === undefined ? {} : { cause })
    this.code = code
    this.documentation = `docs/recovery.md#${code.toLowerCase()}`
  }
}

interface Place {
  readonly path: string
}

interface Reason {
  readonly reason: string
}

interface Address {
  readonly host: string
  readonly port: number
}

interface OpenFiles {
  readonly limit: number
  readonly min: number
  readonly advised: number
}

const messages = {
  DATA_DIR_IN_USE: ({ path }: Place) =>
    `the data directory ${path} is in use by another process; stop that one, or choose another directory with --data-dir`,
  DATA_DIR_UNUSABLE: ({ path, reason }: Place & Reason) =>
    `the data directory ${path} cannot be used: ${reason}; make room, let this user write there, or choose another directory with --data-dir`,
  DATA_DIR_PATH_UNSUPPORTED: ({ path, character }: Place & { readonly character: string }) =>
    `the path of the data directory, ${path}, must not contain the character ${character}; rename the directory, or choose another with --data-dir`,
  PROGRAM_INCOMPLETE: ({ path, reason }: Place & Reason) =>
    `the program's own file ${path} cannot be read: ${reason}; install the package again, or build it again with npm run build`,
  OPEN_FILES_TOO_FEW: ({ limit, min, advised }: OpenFiles) =>
    `the system lets this process open ${limit} files, and at least ${min} are needed; raise the limit before the start, if possible to ${advised} or more (ulimit -n ${advised})`,
  FORMAT_NEWER: ({ path, format, formatMax }: Place & { readonly format: number; readonly formatMax: number }) =>
    `the data directory ${path} has format ${format}, and this release reads formats up to ${formatMax}; start the newer release that wrote it, or restore the data directory from a backup`,
  FORMAT_UNREADABLE: ({ path, reason }: Place & Reason) =>
    `${path} does not say which format the data directory has: ${reason}; put back the line that stood there`,
  SECRET_KEY_MISSING: ({ path }: Place) =>
    `the secret key file ${path} of --secret-key-file does not exist; put the key there, or make a first one: (umask 077; openssl rand -base64 32 > ${path})`,
  SECRET_KEY_UNUSABLE: ({ path, reason }: Place & Reason) => `the secret key file ${path} cannot be used: ${reason}`,
  ROTATION_REFUSED: ({ path, reason }: Place & Reason) =>
    `the secret key ${path} cannot be rotated: ${reason}; no secret was lost, and the command can be repeated`,
  ENGINE_NOT_OPENED: ({ path }: Place) =>
    `the engine cannot open ${path}; its own message above says which file is wrong`,
  ADDRESS_UNAVAILABLE: ({ host, port, reason }: Address & Reason) =>
    `${host}:${port} cannot be listened on: ${reason}; choose another address with --host and --port`,
  URL_ALLOW_INVALID: ({ entry, option }: Record<'entry' | 'option', string>) =>
    `"${entry}" in --${option} is not a host name, an address, or a network such as 10.0.0.0/8`,
  TLS_UNUSABLE: ({ cert, key, reason }: Record<'cert' | 'key', string> & Reason) =>
    `the certificate ${cert || '(none)'} of --tls-cert-file and the key ${key || '(none)'} of --tls-key-file cannot be used: ${reason}`,
  HTTP_OPTION_INVALID: ({ option, entry, expected }: Record<'option' | 'entry' | 'expected', string>) =>
    `"${entry}" in --${option} is not ${expected}`,
  NOTIFICATIONS_UNUSABLE: ({ reason }: Reason) => `notifications cannot be sent: ${reason}`,
  CATALOG_DAMAGED: ({ path, reason }: Place & Reason) =>
    `the catalog ${path} is damaged: ${reason}; restore it from a backup of the data directory`,
  CATALOG_MISSING: ({ path, reason }: Place & Reason) =>
    `the catalog ${path} is missing: ${reason}; put it back, or restore the data directory from a backup`,
  CATALOG_RECORD_UNREADABLE: ({ path, reason }: Place & Reason) =>
    `the catalog ${path} holds a record that cannot be read: ${reason}; start the release that wrote it, or restore the data directory from a backup`,
  CATALOG_FORMAT_UNKNOWN: ({ reason }: Reason) =>
    `${reason}; start the release that wrote it, or restore the data directory from a backup`,
  LOG_DAMAGED: ({ reason }: Reason) =>
    `${reason}; restore the files from a backup, or start with --events-log-on-damage keep-aside, which keeps the damaged files aside and stores all events that are readable`,
  LOG_MISSING: ({ reason }: Reason) =>
    `${reason}; put the files back, or start with --events-log-on-damage keep-aside, which goes on without the events that were in them`,
  LOG_FORMAT_UNKNOWN: ({ reason }: Reason) =>
    `the write-ahead log cannot be read: ${reason}; start the release that wrote it, or restore the data directory from a backup`,
} as const satisfies Readonly<Record<string, (params: never) => string>>

export type StartRefusalCode = keyof typeof messages

type Factories = {
  readonly [Code in StartRefusalCode]: (
    params: Parameters<(typeof messages)[Code]>[0] & { readonly cause?: unknown },
  ) => StartRefusal
}

// Object.keys gives plain strings; the table has these keys and no others.
export const startRefusalCodes = Object.keys(messages) as readonly StartRefusalCode[]

/** One factory a code: `throw startRefusals.DATA_DIR_IN_USE({ path })`. */
export const startRefusals: Factories = createFactories()

function createFactories(): Factories {
  const factories = startRefusalCodes.map((code) => {
    // The parameters' type differs by code and is checked where the factory is called, by `Factories`.
    const message = messages[code] as (params: unknown) => string
    const factory: unknown = (params: { readonly cause?: unknown }): StartRefusal =>
      new StartRefusal(code, message(params), params.cause)
    return [code, factory] as const
  })
  // Object.fromEntries forgets which key has which value; the loop above gives each code the factory of its message.
  return Object.fromEntries(factories) as Factories
}
