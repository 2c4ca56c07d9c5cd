import ipaddr from 'ipaddr.js'

export type Address = ipaddr.IPv4 | ipaddr.IPv6

/** Networks that nobody else's file can be in although `ipaddr.js` calls them plain unicast. */
const furtherNetworks = ['2001::/23', '2620:4f:8000::/48'].map((text) => ipaddr.parseCIDR(text))

/** All of IPv6 that is given out to anybody: translations and tunnels into IPv4, but for two within it, lie outside. */
const globalUnicast = ipaddr.parseCIDR('2000::/3')

/**
 * The address of a text as resolvers and URLs write it, IPv6 without brackets; one that is IPv4 in IPv6's clothes
 * (`::ffff:10.0.0.1`) is the IPv4 address. Null for any other text, also for one with a zone.
 */
export function parseAddress(text: string): Address | null {
  if (ipaddr.IPv4.isValidFourPartDecimal(text)) return ipaddr.IPv4.parse(text)
  if (text.includes('%') || !text.includes(':') || !ipaddr.IPv6.isValid(text)) return null
  const address = ipaddr.IPv6.parse(text)
  return address.isIPv4MappedAddress() ? address.toIPv4Address() : address
}

/**
 * Whether an address belongs to the public internet, so that a connection to it reaches nothing of ours.
 *
 * It is a list of what is public: an address of a kind that nobody thought of is not.
 */
export function isPublicAddress(address: Address): boolean {
  if (address.range() !== 'unicast') return false
  if (address instanceof ipaddr.IPv4) return true
  return (
    address.match(globalUnicast) && !furtherNetworks.some((network) => address.match(network)) && !isIsatap(address)
  )
}

/** An IPv4 address behind the mark of ISATAP (RFC 5214 §6.1) is reached through any prefix. */
function isIsatap({ parts }: ipaddr.IPv6): boolean {
  return ((parts[4] ?? 0) & ~0x0200) === 0 && parts[5] === 0x5efe
}
