// Random tokens, beside a verifier that is written anew from the rules on node:crypto alone.

import { createHmac, timingSafeEqual } from 'node:crypto'
import t from 'tap'
import { JwtVerifier } from '../../../src/access/jwt/jwt-verifier.ts'
import { jwtKey, jwtNowSeconds, jwtPayload, jwtWorkspaceId, signedText } from '../../support/access/jwt-text.ts'
import { SeededRandom, testSeed } from '../../support/seeded-random.ts'
import { byTier } from '../../support/tier.ts'

function openVerifier(): JwtVerifier {
  const cache = { entriesMax: 1_000, weightMax: 10_000_000 }
  const verifier = new JwtVerifier({ workspaceId: jwtWorkspaceId, now: () => jwtNowSeconds * 1_000, cache })
  verifier.setKey(jwtKey)
  return verifier
}

t.test('random tokens are judged as a verifier on node:crypto judges them', async (t) => {
  const random = new SeededRandom(testSeed())
  const verifier = openVerifier()
  const count = byTier({ quick: 5_000, full: 10_000, soak: 2_000_000 })
  const judged = { accepted: 0, otherWorkspace: 0, refused: 0 }
  for (let index = 0; index < count; index += 1) {
    const token = randomToken(random)
    const { kind } = verifier.verify(token)
    const expected = referenceKind(token)
    judged[kind] += 1
    if (kind !== expected) t.equal(kind, expected, `SEED=${testSeed()}, ${index}: ${token}`)
  }
  t.ok(judged.accepted > count / 20 && judged.refused > count / 20 && judged.otherWorkspace > 10)
  t.comment(`${count} random tokens: ${JSON.stringify(judged)} (SEED=${testSeed()})`)
})

function randomToken(random: SeededRandom): string {
  const header = random.below(4) === 0 ? randomHeader(random) : { alg: 'HS256', typ: 'JWT' }
  const payload = randomPayload(random)
  let text = JSON.stringify(payload)
  if (random.below(6) === 0) text = mutated(random, text)
  if (random.below(20) === 0) text = `${text.slice(0, -1)},"${random.pick(['exp', 'x', 'n\\u0061me', 'nbf'])}":1}`
  const key = random.below(12) === 0 ? 'x'.repeat(40) : jwtKey
  const token = signedText(text, header, key)
  return random.below(12) === 0 ? mutated(random, token) : token
}

function randomHeader(random: SeededRandom): unknown {
  const alg = random.pick<unknown>(['HS256', 'HS256', 'none', 'HS512', 'hs256', undefined, null])
  const typ = random.pick<unknown>(['JWT', 'jwt', 'Jwt', undefined, 'JOSE', 1])
  const more = random.pick<object>([
    {},
    {},
    { kid: 'a' },
    { crit: ['exp'] },
    { zip: 'DEF' },
    { enc: 'x' },
    { b64: true },
  ])
  return { alg, typ, ...more }
}

function randomPayload(random: SeededRandom): Record<string, unknown> {
  const rarely = <Value>(usual: Value, ...others: [unknown, ...unknown[]]) =>
    random.below(8) === 0 ? random.pick(others) : usual
  const scope = () => ({
    type: rarely(random.pick(['PIPES:READ', 'PIPE:READ', 'DATASOURCES:READ']), 'DATASOURCE:APPEND', 'ADMIN', null),
    resource: rarely('r', '', 5, undefined),
    fixed_params: rarely(undefined, { a: 1 }, { a: [1, 'x', true] }, {}, { a: null }, [], 'x'),
    filter: rarely(undefined, 'a = 1', '', ' ', 7),
    resource_id: rarely(undefined, 't_1', '', 7),
  })
  return jwtPayload({
    workspace_id: rarely(jwtWorkspaceId, 'other', '', undefined, 5),
    exp: rarely(jwtNowSeconds + 1 + random.below(100), jwtNowSeconds, '1', undefined, 1.5, -1, 2 ** 53, 1e300),
    nbf: rarely(undefined, jwtNowSeconds, jwtNowSeconds + 1, 0, '0', null, 1.5),
    iat: rarely(undefined, jwtNowSeconds + 9, -1, 'x'),
    name: rarely('n', undefined, null, '', 'é😀'),
    scopes: rarely(
      Array.from({ length: 1 + random.below(2) }, () => rarely(scope(), null, 'PIPES:READ')),
      [],
      {},
      undefined,
    ),
    limits: rarely(undefined, { rps: 1 }, { rps: 0 }, {}, { rps: 1.5 }, null),
  })
}

function mutated(random: SeededRandom, text: string): string {
  const at = random.below(text.length)
  const one = random.pick([
    '"',
    '\\',
    ',',
    ':',
    '{',
    '}',
    '[',
    ']',
    '0',
    '9',
    'e',
    '.',
    '-',
    ' ',
    'a',
    '',
    'é',
    '\u0000',
  ])
  return `${text.slice(0, at)}${one}${text.slice(at + random.below(2))}`
}

/** The rules once more, as short as can be: slow, and without anything of the service. */
function referenceKind(token: string): 'accepted' | 'otherWorkspace' | 'refused' {
  const match = /^([\w-]+)\.([\w-]+)\.([\w-]{43})$/.exec(token)
  if (match === null || token.length > 8_192) return 'refused'
  const [, header = '', payload = '', signature = ''] = match
  const mac = createHmac('sha256', jwtKey).update(`${header}.${payload}`).digest()
  const sent = Buffer.from(signature, 'base64url')
  if (!timingSafeEqual(mac, sent) || mac.toString('base64url') !== signature) return 'refused'
  const head = referenceObject(header)
  const body = referenceObject(payload)
  if (head === null || body === null) return 'refused'
  const { alg, typ } = head
  if (alg !== 'HS256' || (typ !== undefined && !['jwt', 'JWT', 'Jwt'].includes(String(typ)))) return 'refused'
  if (['crit', 'zip', 'enc', 'b64'].some((name) => name in head)) return 'refused'
  const { workspace_id, name, exp, nbf, iat, scopes, limits } = body
  const isTime = (value: unknown) => typeof value === 'number' && Number.isSafeInteger(value) && value >= 0
  if (!isTime(exp) || Number(exp) <= jwtNowSeconds) return 'refused'
  if ([nbf, iat].some((time) => time !== undefined && !isTime(time))) return 'refused'
  if (nbf !== undefined && Number(nbf) > jwtNowSeconds) return 'refused'
  if (typeof workspace_id !== 'string' || workspace_id === '') return 'refused'
  if (name !== undefined && (typeof name !== 'string' || name === '')) return 'refused'
  if (!Array.isArray(scopes) || scopes.length === 0 || !scopes.every(isReferenceScope)) return 'refused'
  if (limits !== undefined) {
    if (!isObject(limits)) return 'refused'
    const { rps, ...others } = limits
    if (Object.keys(others).length > 0) return 'refused'
    if (rps !== undefined && !(Number.isSafeInteger(rps) && Number(rps) > 0)) return 'refused'
  }
  return workspace_id === jwtWorkspaceId ? 'accepted' : 'otherWorkspace'
}

function isReferenceScope(scope: unknown): boolean {
  if (!isObject(scope)) return false
  const { type, resource, fixed_params, filter, resource_id, ...others } = scope
  if (typeof type !== 'string' || Object.keys(others).length > 0) return false
  if (!/^(PIPES?:READ|DATASOURCES?:(READ|APPEND))$/.test(type)) return false
  if (typeof resource !== 'string' || resource === '') return false
  if (fixed_params !== undefined) {
    if (!isObject(fixed_params)) return false
    const values = Object.values(fixed_params).flatMap((value) => (Array.isArray(value) ? value : [value]))
    if (Object.keys(fixed_params).includes('')) return false
    if (!values.every((value) => ['string', 'number', 'boolean'].includes(typeof value))) return false
    if (Object.keys(fixed_params).length > 0 && !type.startsWith('PIPE')) return false
  }
  if (resource_id !== undefined && (typeof resource_id !== 'string' || resource_id === '')) return false
  const isNarrowed = filter !== undefined || (isObject(fixed_params) && Object.keys(fixed_params).length > 0)
  if (resource_id !== undefined && !isNarrowed) return false
  if (filter === undefined) return true
  return typeof filter === 'string' && filter.trim() !== '' && !type.endsWith('APPEND')
}

function referenceObject(part: string): Record<string, unknown> | null {
  const bytes = Buffer.from(part, 'base64url')
  if (bytes.toString('base64url') !== part) return null
  try {
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
    const value: unknown = JSON.parse(text)
    if (!isObject(value)) return null
    // A key that stands twice is one less in what was read than in what was written.
    const written = [...text.replaceAll(/"(?:[^"\\]|\\.)*"/g, '""').matchAll(/:/g)].length
    return written === keyCount(value) && hasFiniteNumbers(value) ? value : null
  } catch {
    return null
  }
}

function keyCount(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0
  const inner = Object.values(value).reduce((sum: number, item) => sum + keyCount(item), 0)
  return Array.isArray(value) ? inner : inner + Object.keys(value).length
}

function hasFiniteNumbers(value: unknown): boolean {
  if (typeof value === 'number') return Number.isFinite(value)
  return typeof value !== 'object' || value === null || Object.values(value).every(hasFiniteNumbers)
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
