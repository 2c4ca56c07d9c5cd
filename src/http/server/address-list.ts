import { BlockList, isIP } from 'node:net'
import { startRefusals } from '../../shared/errors/start-refusals.ts'

/** Addresses and networks that an option names. */
export class AddressList {
  readonly #list = new BlockList()
  readonly #isEmpty: boolean

  /**
   * @param text addresses and CIDRs, separated by commas; empty or `none` for none.
   * @throws StartRefusal HTTP_OPTION_INVALID, which names the `option`.
   */
  constructor(option: string, text: string) {
    const entries = text === 'none' ? [] : listEntries(text)
    this.#isEmpty = entries.length === 0
    for (const entry of entries) {
      if (!this.#add(entry)) {
        const expected = 'an address, or a network such as 10.0.0.0/8'
        throw startRefusals.HTTP_OPTION_INVALID({ option, entry, expected })
      }
    }
  }

  /** False for what is no address. IPv4 in the form of IPv6 (`::ffff:10.0.0.1`) counts as IPv4. */
  has(address: string): boolean {
    if (this.#isEmpty) return false
    const plain = plainAddress(address)
    const version = isIP(plain)
    return version !== 0 && this.#list.check(plain, version === 4 ? 'ipv4' : 'ipv6')
  }

  #add(entry: string): boolean {
    const [address = '', bits, ...rest] = entry.split('/')
    const version = isIP(address)
    if (version === 0 || rest.length > 0) return false
    const family = version === 4 ? 'ipv4' : 'ipv6'
    if (bits === undefined) this.#list.addAddress(address, family)
    else if (/^\d{1,3}$/.test(bits) && Number(bits) <= (version === 4 ? 32 : 128)) {
      this.#list.addSubnet(address, Number(bits), family)
    } else return false
    return true
  }
}

/** The entries of a list in an option. */
export function listEntries(text: string): readonly string[] {
  return text.split(',').flatMap((entry) => (entry.trim() === '' ? [] : [entry.trim()]))
}

const mappedPrefix = '::ffff:'

/** An IPv4 address in its own form, as a socket that listens on IPv6 does not tell it; without the zone of an interface. */
export function plainAddress(address: string): string {
  const plain = address.startsWith(mappedPrefix) && address.includes('.') ? address.slice(mappedPrefix.length) : address
  const zoneStart = plain.indexOf('%')
  return zoneStart < 0 ? plain : plain.slice(0, zoneStart)
}

/**
 * What connections are counted by: an IPv4 address, or the first 64 bits of an IPv6 address, as one client has all of these.
 */
export function addressKey(address: string): string {
  const plain = plainAddress(address)
  if (!plain.includes(':')) return plain
  const [head = '', tail] = plain.split('::', 2)
  const groups = head === '' ? [] : head.split(':')
  const tailCount = tail === undefined || tail === '' ? 0 : tail.split(':').length
  // What `::` stands for is nulls. Behind it begins at the earliest what is no part of the key, or groups of it.
  const zeros = tail === undefined ? [] : new Array<string>(Math.max(0, 8 - groups.length - tailCount)).fill('0')
  const tailGroups = tail === undefined || tail === '' ? [] : tail.split(':')
  return [...groups, ...zeros, ...tailGroups].slice(0, 4).join(':')
}
