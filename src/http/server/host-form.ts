import { isIPv4, isIPv6 } from 'node:net'

/** RFC 9110 §7.2, without what no client writes in a name: a name or an address, and a port. It may be empty. */
export const hostPattern = /^(?:\[[\da-f:.]+\]|[\w.~%-]*)(?::\d{0,5})?$/i

const parts = /^(?:\[([\da-f:.]+)\]|([\w.-]+))(?::(\d{1,5}))?$/i
const label = /^[a-z\d_](?:[\w-]{0,61}[a-z\d_])?$/i
const nameCharsMax = 253
const portMax = 65_535

/**
 * Whether a text is a host that a URL may have: the name of one, an IPv4 address or an IPv6 address in brackets, and a port if it
 * likes. Narrower than what a request may have in `Host`.
 */
export function isHost(text: string): boolean {
  const [, ipv6, name = '', port = '1'] = parts.exec(text) ?? []
  if (Number(port) < 1 || Number(port) > portMax) return false
  return ipv6 === undefined ? isName(name) : isIPv6(ipv6)
}

function isName(text: string): boolean {
  const labels = text.replace(/\.$/, '').split('.')
  if (text.length > nameCharsMax || !labels.every((one) => label.test(one))) return false
  // What ends with a number is read as an IPv4 address, wherever it is read.
  return /^\d+$/.test(labels.at(-1) ?? '') ? isIPv4(text) : true
}
