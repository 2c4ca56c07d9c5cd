import { domainToASCII } from 'node:url'
import { startRefusals } from '../../shared/errors/start-refusals.ts'
import { type Address, parseAddress } from './public-address.ts'

/** What an operator lets URLs reach although it is not public, or has another port. */
export class AllowList {
  readonly #hosts: ReadonlySet<string>
  readonly #networks: readonly [Address, number][]

  /**
   * @param text CIDRs, addresses and host names, separated by commas; empty for none.
   * @param option that it is of, without dashes.
   * @throws StartRefusal URL_ALLOW_INVALID.
   */
  constructor(text: string, option: string) {
    const entries = text.split(',').flatMap((entry) => (entry.trim() === '' ? [] : [entry.trim()]))
    const networks = new Map(entries.map((entry) => [entry, parseNetwork(entry, option)]))
    this.#networks = [...networks.values()].filter((network) => network !== null)
    this.#hosts = new Set(
      entries.filter((entry) => networks.get(entry) === null).map((entry) => parseHost(entry, option)),
    )
  }

  /** `hostname` in lower case, without a trailing dot. */
  hasHost(hostname: string): boolean {
    return this.#hosts.has(hostname)
  }

  hasAddress(address: Address): boolean {
    return this.#networks.some((network) => network[0].kind() === address.kind() && address.match(network))
  }

  /** Whether an address alone can be allowed. */
  get hasNetworks(): boolean {
    return this.#networks.length > 0
  }
}

function parseNetwork(entry: string, option: string): [Address, number] | null {
  const [addressText = '', bitsText, ...rest] = entry.split('/')
  const address = parseAddress(addressText.replace(/^\[(.*)\]$/, '$1'))
  if (address === null && bitsText === undefined) return null
  const bitsMax = address?.kind() === 'ipv4' ? 32 : 128
  const bits = bitsText === undefined ? bitsMax : Number(bitsText)
  const isNumber = bitsText === undefined || /^\d{1,3}$/.test(bitsText)
  if (address === null || rest.length > 0 || !isNumber || bits > bitsMax) throw invalid(entry, option)
  return [address, bits]
}

function parseHost(entry: string, option: string): string {
  const hostname = domainToASCII(entry).replace(/\.$/, '')
  // What ends in a number is an address or nothing (URL Standard, "ends in a number").
  if (!hostPattern.test(hostname) || /(?:^|\.)\d+$/.test(hostname)) throw invalid(entry, option)
  return hostname
}

/** Letters, digits, hyphens, and underscores, which some internal names have. */
export const hostPattern = /^(?=.{1,253}$)[a-z0-9_](?:[a-z0-9_-]{0,62})(?:\.[a-z0-9_][a-z0-9_-]{0,62})*$/

function invalid(entry: string, option: string): Error {
  return startRefusals.URL_ALLOW_INVALID({ entry, option })
}
