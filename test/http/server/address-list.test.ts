import t from 'tap'
import { addressKey, plainAddress } from '../../../src/http/server/address-list.ts'

t.test('connections are counted by an IPv4 address, or by the first half of an IPv6 address', async (t) => {
  const cases = [
    ['192.0.2.1', '192.0.2.1'],
    ['::ffff:192.0.2.1', '192.0.2.1'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2'],
    ['2001:db8:1:2::6', '2001:db8:1:2'],
    ['2001:db8::6', '2001:db8:0:0'],
    ['2001:db8::2:3:4:5:6', '2001:db8:0:2'],
    ['fe80::1%eth0', 'fe80:0:0:0'],
    ['::1', '0:0:0:0'],
    ['::', '0:0:0:0'],
    ['', ''],
  ]
  for (const [address = '', key = ''] of cases) t.equal(addressKey(address), key, address)
})

t.test('an address is told without what a socket adds to it', async (t) => {
  t.equal(plainAddress('::ffff:192.0.2.1'), '192.0.2.1')
  t.equal(plainAddress('::ffff:0:1'), '::ffff:0:1')
  t.equal(plainAddress('fe80::1%eth0'), 'fe80::1')
})
