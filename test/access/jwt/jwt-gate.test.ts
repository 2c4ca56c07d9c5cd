import t from 'tap'
import { gateJwt } from '../../../src/access/jwt/jwt-gate.ts'
import { type JwtJson, readJwtObject } from '../../../src/access/jwt/jwt-json.ts'
import { goodJwt } from '../../support/access/jwt-attacks.ts'
import { jwtNowSeconds, jwtPayload, signedText } from '../../support/access/jwt-text.ts'
import { SeededRandom, testSeed } from '../../support/seeded-random.ts'
import { byTier } from '../../support/tier.ts'

t.test('the gate alone refuses what the library would refuse as well, and says why', async (t) => {
  const [header = '', payload = '', signature = ''] = goodJwt.split('.')
  const withHeader = (members: object) => signedText(jwtPayload(), { alg: 'HS256', ...members })
  for (const [token, reason] of [
    ['x'.repeat(8_193), 'the token is longer than 8192 characters'],
    [`${header}.${payload}`, 'the token does not have three parts'],
    [`${goodJwt}.${signature}`, 'the token does not have three parts'],
    [`${goodJwt}.`, 'the token does not have three parts'],
    [`${header}=.${payload}.${signature}`, 'a part of the token is not canonical base64url without padding'],
    [
      `${header}.${payload}.${signature.slice(0, -1)}`,
      'a part of the token is not canonical base64url without padding',
    ],
    [`${header}.${payload}.AAAA`, 'the signature does not have 32 bytes'],
    [signedText(jwtPayload(), '{'), 'the header is not JSON'],
    [signedText(jwtPayload(), '[]'), 'the header is not a JSON object'],
    [signedText(Buffer.from([0x22, 0xff, 0x22])), 'the payload is not UTF-8'],
    [signedText('{"a":1,"a":2}'), 'the payload has a key twice'],
    [signedText(`{"x":${'['.repeat(16)}${']'.repeat(16)}}`), 'the payload has too many keys or levels'],
    [withHeader({ alg: 'none' }), 'alg of the header is not HS256'],
    [withHeader({ alg: 'hs256' }), 'alg of the header is not HS256'],
    [withHeader({ alg: 'HS512' }), 'alg of the header is not HS256'],
    [withHeader({ typ: 'JWS' }), 'typ of the header is not JWT'],
    [withHeader({ crit: ['exp'] }), 'the header has crit, which is not supported'],
    [signedText(jwtPayload({ exp: undefined })), 'exp is missing'],
    [signedText(jwtPayload({ exp: '1' })), 'exp is not a whole number of seconds since 1970'],
    [signedText(jwtPayload({ nbf: 1e300 })), 'nbf is not a whole number of seconds since 1970'],
    [signedText(jwtPayload({ iat: -1 })), 'iat is not a whole number of seconds since 1970'],
  ] as const) {
    t.throws(() => gateJwt(token), { name: 'JwtFault', message: reason }, reason)
  }
  t.match(gateJwt(goodJwt), { expiresAtSeconds: jwtNowSeconds + 3_600, notBeforeSeconds: null })
})

t.test('an integer of 80 characters is kept, and one of more is refused', async (t) => {
  const read = (digits: string) => readJwtObject(Buffer.from(`{"a":${digits}}`), 'it').get('a')
  t.equal(read('9'.repeat(80)), BigInt('9'.repeat(80)))
  t.equal(read(`-${'9'.repeat(79)}`), -BigInt('9'.repeat(79)))
  t.throws(() => read('9'.repeat(81)), { message: 'it has a number that is too long' })
  t.throws(() => read('1e999'), { message: 'it has a number that is too large' })
  t.equal(read('1E+2'), 100)
})

t.test('as many keys as may be are read, and one more is refused', async (t) => {
  const keys = (count: number) => `{${Array.from({ length: count }, (_, index) => `"${index}":0`).join(',')}}`
  t.equal(readJwtObject(Buffer.from(keys(1_000)), 'it').size, 1_000)
  t.throws(() => readJwtObject(Buffer.from(keys(1_001)), 'it'), { message: 'it has too many keys or levels' })
})

t.test('random JSON is read as JSON.parse reads it', async (t) => {
  const random = new SeededRandom(testSeed())
  const count = byTier({ quick: 5_000, full: 10_000, soak: 1_000_000 })
  let differentCount = 0
  for (let index = 0; index < count; index += 1) {
    const text = randomObject(random, 0)
    const read = JSON.stringify(plain(readJwtObject(Buffer.from(text), 'it')))
    if (read === JSON.stringify(JSON.parse(text))) continue
    differentCount += 1
    if (differentCount === 1) t.equal(read, JSON.stringify(JSON.parse(text)), `SEED=${testSeed()}, ${index}: ${text}`)
  }
  t.equal(differentCount, 0)
  t.comment(`${count} texts, ${differentCount} read otherwise (SEED=${testSeed()})`)
})

function plain(value: JwtJson): unknown {
  if (value instanceof Map) return Object.fromEntries([...value].map(([key, item]) => [key, plain(item)]))
  return Array.isArray(value) ? value.map(plain) : value
}

function randomObject(random: SeededRandom, depth: number): string {
  const blank = () => random.pick(['', '', '', ' ', '\n', '\t\r '])
  const members = Array.from({ length: random.below(4) }, (_, index) => {
    // The number makes each key another one.
    const key = randomString(random).replace(/"$/, `${index}"`)
    return `${blank()}${key}${blank()}:${blank()}${randomValue(random, depth + 1)}${blank()}`
  })
  return `${blank()}{${members.join(',') || blank()}}${blank()}`
}

function randomValue(random: SeededRandom, depth: number): string {
  switch (random.below(depth > 5 ? 4 : 6)) {
    case 0:
      return randomString(random)
    case 1:
      return random.pick(['0', '-0', '-7', '12', '1.50', '-0.5e3', '1E5', '2e-3', '9007199254740991', '1e300'])
    case 2:
      return random.pick(['true', 'false', 'null'])
    case 3:
      return '{}'
    case 4:
      return `[${Array.from({ length: random.below(3) }, () => randomValue(random, depth + 1)).join(' , ')}]`
    default:
      return randomObject(random, depth)
  }
}

/** With its quotes. */
function randomString(random: SeededRandom): string {
  const one = () =>
    random.pick(['a', '\\"', '\\\\', '\\u0041', '\\ud83d\\ude00', '😀', '\\n', '{', ']', ':', ',', 'é', '\u2028'])
  return `"${Array.from({ length: random.below(6) }, one).join('')}"`
}
