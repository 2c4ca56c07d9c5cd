// Which URLs the service connects to. What a name means is known only once it is resolved, so each URL is judged twice: its
// text, and then the addresses of its host, of which all must be allowed: a resolver of somebody else may give a public
// one first.
//
// A URL is read by the WHATWG parser alone. Texts that this parser mends in silence (backslashes, tabs, addresses in octal, names in
// letters that only look like others) are refused, as whoever wrote them, or a program in between, may have read another URL.

import { type ApiError, errors } from '../../shared/errors/errors.ts'
import { AllowList, hostPattern } from './allow-list.ts'
import { isPublicAddress, parseAddress } from './public-address.ts'
import type { RemoteFileOptions } from './remote-file.types.ts'
import { urlPlace } from './url-place.ts'

const urlCharsMax = 8_192

export interface Endpoint {
  /** As a URL has it, IPv6 without brackets. */
  readonly hostname: string
  readonly port: number
}

export class UrlRules {
  readonly #allowed: AllowList
  readonly #ports: ReadonlySet<number>
  readonly #allowsHttp: boolean
  readonly #optionPrefix: string
  readonly #allowsCredentials: boolean

  /** @param optionPrefix of the options that the refusals name. @throws StartRefusal URL_ALLOW_INVALID. */
  constructor(
    options: Pick<RemoteFileOptions, 'allow' | 'allowCredentials' | 'allowHttp' | 'ports'>,
    optionPrefix: 'url' | 'webhook' = 'url',
  ) {
    this.#optionPrefix = optionPrefix
    this.#allowed = new AllowList(options.allow, `${optionPrefix}-allow`)
    this.#ports = new Set(options.ports.split(',').map(Number))
    this.#allowsHttp = options.allowHttp
    this.#allowsCredentials = options.allowCredentials
  }

  /**
   * The URL of a text, its host without a trailing dot.
   *
   * @throws URL_INVALID, URL_REFUSED (400).
   */
  parse(text: string): URL {
    const host = readHost(text)
    if (!URL.canParse(text)) throw invalid('its host or its port is not valid')
    const url = new URL(text)
    const place = urlPlace(url)
    const refuse = (reason: string): ApiError => errors.URL_REFUSED({ place, reason })
    if (url.protocol === 'http:' && !this.#allowsHttp) {
      throw refuse(`only https is allowed; the option --${this.#optionPrefix}-allow-http allows http`)
    }
    if (host.hasCredentials && !this.#allowsCredentials) {
      throw refuse('it has a user or a password; the option --url-credentials allows them')
    }
    const endpoint = endpointOf(url)
    const reason = this.#textRefusal(endpoint)
    if (reason !== null) throw refuse(reason)
    checkNotation(host.text, endpoint.hostname)
    if (url.hostname.endsWith('.')) url.hostname = endpoint.hostname
    return url
  }

  /** Why the addresses of an endpoint must not be connected to; null when all of them may be. */
  addressRefusal({ hostname, port }: Endpoint, addresses: readonly string[]): string | null {
    if (this.#allowed.hasHost(hostname)) return null
    for (const text of addresses) {
      const address = parseAddress(text)
      if (address !== null && this.#allowed.hasAddress(address)) continue
      // The address is not told: a name may be of a network that its sender must not learn about.
      if (address === null || !isPublicAddress(address)) return this.#privateReason()
      if (!this.#ports.has(port)) return this.#portReason(port)
    }
    return null
  }

  #textRefusal(endpoint: Endpoint): string | null {
    const { hostname, port } = endpoint
    if (parseAddress(hostname) !== null) return this.addressRefusal(endpoint, [hostname])
    if (/(?:^|\.)localhost$/.test(hostname)) return this.addressRefusal(endpoint, ['127.0.0.1'])
    const isKnown = this.#ports.has(port) || this.#allowed.hasHost(hostname) || this.#allowed.hasNetworks
    return isKnown ? null : this.#portReason(port)
  }

  #privateReason(): string {
    return `its address is not public; the option --${this.#optionPrefix}-allow names private hosts and networks that may be ${this.#optionPrefix === 'url' ? 'read' : 'called'}`
  }

  #portReason(port: number): string {
    return `port ${port} is not allowed; the allowed ones are ${[...this.#ports].join(', ')}, and the option --url-ports sets them`
  }
}

/** Host and port of a URL, as connections use them. */
export function endpointOf(url: URL): Endpoint {
  const hostname = url.hostname.replace(/^\[(.*)\]$/, '$1').replace(/\.$/, '')
  return { hostname, port: url.port === '' ? defaultPort(url.protocol) : Number(url.port) }
}

/** The port of a URL that names none. */
export function defaultPort(protocol: string): number {
  return protocol === 'https:' ? 443 : 80
}

interface WrittenHost {
  /** As it was written, without credentials and port. */
  readonly text: string
  readonly hasCredentials: boolean
}

function readHost(text: string): WrittenHost {
  if (text.length > urlCharsMax) throw invalid(`it is longer than ${urlCharsMax} characters`)
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is looked for.
  if (/[\u0000-\u0020\u007f-\u00a0\u2028\u2029\ufeff\\]/.test(text)) {
    throw invalid('it contains a space, a backslash or a control character; percent-encode it')
  }
  const [, scheme] = /^([a-z][a-z0-9+.-]{0,30}):/i.exec(text) ?? []
  if (scheme === undefined) throw invalid('it does not begin with https://')
  if (!/^https?$/i.test(scheme)) throw invalid(`its scheme is "${scheme}"; use https`)
  const [, authority] = /^https?:\/\/([^/?#]+)/i.exec(text) ?? []
  if (authority === undefined) throw invalid('it has no host')
  const hostStart = authority.lastIndexOf('@') + 1
  const [, host] = /^(\[[^[\]]*\]|[^:[\]]+)(?::\d{1,5})?$/.exec(authority.slice(hostStart)) ?? []
  if (host === undefined) throw invalid('its host or its port is not valid')
  return { text: host, hasCredentials: hostStart > 0 }
}

/** Refuses hosts that are written in another way than they are read. */
function checkNotation(written: string, hostname: string): void {
  if (written.startsWith('[')) return
  if (parseAddress(hostname) !== null && written !== hostname) {
    throw invalid(`its host is another notation of the address ${hostname}; write the address itself`)
  }
  if (!hostPattern.test(hostname)) throw invalid('its host is not a valid name')
  const labels = hostname.split('.')
  const writtenLabels = written.replace(/\.$/, '').split('.')
  const isPlain = writtenLabels.every((label, index) => isSameLabel(label, labels[index] ?? ''))
  if (writtenLabels.length !== labels.length || !isPlain) {
    throw invalid(`its host is another notation of "${hostname}"; write that name itself`)
  }
}

// A label in other letters is read as one that begins with `xn--`; else its letters were only disguised.
function isSameLabel(written: string, label: string): boolean {
  return written.toLowerCase() === label || (/[^\0-\x7f]/.test(written) && label.startsWith('xn--'))
}

function invalid(reason: string): ApiError {
  return errors.URL_INVALID({ reason })
}
