// One request after another to the server of one file, through redirects. Nothing is taken from the environment, no answer is
// unpacked, and no header of the caller's is sent.

import type { Readable } from 'node:stream'
import { setTimeout as delay } from 'node:timers/promises'
import { Agent, errors as undiciErrors } from 'undici'
import { errors } from '../../shared/errors/errors.ts'
import { PinnedConnector } from './pinned-connector.ts'
import { brokenFault, toRemoteFault } from './remote-fault.ts'
import type { RemoteFileDeps, RemoteFileOptions } from './remote-file.types.ts'
import { decodedText, urlPlace } from './url-place.ts'
import type { UrlRules } from './url-rules.ts'

/** Bytes of a file, from the first to the last one, both included. */
export interface ByteRange {
  readonly start: number
  /** Undefined is the end of the file. */
  readonly end: number | undefined
}

export interface RemoteResponse {
  /** Where the answer came from, redirects followed. */
  readonly url: URL
  readonly status: number
  /** By names in lower case. */
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  /** Whoever gets it reads it or destroys it. */
  readonly body: Readable
}

interface RequestsDeps extends Pick<RemoteFileDeps, 'ca' | 'resolve'> {
  readonly rules: UrlRules
  readonly options: RemoteFileOptions
  /** Ends everything. */
  readonly signal: AbortSignal
}

const redirectStatuses: ReadonlySet<number> = new Set([301, 302, 303, 307, 308])
/** What a redirect's target says when it was for a short time only. */
const expiredStatuses: ReadonlySet<number> = new Set([401, 403, 404, 410])
/** They come together with the others, or close after them. */
const spareBytesWaitMs = 20
const bodyBufferBytes = 256 * 1024

export class RemoteRequests {
  readonly #url: URL
  readonly #deps: RequestsDeps
  readonly #agent: Agent
  /** Where redirects led to; null before the first answer. */
  #target: URL | null = null
  #hasSpareBytes = false

  /** @param url judged by the rules. */
  constructor(url: URL, deps: RequestsDeps) {
    this.#url = url
    this.#deps = deps
    const { connectTimeoutMs, connectionsMax, headersTimeoutMs, idleTimeoutMs, headerBytesMax } = deps.options
    this.#agent = new Agent({
      connect: new PinnedConnector({ ...deps, connectTimeoutMs }).connect,
      connections: connectionsMax,
      pipelining: 1,
      headersTimeout: headersTimeoutMs,
      bodyTimeout: idleTimeoutMs,
      maxHeaderSize: headerBytesMax,
    })
    this.#agent.on('disconnect', (_origin, _targets, error) => {
      // What undici says of bytes that nobody asked for; it has no code for them alone.
      if (error.message === 'bad response') this.#hasSpareBytes = true
    })
  }

  /**
   * The answer to a GET, whatever its status.
   *
   * @throws RemoteFault; the reason of the signal.
   */
  async get(range: ByteRange | null, signal: AbortSignal): Promise<RemoteResponse> {
    const target = this.#target
    const response = await this.#follow(target ?? this.#url, range, signal)
    if (target === null || target === this.#url || !expiredStatuses.has(response.status)) return response
    // A redirect to a presigned URL is asked for again, once that has expired.
    response.body.destroy()
    return await this.#follow(this.#url, range, signal)
  }

  /**
   * Whether a server has sent more bytes than an answer has by its Content-Length, as far as it is known a moment after that.
   * Of a server that closes each connection it cannot be known.
   */
  async hasSpareBytes(): Promise<boolean> {
    await delay(spareBytesWaitMs)
    return this.#hasSpareBytes
  }

  /** Ends all requests. */
  async close(): Promise<void> {
    await this.#agent.destroy()
  }

  async #follow(from: URL, range: ByteRange | null, signal: AbortSignal): Promise<RemoteResponse> {
    const visited = new Set<string>()
    for (let url = from; ; ) {
      const response = await this.#request(url, range, signal)
      if (!redirectStatuses.has(response.status)) {
        this.#target = url
        return response
      }
      response.body.destroy()
      visited.add(url.href)
      url = this.#redirected(url, response)
      if (visited.has(url.href)) throw brokenFault(urlPlace(from), 'its redirects form a loop', final)
      const { redirectsMax } = this.#deps.options
      if (visited.size > redirectsMax) {
        throw brokenFault(urlPlace(from), `it redirects more than ${redirectsMax} times (--url-redirects-max)`, final)
      }
    }
  }

  #redirected(from: URL, { headers, status }: RemoteResponse): URL {
    const location = headers['location']
    if (typeof location !== 'string' || !URL.canParse(location, from.href)) {
      throw brokenFault(urlPlace(from), `the server answered ${status} without a valid Location`, final)
    }
    try {
      const url = this.#deps.rules.parse(new URL(location, from.href).href)
      if (url.username !== '' || url.password !== '') {
        throw errors.URL_REFUSED({ place: urlPlace(url), reason: 'a redirect must not bring a user or a password' })
      }
      return url
    } catch (error) {
      throw toRemoteFault(error, { place: urlPlace(from), isInBody: false })
    }
  }

  async #request(url: URL, range: ByteRange | null, signal: AbortSignal): Promise<RemoteResponse> {
    const delayed = new AbortController()
    let timer: NodeJS.Timeout | undefined
    try {
      const { statusCode, headers, body } = await this.#agent.request({
        origin: url.origin,
        path: `${url.pathname}${url.search}`,
        method: 'GET',
        headers: this.#headers(url, range),
        highWaterMark: bodyBufferBytes,
        // Each answer that is only information has undici wait for as long again.
        onInfo: () => {
          const end = (): void => delayed.abort(new undiciErrors.HeadersTimeoutError())
          timer ??= setTimeout(end, this.#deps.options.headersTimeoutMs)
        },
        signal: AbortSignal.any([signal, delayed.signal]),
      })
      // It may fail while nobody reads it; its reader is told.
      body.on('error', () => {})
      return { url, status: statusCode, headers, body }
    } catch (error) {
      signal.throwIfAborted()
      throw toRemoteFault(error, { place: urlPlace(url), isInBody: false })
    } finally {
      clearTimeout(timer)
    }
  }

  #headers(url: URL, range: ByteRange | null): Record<string, string> {
    return {
      accept: '*/*',
      'accept-encoding': 'identity',
      'user-agent': 'millrace',
      ...(range === null ? {} : { range: `bytes=${range.start}-${range.end ?? ''}` }),
      ...this.#authorization(url),
    }
  }

  /** Credentials are for the origin that they were given for, and for no other one that it redirects to. */
  #authorization(url: URL): Record<string, string> {
    const { username, password, origin } = this.#url
    if ((username === '' && password === '') || url.origin !== origin) return {}
    const pair = `${decodedText(username)}:${decodedText(password)}`
    return { authorization: `Basic ${Buffer.from(pair).toString('base64')}` }
  }
}

const final = { isRetryable: false }
