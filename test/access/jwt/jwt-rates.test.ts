import t from 'tap'
import { JwtRates } from '../../../src/access/jwt/jwt-rates.ts'

function ratesAt(clock: { ms: number }): JwtRates {
  return new JwtRates({ windowsMax: 3, now: () => clock.ms })
}

t.test('as many requests a second pass as the token says, and the next is told when to come again', async (t) => {
  const clock = { ms: 5_000 }
  const rates = ratesAt(clock)
  for (let count = 0; count < 3; count += 1) t.equal(rates.take('a', 3), null)
  const refusal = {
    error: {
      code: 'RATE_EXCEEDED',
      status: 429,
      message:
        'Requests are limited to 3 a second for this token (limit "token_requests"); repeat this request in 1 second',
      retryAfterSeconds: 1,
      rate: { limit: 'token_requests', max: 3, windowSeconds: 1, remaining: 0, resetSeconds: 1 },
    },
  }
  t.match(rates.take('a', 3), refusal)
  t.equal(rates.take('b', 1), null, 'each token has its own')
  clock.ms = 5_999
  t.match(rates.take('a', 3), refusal)
  clock.ms = 6_000
  t.equal(rates.take('a', 3), null)
})

t.test('a token without a limit is not counted and takes no place', async (t) => {
  const rates = ratesAt({ ms: 0 })
  for (let count = 0; count < 10_000; count += 1) {
    if (rates.take(`${count}`, null) !== null) t.fail('it has no limit')
  }
  t.equal(rates.size, 0)
})

t.test('many tokens do not give a used one a new window', async (t) => {
  const clock = { ms: 0 }
  const rates = ratesAt(clock)
  t.equal(rates.take('mine', 1), null)
  const full = {
    error: { code: 'RATE_EXCEEDED', rate: { max: 7, remaining: 0, resetSeconds: 1 } },
  }
  for (let count = 0; count < 100; count += 1) {
    const refusal = rates.take(`other${count}`, 7)
    if (count < 2) t.equal(refusal, null)
    else t.match(refusal, full, 'no place is free')
    t.not(rates.take('mine', 1), null)
    t.equal(rates.size, Math.min(count + 2, 3))
    clock.ms += 9
  }
})

t.test('places whose windows have ended are given to others, two for one', async (t) => {
  const clock = { ms: 0 }
  const rates = ratesAt(clock)
  for (const id of ['a', 'b', 'c']) t.equal(rates.take(id, 1), null)
  clock.ms = 999
  t.not(rates.take('d', 1), null)
  t.not(rates.take('a', 1), null, 'a is used last now')
  clock.ms = 1_000
  t.equal(rates.take('d', 1), null)
  t.equal(rates.size, 2)
  t.equal(rates.take('a', 1), null)
  t.not(rates.take('a', 1), null)
})
