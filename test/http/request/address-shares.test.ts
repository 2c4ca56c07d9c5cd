import { mock } from 'node:test'
import t from 'tap'
import { AddressShares, type WaitingBody } from '../../../src/http/request/address-shares.ts'

class Body implements WaitingBody {
  isBraked = false
  hasCome = false
  failure: Error | null = null

  brake(): void {
    this.isBraked = true
  }

  letGo(): void {
    this.isBraked = false
  }

  fail(error: Error): void {
    this.failure = error
  }
}

function open(shares: AddressShares, address = 'a') {
  const body = new Body()
  const hold = shares.open(address, body)
  const take = (byteCount: number): void => {
    hold.take(byteCount)
    hold.admit()
  }
  return { body, hold, take }
}

t.test('bodies of an address wait when they hold its share, all but one, and go on as others end', async (t) => {
  const shares = new AddressShares(100)
  const [first, second, third] = [open(shares), open(shares), open(shares)]
  first.take(99)
  t.notOk(first.body.isBraked)
  second.take(1)
  t.notOk(second.body.isBraked, 'one goes on to its end')
  second.take(1_000)
  t.notOk(second.body.isBraked)
  third.hold.admit()
  first.take(1)
  t.ok(third.body.isBraked && first.body.isBraked)
  const late = open(shares)
  late.hold.admit()
  t.ok(late.body.isBraked, 'before a byte of it is read')
  const other = open(shares, 'b')
  other.take(99)
  t.notOk(other.body.isBraked)
  second.hold.close()
  t.same(
    [third, first, late].map(({ body }) => body.isBraked),
    [false, true, true],
    'the one that waits longest goes on',
  )
  third.take(10)
  third.hold.close()
  t.same(
    [first, late].map(({ body }) => body.isBraked),
    [false, true],
  )
  first.hold.close()
  t.notOk(late.body.isBraked)
  late.hold.close()
  const anew = open(shares)
  anew.take(99)
  anew.hold.admit()
  t.notOk(anew.body.isBraked, 'all was given back')
})

t.test('a body that has come does not wait, and neither keeps others when it holds nothing any more', async (t) => {
  const shares = new AddressShares(100)
  const [first, second, third] = [open(shares), open(shares), open(shares)]
  first.take(100)
  second.body.hasCome = true
  second.take(50)
  t.notOk(second.body.isBraked)
  third.take(50)
  t.ok(third.body.isBraked)
  first.hold.give(100)
  t.notOk(third.body.isBraked, 'an import gives its beginning back, and goes on for hours')
  third.take(1)
  t.notOk(third.body.isBraked)
})

t.test('what a body is unpacked to waits for room, and goes on when it is the one that goes on', async (t) => {
  const shares = new AddressShares(100)
  const [first, second] = [open(shares), open(shares)]
  first.take(100)
  await first.hold.untilRoom()
  let hasRoom = false
  const waiting = second.hold.untilRoom().then(() => {
    hasRoom = true
  })
  await new Promise(setImmediate)
  t.notOk(hasRoom)
  first.hold.close()
  await waiting
})

t.test('a body that finds no room for ten seconds is refused', async (t) => {
  mock.timers.enable({ apis: ['setTimeout'] })
  t.teardown(() => mock.timers.reset())
  const shares = new AddressShares(100)
  const [first, second, third] = [open(shares), open(shares), open(shares)]
  first.take(100)
  second.hold.admit()
  const unpacked = third.hold.untilRoom()
  mock.timers.tick(9_999)
  t.equal(second.body.failure, null)
  mock.timers.tick(1)
  t.match(second.body.failure, { code: 'BODIES_TOO_MANY', status: 503, message: /from your address/ })
  await t.rejects(unpacked, { code: 'BODIES_TOO_MANY' })
  t.equal(first.body.failure, null)
  second.hold.close()
  third.hold.close()
  first.hold.close()
})
