// Files that users name by URLs. The service is in a network that those users are not in, so that what it may connect to is
// judged at every step (`url-rules.ts`, `pinned-connector.ts`), and what it receives is the file exactly or an error.

import { setTimeout as systemDelay } from 'node:timers/promises'
import { errors } from '../../shared/errors/errors.ts'
import { OpenedFile } from './opened-file.ts'
import type { OpenContext, RemoteFile, RemoteFileDeps, RemoteFileOptions, RemoteFiles } from './remote-file.types.ts'
import { RemoteRequests } from './remote-requests.ts'
import { Retries, type Retry } from './retries.ts'
import { urlPlace } from './url-place.ts'
import { UrlRules } from './url-rules.ts'

/**
 * Opens the one way to files by URL.
 *
 * @throws StartRefusal URL_ALLOW_INVALID.
 */
export function openRemoteFiles(options: RemoteFileOptions, deps: RemoteFileDeps): RemoteFiles {
  return new OpenRemoteFiles(options, deps)
}

class OpenRemoteFiles implements RemoteFiles {
  readonly #options: RemoteFileOptions
  readonly #deps: RemoteFileDeps
  readonly #rules: UrlRules
  readonly #files = new Set<OpenedFile>()
  readonly #closed = new AbortController()

  constructor(options: RemoteFileOptions, deps: RemoteFileDeps) {
    this.#options = options
    this.#deps = deps
    this.#rules = new UrlRules(options)
  }

  check(url: string): void {
    this.#rules.parse(url)
  }

  async open(text: string, { signal: callerSignal, expected, firstBytes }: OpenContext): Promise<RemoteFile> {
    const url = this.#rules.parse(text)
    const ended = new AbortController()
    const signal = AbortSignal.any([callerSignal, this.#closed.signal, ended.signal])
    signal.throwIfAborted()
    const { ca, resolve, now = () => performance.now() } = this.#deps
    const network = { ...(ca === undefined ? {} : { ca }), ...(resolve === undefined ? {} : { resolve }) }
    const file: OpenedFile = new OpenedFile(url, {
      requests: new RemoteRequests(url, { ...network, rules: this.#rules, options: this.#options, signal }),
      options: this.#options,
      now,
      newRetries: () => this.#newRetries(urlPlace(url)),
      signal,
      onClose: () => {
        this.#files.delete(file)
        ended.abort(new Error('the file was closed'))
      },
    })
    this.#files.add(file)
    try {
      await file.open(expected, firstBytes)
      return file
    } catch (error) {
      await file.close()
      throw error
    }
  }

  async close(): Promise<void> {
    this.#closed.abort(errors.SHUTTING_DOWN())
    await Promise.all([...this.#files].map((file) => file.close()))
  }

  #newRetries(place: string): Retries {
    const { delay = abortableDelay, logger, random = Math.random } = this.#deps
    const { attemptsMax, retryDelayMaxMs } = this.#options
    const onRetry = (retry: Retry): void =>
      logger.debug({ ...retry, remoteFile: place }, 'A request for a remote file failed and will be repeated.')
    return new Retries({ attemptsMax, delayMaxMs: retryDelayMaxMs, random, delay, onRetry })
  }
}

async function abortableDelay(timeMs: number, signal: AbortSignal): Promise<void> {
  await systemDelay(timeMs, undefined, { signal })
}
