/** IPv4 and IPv6. */
import { accepted, type Coercion, fromText, refused } from './verdict.ts'

// The engine's cast refuses leading zeros in an IPv4 address, and so do we: to some readers they mean octal.
const ipv4Pattern = /^(0|[1-9]\d{0,2})\.(0|[1-9]\d{0,2})\.(0|[1-9]\d{0,2})\.(0|[1-9]\d{0,2})$/
const groupPattern = /^[0-9a-f]{1,4}$/i
const groupCount = 8
/** Eight groups of four digits and their colons; with an embedded IPv4 address 45. */
const ipv6LengthMax = 45

export const ipv4Coercion: Coercion = fromText((text) => {
  const address = parseIpv4(text)
  return address === undefined ? refused : accepted(address)
})

/** The cell is the address in full, eight groups without `::`. A plain IPv4 address is mapped into `::ffff:…`. */
export const ipv6Coercion: Coercion = fromText((text) => {
  const groups = parseIpv6(text)
  return groups === undefined ? refused : accepted(groups.map((group) => group.toString(16)).join(':'))
})

function parseIpv4(text: string): number | undefined {
  const match = ipv4Pattern.exec(text)
  if (match === null) return undefined
  let address = 0
  for (const octetText of match.slice(1)) {
    const octet = Number(octetText)
    if (octet > 255) return undefined
    address = address * 256 + octet
  }
  return address
}

function parseIpv6(text: string): readonly number[] | undefined {
  if (text.length > ipv6LengthMax) return undefined
  const ipv4 = parseIpv4(text)
  if (ipv4 !== undefined) return [0, 0, 0, 0, 0, 0xffff, ...ipv4Groups(ipv4)]
  const gap = text.indexOf('::')
  if (gap === -1) {
    const groups = parseGroups(text)
    return groups?.length === groupCount ? groups : undefined
  }
  const head = gap === 0 ? [] : parseGroups(text.slice(0, gap))
  const tail = gap + 2 === text.length ? [] : parseGroups(text.slice(gap + 2))
  // An embedded IPv4 address stands at the very end, never before the gap.
  if (head === undefined || tail === undefined || text.slice(0, gap).includes('.')) return undefined
  // `::` stands for at least one group.
  const missingCount = groupCount - head.length - tail.length
  return missingCount < 1 ? undefined : [...head, ...new Array<number>(missingCount).fill(0), ...tail]
}

/** Groups between single colons; the last may be an IPv4 address, which counts as two. */
function parseGroups(text: string): readonly number[] | undefined {
  const parts = text.split(':')
  const groups: number[] = []
  for (const [position, part] of parts.entries()) {
    const ipv4 = position === parts.length - 1 ? parseIpv4(part) : undefined
    if (ipv4 !== undefined) groups.push(...ipv4Groups(ipv4))
    else if (groupPattern.test(part)) groups.push(Number.parseInt(part, 16))
    else return undefined
  }
  return groups
}

function ipv4Groups(address: number): readonly number[] {
  return [Math.floor(address / 0x1_0000), address % 0x1_0000]
}
