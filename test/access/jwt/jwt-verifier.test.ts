import t from 'tap'
import { type JwtVerdict, JwtVerifier } from '../../../src/access/jwt/jwt-verifier.ts'
import { jwtKey, jwtNowSeconds, jwtPayload, jwtWorkspaceId, signedText } from '../../support/access/jwt-text.ts'

const cache = { entriesMax: 100, weightMax: 100_000 }

function verifierAt(clock: { seconds: number } = { seconds: jwtNowSeconds }, bounds = cache): JwtVerifier {
  const verifier = new JwtVerifier({ workspaceId: jwtWorkspaceId, now: () => clock.seconds * 1_000, cache: bounds })
  verifier.setKey(jwtKey)
  return verifier
}

function reasonOf(verdict: JwtVerdict): string {
  return verdict.kind === 'accepted' ? 'accepted' : verdict.reason
}

t.test('a token that a client signed itself is accepted with its claims', async (t) => {
  const payload = {
    workspace_id: jwtWorkspaceId,
    name: 'x',
    exp: jwtNowSeconds + 10,
    scopes: [
      {
        type: 'PIPES:READ',
        resource: 'api_kpis',
        fixed_params: { site_uuid: 'u', n: 2, on: true, list: ['a', 1] },
        filter: "tenant = 'a'",
      },
      { type: 'DATASOURCE:READ', resource: 't_1', filter: 'a = 1' },
      { type: 'DATASOURCES:APPEND', resource: 'events', fixed_params: {} },
      { type: 'PIPE:READ', resource: 'p' },
    ],
    limits: { rps: 10 },
    unknown: [{ deep: [1] }],
  }
  const verdict = verifierAt().verify(signedText(payload))
  if (verdict.kind !== 'accepted') throw new Error(verdict.reason)
  t.match(verdict.id, /^[\w-]{43}$/)
  const fixedParameters = new Map<string, unknown>([
    ['site_uuid', 'u'],
    ['n', 2],
    ['on', true],
    ['list', ['a', 1]],
  ])
  t.strictSame(verdict.claims, {
    workspaceId: jwtWorkspaceId,
    name: 'x',
    expiresAtSeconds: jwtNowSeconds + 10,
    notBeforeSeconds: null,
    scopes: [
      { type: 'PIPES:READ', resource: 'api_kpis', filter: "tenant = 'a'", fixedParameters },
      { type: 'DATASOURCES:READ', resource: 't_1', filter: 'a = 1', fixedParameters: null },
      { type: 'DATASOURCES:APPEND', resource: 'events', filter: null, fixedParameters: null },
      { type: 'PIPES:READ', resource: 'p', filter: null, fixedParameters: null },
    ],
    perSecondMax: 10,
  })
})

t.test('an integer that a double cannot hold is its digits, and no other number stands for it', async (t) => {
  const text = JSON.stringify(jwtPayload()).replace('"a1"', '[9007199254740993,-9007199254740993,9007199254740991,0.5]')
  const verdict = verifierAt().verify(signedText(text))
  if (verdict.kind !== 'accepted') throw new Error(verdict.reason)
  t.strictSame(verdict.claims.scopes[0]?.fixedParameters?.get('site_uuid'), [
    '9007199254740993',
    '-9007199254740993',
    9007199254740991,
    0.5,
  ])
})

t.test('claims that are malformed are refused, with the place', async (t) => {
  const scope = { type: 'PIPES:READ', resource: 'p' }
  const scopes = (members: object) => ({ scopes: [scope, { ...scope, ...members }] })
  const params = (fixed_params: unknown) => scopes({ fixed_params })
  const long = (length: number) => 'x'.repeat(length)
  const list = (length: number) => Array.from({ length }, (_, index) => index)
  const wrongType = 'scopes[1].type is not PIPES:READ, DATASOURCES:READ or DATASOURCES:APPEND'
  const wrongValue = 'a value in scopes[1].fixed_params is not a text, number, boolean or list of these'
  const noPipe = 'scopes[1] is not about a pipe, and takes no fixed_params'
  const cases: readonly (readonly [object, string])[] = [
    [{ workspace_id: undefined }, 'workspace_id is missing, or is not a text'],
    [{ workspace_id: 7 }, 'workspace_id is missing, or is not a text'],
    [{ workspace_id: '' }, 'workspace_id is empty'],
    [{ workspace_id: long(257) }, 'workspace_id is longer than 256 characters'],
    [{ name: null }, 'name is missing, or is not a text'],
    [{ name: long(257) }, 'name is longer than 256 characters'],
    [{ scopes: undefined }, 'scopes is not a list'],
    [{ scopes: { 0: scope } }, 'scopes is not a list'],
    [{ scopes: [] }, 'scopes is empty'],
    [{ scopes: list(101).map(() => scope) }, 'scopes has more than 100 items'],
    [{ scopes: ['PIPES:READ:p'] }, 'scopes[0] is not an object'],
    [scopes({ type: undefined }), wrongType],
    [scopes({ type: ['PIPES:READ'] }), wrongType],
    [scopes({ type: 'ADMIN' }), wrongType],
    [scopes({ type: 'TOKENS' }), wrongType],
    [scopes({ type: 'pipes:read' }), wrongType],
    [scopes({ type: 'PIPES:CREATE' }), wrongType],
    [scopes({ type: 'DATASOURCES:CREATE' }), wrongType],
    [scopes({ type: 'DROP:NAME' }), wrongType],
    [scopes({ type: 'WORKSPACE:READ_ALL' }), wrongType],
    [scopes({ type: 'ORG_DATASOURCES:READ' }), wrongType],
    [scopes({ resource: undefined }), 'scopes[1].resource is missing, or is not a text'],
    [scopes({ resource: '' }), 'scopes[1].resource is empty'],
    [scopes({ resource: long(257) }), 'scopes[1].resource is longer than 256 characters'],
    [
      scopes({ filters: 'a = 1' }),
      'scopes[1] has a member other than type, resource, fixed_params, filter, resource_id',
    ],
    [scopes({ filter: ' \n' }), 'scopes[1].filter is blank'],
    [scopes({ filter: '' }), 'scopes[1].filter is empty'],
    [scopes({ filter: null }), 'scopes[1].filter is missing, or is not a text'],
    [scopes({ filter: long(4_097) }), 'scopes[1].filter is longer than 4096 characters'],
    [scopes({ type: 'DATASOURCES:APPEND', filter: 'a = 1' }), 'scopes[1] appends, and takes no filter'],
    [scopes({ type: 'DATASOURCES:READ', fixed_params: { a: 1 } }), noPipe],
    [scopes({ type: 'DATASOURCES:APPEND', fixed_params: { a: 1 } }), noPipe],
    [params(null), 'scopes[1].fixed_params is not an object'],
    [params([]), 'scopes[1].fixed_params is not an object'],
    [params({ '': 1 }), 'a name in scopes[1].fixed_params is empty'],
    [params({ [long(257)]: 1 }), 'a name in scopes[1].fixed_params is longer than 256 characters'],
    [params({ a: null }), wrongValue],
    [params({ a: { b: 1 } }), wrongValue],
    [params({ a: [[1]] }), wrongValue],
    [params({ a: long(4_097) }), 'a value in scopes[1].fixed_params is longer than 4096 characters'],
    [params({ a: list(501) }), 'a value in scopes[1].fixed_params has more than 500 items'],
    [
      params(Object.fromEntries(list(101).map((index) => [`p${index}`, 1]))),
      'scopes[1].fixed_params has more than 100 members',
    ],
    [{ limits: null }, 'limits is not an object'],
    [{ limits: { RPS: 2 } }, 'limits has a member other than rps'],
    [{ limits: { rps: 2, burst: 3 } }, 'limits has a member other than rps'],
    [{ limits: 5 }, 'limits is not an object'],
    ...[0, -1, 1.5, '5', null, 2 ** 53].map(
      (rps) => [{ limits: { rps } }, 'limits.rps is not a whole number of at least 1'] as const,
    ),
  ]
  const verifier = verifierAt()
  for (const [members, reason] of cases) {
    t.strictSame(verifier.verify(signedText(jwtPayload({ ...members }))), { kind: 'refused', isSigned: true, reason })
  }
})

t.test('claims at their largest are accepted', async (t) => {
  const long = (length: number) => 'x'.repeat(length)
  const list = (length: number) => Array.from({ length }, (_, index) => index)
  const scope = { type: 'PIPES:READ', resource: 'p' }
  const params = (fixed_params: object) => ({ scopes: [{ ...scope, fixed_params }] })
  const cases: readonly object[] = [
    { name: undefined },
    { name: long(256) },
    { limits: {} },
    { limits: { rps: 2 ** 53 - 1 } },
    { scopes: list(100).map(() => scope) },
    { scopes: [{ ...scope, resource: long(256), filter: long(4_096) }] },
    params({ [long(256)]: long(4_096) }),
    params({ a: list(500), b: [], c: '' }),
    params(Object.fromEntries(list(100).map((index) => [`p${index}`, 1]))),
  ]
  const verifier = verifierAt()
  for (const members of cases) t.equal(reasonOf(verifier.verify(signedText(jwtPayload({ ...members })))), 'accepted')
})

t.test('a token lives from the second of nbf to the second before exp, cached or not', async (t) => {
  const token = signedText(jwtPayload({ nbf: jwtNowSeconds + 10, exp: jwtNowSeconds + 20, iat: jwtNowSeconds + 999 }))
  const clock = { seconds: jwtNowSeconds }
  const cached = verifierAt(clock)
  for (const [offset, reason] of [
    [0, 'the token is not valid yet'],
    [9.999, 'the token is not valid yet'],
    [10, 'accepted'],
    [19.999, 'accepted'],
    [20, 'the token has expired'],
    [1_000, 'the token has expired'],
  ] as const) {
    clock.seconds = jwtNowSeconds + offset
    t.equal(reasonOf(cached.verify(token)), reason, `${offset}`)
    t.equal(reasonOf(verifierAt(clock).verify(token)), reason, `new, ${offset}`)
  }
})

t.test('a clock that is set back a little revives no token, and one that was wrong is followed', async (t) => {
  const token = signedText(jwtPayload({ exp: jwtNowSeconds + 20 }))
  const clock = { seconds: jwtNowSeconds }
  const verifier = verifierAt(clock)
  const reasonAt = (seconds: number) => {
    clock.seconds = seconds
    return reasonOf(verifier.verify(token))
  }
  t.equal(reasonAt(jwtNowSeconds), 'accepted')
  t.equal(reasonAt(jwtNowSeconds + 20), 'the token has expired')
  t.equal(reasonAt(jwtNowSeconds + 19), 'the token has expired')
  t.equal(reasonAt(jwtNowSeconds - 280), 'the token has expired')
  t.equal(reasonAt(jwtNowSeconds - 281), 'accepted')
})

t.test('another key ends all tokens of the one before at once', async (t) => {
  const token = signedText(jwtPayload())
  const otherKey = `${jwtKey}2`
  const other = signedText(jwtPayload(), undefined, otherKey)
  const verifier = verifierAt()
  const reasons = () => [token, other].map((text) => reasonOf(verifier.verify(text)))
  const noKey = 'this workspace has no key that signs JWTs'
  t.strictSame(reasons(), ['accepted', 'the signature is wrong'])
  verifier.setKey(otherKey)
  t.strictSame(reasons(), ['the signature is wrong', 'accepted'])
  verifier.setKey(null)
  t.strictSame(reasons(), [noKey, noKey])
  verifier.setKey(jwtKey)
  t.strictSame(reasons(), ['accepted', 'the signature is wrong'])
})

t.test('a key of 31 bytes signs nothing, and one of 32 does', async (t) => {
  const verifier = verifierAt()
  for (const [key, kind] of [
    ['', 'refused'],
    ['x'.repeat(31), 'refused'],
    ['x'.repeat(32), 'accepted'],
    ['é'.repeat(16), 'accepted'],
  ] as const) {
    verifier.setKey(key)
    t.equal(verifier.verify(signedText(jwtPayload(), undefined, key)).kind, kind, JSON.stringify(key))
  }
})

t.test('a token of another workspace is told from others only by its signature, and only while it lives', async (t) => {
  const verifier = verifierAt()
  const payload = jwtPayload({ workspace_id: 'other' })
  t.equal(verifier.verify(signedText(payload)).kind, 'otherWorkspace')
  t.equal(verifier.verify(signedText(payload)).kind, 'otherWorkspace')
  const unsigned = { kind: 'refused', isSigned: false, reason: 'the signature is wrong' }
  t.match(verifier.verify(signedText(payload, undefined, 'y'.repeat(40))), unsigned)
  t.equal(reasonOf(verifier.verify(signedText({ ...payload, exp: jwtNowSeconds }))), 'the token has expired')
})

t.test('what is cached is the same object, and only accepted tokens push others out', async (t) => {
  const [a = '', b = '', c = ''] = ['a', 'b', 'c'].map((name) => signedText(jwtPayload({ name })))
  const verifier = verifierAt(undefined, { entriesMax: 2, weightMax: 100_000 })
  const first = verifier.verify(a)
  const second = verifier.verify(b)
  for (let count = 0; count < 10; count += 1) {
    const name = `${count}`
    verifier.verify(signedText(jwtPayload({ name }), undefined, 'z'.repeat(32)))
    verifier.verify(signedText(jwtPayload({ name, exp: jwtNowSeconds })))
    verifier.verify(signedText(jwtPayload({ name, nbf: jwtNowSeconds + 1 })))
    verifier.verify(signedText(jwtPayload({ name, workspace_id: 'other' })))
  }
  t.equal(verifier.verify(b), second)
  t.equal(verifier.verify(a), first)
  verifier.verify(c)
  t.equal(verifier.verify(a), first)
  const again = verifier.verify(b)
  t.strictSame(again, second)
  t.not(again, second)
})

t.test('the characters of all cached tokens have a largest sum', async (t) => {
  const [a = '', b = ''] = ['a', 'b'].map((name) => signedText(jwtPayload({ name })))
  for (const [weightMax, isKept] of [
    [a.length + b.length, true],
    [a.length + b.length - 1, false],
  ] as const) {
    const verifier = verifierAt(undefined, { entriesMax: 10, weightMax })
    const first = verifier.verify(a)
    verifier.verify(b)
    t.equal(verifier.verify(a) === first, isKept)
  }
})
