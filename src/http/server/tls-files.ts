import { readFileSync, unwatchFile, watchFile } from 'node:fs'
import type { Server } from 'node:https'
import { createSecureContext } from 'node:tls'
import type { Logger } from '../../observe/logger.ts'
import { startRefusals } from '../../shared/errors/start-refusals.ts'

export interface TlsOptions {
  /** PEM files of the certificate with its chain, and of its key; both empty: no TLS. */
  readonly tlsCertFile: string
  readonly tlsKeyFile: string
}

interface TlsFiles {
  readonly cert: Buffer
  readonly key: Buffer
}

/** How often the files are looked at: certificates are renewed days before they end. */
const watchIntervalMs = 5_000

/**
 * The certificate and its key; null where none are named.
 *
 * @throws StartRefusal TLS_UNUSABLE for files that cannot be read, or do not belong together.
 */
export function readTlsFiles(options: TlsOptions): TlsFiles | null {
  const { tlsCertFile, tlsKeyFile } = options
  if (tlsCertFile === '' && tlsKeyFile === '') return null
  try {
    const files = { cert: readFileSync(tlsCertFile), key: readFileSync(tlsKeyFile) }
    createSecureContext(files)
    return files
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause)
    throw startRefusals.TLS_UNUSABLE({ cert: tlsCertFile, key: tlsKeyFile, reason, cause })
  }
}

/** Has a server take other files for new connections when they change, and at SIGHUP; those that are open stay. */
export class TlsReload {
  readonly #server: Pick<Server, 'setSecureContext'>
  readonly #options: TlsOptions
  readonly #logger: Pick<Logger, 'info' | 'error'>

  constructor(server: Pick<Server, 'setSecureContext'>, options: TlsOptions, logger: Pick<Logger, 'info' | 'error'>) {
    this.#server = server
    this.#options = options
    this.#logger = logger
    for (const path of this.#paths()) watchFile(path, { interval: watchIntervalMs, persistent: false }, this.reload)
    process.on('SIGHUP', this.reload)
  }

  readonly reload = (): void => {
    try {
      const files = readTlsFiles(this.#options)
      if (files === null) return
      this.#server.setSecureContext(files)
      this.#logger.info({}, 'The certificate was read again.')
    } catch (err) {
      // One of the two files may be new before the other one is; each change is looked at.
      this.#logger.error({ err }, 'The certificate cannot be used and the earlier one stays.')
    }
  }

  close(): void {
    process.off('SIGHUP', this.reload)
    for (const path of this.#paths()) unwatchFile(path, this.reload)
  }

  #paths(): readonly string[] {
    return [this.#options.tlsCertFile, this.#options.tlsKeyFile]
  }
}
