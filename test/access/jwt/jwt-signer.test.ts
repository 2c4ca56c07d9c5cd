import t from 'tap'
import type { JwtScope, JwtScopeType } from '../../../src/access/jwt/jwt-claims.ts'
import { readJwtRequest } from '../../../src/access/jwt/jwt-request.ts'
import { JwtSigner, jwtLifeSecondsMax } from '../../../src/access/jwt/jwt-signer.ts'
import { JwtVerifier } from '../../../src/access/jwt/jwt-verifier.ts'
import { jwtKey, jwtNowSeconds, jwtWorkspaceId } from '../../support/access/jwt-text.ts'
import { SeededRandom, testSeed } from '../../support/seeded-random.ts'
import { byTier } from '../../support/tier.ts'

const options = { workspaceId: jwtWorkspaceId, now: () => jwtNowSeconds * 1_000 + 500 }
const scope: JwtScope = { type: 'PIPES:READ', resource: 'p', filter: null, fixedParameters: null }
const order = { name: 'a', expiresAtSeconds: jwtNowSeconds + 1, scopes: [scope], perSecondMax: null }

function openSigner(): JwtSigner {
  const signer = new JwtSigner(options)
  signer.setKey(jwtKey)
  return signer
}

t.test('a token says what was ordered, when it was made, and for which workspace', async (t) => {
  const scopes: readonly JwtScope[] = [
    { ...scope, fixedParameters: new Map([['id', ['7', 8]]]) },
    { type: 'DATASOURCES:READ', resource: 'd', filter: 'a = 1', fixedParameters: null },
  ]
  const signed = openSigner().sign({ ...order, scopes, perSecondMax: 5 })
  if (signed.kind !== 'signed') throw new Error(signed.reason)
  const [header = '', payload = ''] = signed.token.split('.')
  t.strictSame(JSON.parse(Buffer.from(header, 'base64url').toString()), { alg: 'HS256', typ: 'JWT' })
  t.strictSame(JSON.parse(Buffer.from(payload, 'base64url').toString()), {
    workspace_id: jwtWorkspaceId,
    name: 'a',
    exp: jwtNowSeconds + 1,
    iat: jwtNowSeconds,
    scopes: [
      { type: 'PIPES:READ', resource: 'p', fixed_params: { id: ['7', 8] } },
      { type: 'DATASOURCES:READ', resource: 'd', filter: 'a = 1' },
    ],
    limits: { rps: 5 },
  })
})

t.test('an expiry that is past, broken, or more than ten years ahead is refused', async (t) => {
  for (const [expiresAtSeconds, kind] of [
    [jwtNowSeconds, 'refused'],
    [jwtNowSeconds + 1, 'signed'],
    [jwtNowSeconds + 1.5, 'refused'],
    [Number.NaN, 'refused'],
    [jwtNowSeconds + jwtLifeSecondsMax, 'signed'],
    [jwtNowSeconds + jwtLifeSecondsMax + 1, 'refused'],
    [(jwtNowSeconds + 60) * 1_000, 'refused'],
  ] as const) {
    t.equal(openSigner().sign({ ...order, expiresAtSeconds }).kind, kind, `${expiresAtSeconds}`)
  }
})

t.test('what no verifier would accept is not signed', async (t) => {
  const reasonOf = (change: object) => {
    const signed = openSigner().sign({ ...order, ...change })
    return signed.kind === 'signed' ? 'signed' : signed.reason
  }
  t.equal(reasonOf({}), 'signed')
  t.equal(reasonOf({ name: '' }), 'name is empty')
  t.equal(reasonOf({ name: '\ud800' }), 'the payload has an unpaired surrogate')
  t.equal(reasonOf({ scopes: [] }), 'scopes is empty')
  t.equal(reasonOf({ perSecondMax: 0 }), 'limits.rps is not a whole number of at least 1')
  t.match(reasonOf({ scopes: [{ ...scope, fixedParameters: new Map([['a', Number.NaN]]) }] }), /is not a text, number/)
  const filters = [1, 2].map(() => ({ ...scope, filter: 'x'.repeat(3_500) }))
  t.equal(reasonOf({ scopes: filters }), 'the token is longer than 8192 characters')
  const keyless = { kind: 'refused', reason: 'this workspace has no key that signs JWTs' }
  const signer = new JwtSigner(options)
  t.strictSame(signer.sign(order), keyless)
  for (const key of ['x'.repeat(31), null]) {
    signer.setKey(jwtKey)
    t.equal(signer.sign(order).kind, 'signed')
    signer.setKey(key)
    t.strictSame(signer.sign(order), keyless)
  }
})

t.test('the verifier accepts every token that is made, and reads what was ordered', async (t) => {
  const random = new SeededRandom(testSeed())
  const verifier = new JwtVerifier({ ...options, cache: { entriesMax: 10, weightMax: 100_000 } })
  const signer = openSigner()
  verifier.setKey(jwtKey)
  const count = byTier({ quick: 2_000, full: 6_000, soak: 200_000 })
  let differentCount = 0
  for (let index = 0; index < count; index += 1) {
    const scopes = Array.from({ length: 1 + random.below(3) }, () => randomScope(random))
    const expiresAtSeconds = jwtNowSeconds + 1 + random.below(jwtLifeSecondsMax)
    const perSecondMax = random.below(2) === 0 ? null : 1 + random.below(1_000)
    const ordered = { name: randomText(random), expiresAtSeconds, scopes, perSecondMax }
    const signed = signer.sign(ordered)
    if (signed.kind !== 'signed') throw new Error(`${signed.reason} (SEED=${testSeed()}, ${index})`)
    const verdict = verifier.verify(signed.token)
    if (verdict.kind !== 'accepted') throw new Error(`${verdict.reason} (SEED=${testSeed()}, ${index})`)
    const expected = { ...ordered, workspaceId: jwtWorkspaceId, notBeforeSeconds: null }
    if (plain(verdict.claims) === plain(expected)) continue
    differentCount += 1
    if (differentCount === 1) t.equal(plain(verdict.claims), plain(expected), `SEED=${testSeed()}, ${index}`)
  }
  t.equal(differentCount, 0)
  t.comment(`${count} tokens, ${differentCount} read otherwise (SEED=${testSeed()})`)
})

t.test('the body of a request is read by the rules of tokens', async (t) => {
  t.strictSame(
    readJwtRequest(
      '{"name":"n","scopes":[{"type":"PIPES:READ","resource":"p","fixed_params":{"id":9007199254740993}}],"x":1}',
    ),
    {
      kind: 'read',
      name: 'n',
      scopes: [{ ...scope, fixedParameters: new Map([['id', '9007199254740993']]) }],
      perSecondMax: null,
    },
  )
  t.match(readJwtRequest('{"scopes":[{"type":"PIPES:READ","resource":"p"}],"limits":{"rps":3}}'), {
    name: null,
    perSecondMax: 3,
  })
  t.match(readJwtRequest('{"scopes":[],"scopes":[]}'), { kind: 'refused', reason: 'the body has a key twice' })
  t.match(readJwtRequest('scope=ADMIN'), { kind: 'refused', reason: 'the body is not JSON' })
  t.match(readJwtRequest('[]'), { kind: 'refused', reason: 'the body is not a JSON object' })
})

/** As text: members in one order, maps as lists of pairs. */
function plain(claims: object): string {
  const members = Object.entries(claims).sort(([a], [b]) => (a < b ? -1 : 1))
  return JSON.stringify(members, (_, value: unknown) => (value instanceof Map ? [...value] : value))
}

function randomScope(random: SeededRandom): JwtScope {
  const type = random.pick<JwtScopeType>(['PIPES:READ', 'DATASOURCES:READ', 'DATASOURCES:APPEND'])
  const filter = type !== 'DATASOURCES:APPEND' && random.below(2) === 0 ? `a = '${randomText(random)}'` : null
  // Names that are whole numbers come first in a JSON object: a letter keeps the order.
  const params = Array.from({ length: 1 + random.below(3) }, () => {
    const name = random.below(8) === 0 ? '__proto__' : `p${randomText(random)}`
    return [name, randomValue(random)] as const
  })
  const fixedParameters = type === 'PIPES:READ' && random.below(2) === 0 ? new Map(params) : null
  return { type, resource: randomText(random), filter, fixedParameters }
}

function randomText(random: SeededRandom): string {
  const one = () => random.pick(['a', 'Z', '9', '"', '\\', '\u0000', '\n', 'é', '\u2028', '😀', '{', ':', '/', 'exp'])
  return Array.from({ length: 1 + random.below(12) }, one).join('')
}

function randomValue(random: SeededRandom): string | number | boolean | readonly (string | number)[] {
  switch (random.below(5)) {
    case 0:
      return random.below(2 ** 32) * random.below(2 ** 21)
    case 1:
      // Larger ones are integers that come back as digits.
      return -random.fraction() * 10 ** (random.below(34) - 20)
    case 2:
      return random.below(2) === 0
    case 3:
      return [randomText(random), random.below(10)]
    default:
      return randomText(random)
  }
}
