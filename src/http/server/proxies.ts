// Who a client is, and under which name it reached the service, where proxies stand between: they say so in headers, which
// everybody can send. So these are believed from addresses that an option names, and from no others.

import { isIP } from 'node:net'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { startRefusals } from '../../shared/errors/start-refusals.ts'
import { AddressList, addressKey, listEntries, plainAddress } from './address-list.ts'
import { isHost } from './host-form.ts'

export interface ProxyOptions {
  readonly trustedProxies: string
  readonly publicHosts: string
}

interface PublicHost {
  /** Null takes that of the request. */
  readonly scheme: string | null
  /** With its port, if it has one. */
  readonly host: string
}

/** Lists of the options, read once. */
export class Proxies {
  readonly #trusted: AddressList
  readonly #hosts: readonly PublicHost[]

  /** @throws StartRefusal HTTP_OPTION_INVALID. */
  constructor({ trustedProxies, publicHosts }: ProxyOptions) {
    this.#trusted = new AddressList('trusted-proxies', trustedProxies)
    this.#hosts = listEntries(publicHosts).map(parsePublicHost)
  }

  isTrusted(address: string): boolean {
    return this.#trusted.has(address)
  }

  /**
   * The client of a request: who connected, or, where that is a trusted proxy, the last entry of `X-Forwarded-For` that is
   * none. The entries before it are that client's own words. Empty where that entry is no address: who then asks is nobody that an
   * option could name, and the proxy least of all.
   */
  clientAddress(peer: string, forwardedFor: string | undefined): string {
    let client = plainAddress(peer)
    if (forwardedFor === undefined || forwardedFor.trim() === '' || !this.isTrusted(client)) return client
    let end = forwardedFor.length
    while (end >= 0) {
      const start = forwardedFor.lastIndexOf(',', end - 1) + 1
      const address = hopAddress(forwardedFor.slice(start, end))
      if (address === null) return ''
      client = address
      if (!this.isTrusted(address)) return client
      end = start - 1
    }
    return client
  }

  /** The listed host that a request named; the first one for a host that is not listed, null where there is no list. */
  publicHost(host: string): PublicHost | null {
    const [first] = this.#hosts
    if (first === undefined) return null
    const named = host.toLowerCase()
    return this.#hosts.find((listed) => listed.host === named) ?? first
  }
}

/** Has `clientAddressOf` and `baseUrlOf` know of proxies. */
export function addProxies(app: FastifyInstance, proxies: Proxies): void {
  app.decorate('proxies', proxies)
}

/** The address of the client, behind proxies as far as they are trusted; empty when its connection is gone. */
export function clientAddressOf({ raw, server }: FastifyRequest): string {
  return server.proxies.clientAddress(raw.socket?.remoteAddress ?? '', oneText(raw.headers['x-forwarded-for']))
}

/** What is counted by client is counted by this. */
export function clientKeyOf(request: FastifyRequest): string {
  return addressKey(clientAddressOf(request))
}

/** The address that the client reached the service under, without a path. */
export function baseUrlOf(request: FastifyRequest): string {
  const { headers, server, raw } = request
  const isProxied = server.proxies.isTrusted(raw.socket?.remoteAddress ?? '')
  const forwardedProtocol = isProxied ? firstEntry(headers['x-forwarded-proto']) : ''
  const protocol = forwardedProtocol === 'https' || forwardedProtocol === 'http' ? forwardedProtocol : request.protocol
  const forwardedHost = isProxied ? firstEntry(headers['x-forwarded-host']) : ''
  const named = isHost(forwardedHost) ? forwardedHost : request.host
  const listed = server.proxies.publicHost(named)
  if (listed !== null) return `${listed.scheme ?? protocol}://${listed.host}`
  return `${protocol}://${isHost(named) ? named : ownHost(request)}`
}

/** Where the request arrived, for one that names no host that could be told to others. */
function ownHost({ raw: { socket } }: FastifyRequest): string {
  const { localAddress, localPort } = socket ?? {}
  // An injected request of a test arrives nowhere, and one whose client has left neither.
  if (localAddress === undefined || localPort === undefined) return 'localhost'
  const address = plainAddress(localAddress)
  return `${address.includes(':') ? `[${address}]` : address}:${localPort}`
}

function firstEntry(header: string | readonly string[] | undefined): string {
  return (oneText(header) ?? '').split(',', 1)[0]?.trim() ?? ''
}

/** Node joins headers of the same name, but its types do not say so. */
function oneText(header: string | readonly string[] | undefined): string | undefined {
  return typeof header === 'object' ? header.join(',') : header
}

/** An address as proxies write it, some of them with a port; null for what is none. */
function hopAddress(text: string): string | null {
  const hop = text.trim().toLowerCase()
  const [, bracketed, dotted] = /^(?:\[([\da-f:.]+)\]|([\d.]+))(?::\d{1,5})?$/.exec(hop) ?? []
  const address = bracketed ?? dotted ?? hop
  return isIP(address) === 0 ? null : plainAddress(address)
}

function parsePublicHost(entry: string): PublicHost {
  const [, scheme = null, host = ''] = /^(?:(https?):\/\/)?([^/]*)$/i.exec(entry) ?? []
  if (!isHost(host)) {
    const expected = 'a host name with a port and a scheme where needed, such as https://api.example.com'
    throw startRefusals.HTTP_OPTION_INVALID({ option: 'public-hosts', entry, expected })
  }
  return { scheme: scheme === null ? null : scheme.toLowerCase(), host: host.toLowerCase() }
}

declare module 'fastify' {
  interface FastifyInstance {
    /** There from `addProxies` on. */
    readonly proxies: Proxies
  }
}
