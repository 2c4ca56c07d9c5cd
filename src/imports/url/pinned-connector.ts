// Connections to addresses that were judged. A host is resolved here and nowhere else, and the socket is made for the address
// that was judged, so that no second look-up can give another one. The name stays what certificates and the header Host are
// about.

import { lookup } from 'node:dns/promises'
import { isIP, type Socket } from 'node:net'
import { buildConnector } from 'undici'
import { errors } from '../../shared/errors/errors.ts'
import type { RemoteFileDeps } from './remote-file.types.ts'
import { defaultPort, type UrlRules } from './url-rules.ts'

interface ConnectorDeps extends Pick<RemoteFileDeps, 'ca' | 'resolve'> {
  readonly rules: Pick<UrlRules, 'addressRefusal'>
  readonly connectTimeoutMs: number
  /** Ends connections that are being made. */
  readonly signal: AbortSignal
}

/** Addresses of a host that are tried, one after the other, where connections fail. */
const addressesTriedMax = 4
/** More of them than any host needs. */
const addressesMax = 256

/** One for each file: it resolves a host once, and again only when none of its addresses takes a connection. */
export class PinnedConnector {
  readonly #deps: ConnectorDeps
  readonly #connect: (options: buildConnector.Options, callback: buildConnector.Callback) => unknown
  readonly #addresses = new Map<string, Promise<readonly string[]>>()

  constructor(deps: ConnectorDeps) {
    this.#deps = deps
    const { connectTimeoutMs, ca } = deps
    this.#connect = buildConnector({ timeout: connectTimeoutMs, allowH2: false, ...(ca === undefined ? {} : { ca }) })
  }

  /** What undici calls for each new socket. */
  readonly connect: buildConnector.connector = (options, callback) => {
    this.#connectJudged(options).then(
      (socket) => callback(null, socket),
      (error: unknown) => callback(error instanceof Error ? error : new Error(String(error)), null),
    )
  }

  async #connectJudged(options: buildConnector.Options): Promise<Socket> {
    const { hostname, protocol } = options
    const port = options.port === '' ? defaultPort(protocol) : Number(options.port)
    const addresses = await this.#resolveOnce(hostname)
    const reason = this.#deps.rules.addressRefusal({ hostname, port }, addresses)
    if (reason !== null) throw errors.URL_REFUSED({ place: `${protocol}//${options.host ?? hostname}`, reason })
    let failure: unknown
    for (const address of addresses.slice(0, addressesTriedMax)) {
      try {
        return await this.#connectTo(address, options)
      } catch (error) {
        if (this.#deps.signal.aborted) throw error
        failure = error
      }
    }
    this.#addresses.delete(hostname)
    throw failure
  }

  async #connectTo(address: string, options: buildConnector.Options): Promise<Socket> {
    const { signal } = this.#deps
    signal.throwIfAborted()
    return await new Promise<Socket>((resolve, reject) => {
      // The declaration leaves out that the connector gives its socket back at once.
      const socket = this.#connect({ ...options, hostname: address }, (error, connected) => {
        signal.removeEventListener('abort', end)
        // Of a failure, undici gives no second argument at all.
        if (error !== null) reject(error)
        else if (connected !== null) resolve(connected)
      }) as Socket
      const end = (): void => {
        socket.destroy()
        reject(signal.reason)
      }
      signal.addEventListener('abort', end, { once: true })
    })
  }

  #resolveOnce(hostname: string): Promise<readonly string[]> {
    // A literal was judged with its URL already, and is judged again as its own address.
    if (isIP(hostname) !== 0) return Promise.resolve([hostname])
    const known = this.#addresses.get(hostname)
    if (known !== undefined) return known
    const resolving = this.#resolve(hostname)
    this.#addresses.set(hostname, resolving)
    resolving.catch(() => this.#addresses.delete(hostname))
    return resolving
  }

  async #resolve(hostname: string): Promise<readonly string[]> {
    const resolve = this.#deps.resolve ?? systemAddresses
    const addresses = await inTime(resolve(hostname), this.#deps.connectTimeoutMs, this.#deps.signal)
    if (addresses.length === 0) throw coded('ENOTFOUND')
    if (addresses.length > addressesMax) throw coded('EAI_ADDRESSES_TOO_MANY')
    return addresses
  }
}

async function systemAddresses(hostname: string): Promise<readonly string[]> {
  const addresses = await lookup(hostname, { all: true, verbatim: true })
  return addresses.map(({ address }) => address)
}

/** A look-up cannot be ended, only left alone. */
async function inTime<Value>(promise: Promise<Value>, timeMaxMs: number, signal: AbortSignal): Promise<Value> {
  signal.throwIfAborted()
  return await new Promise<Value>((resolve, reject) => {
    const timer = setTimeout(() => reject(coded('EAI_AGAIN')), timeMaxMs)
    const end = (): void => reject(signal.reason)
    signal.addEventListener('abort', end, { once: true })
    void promise.then(resolve, reject).finally(() => {
      clearTimeout(timer)
      signal.removeEventListener('abort', end)
    })
  })
}

function coded(code: string): Error {
  return Object.assign(new Error(code), { code })
}
