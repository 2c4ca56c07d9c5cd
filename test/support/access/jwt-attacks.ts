// Tokens that must not be accepted, each with one fault; where a fault is not in the signature, the right key signed them.

import { createHash, createHmac, createSign, generateKeyPairSync } from 'node:crypto'
import { deflateRawSync, gzipSync } from 'node:zlib'
import { jwtKey, jwtNowSeconds, jwtPayload, jwtWorkspaceId, signedText } from './jwt-text.ts'

/** A token that is accepted. */
export const goodJwt = signedText(jwtPayload())
const [goodHeader = '', goodPayload = '', goodSignature = ''] = goodJwt.split('.')
/** Its payload. */
export const goodJwtText = JSON.stringify(jwtPayload())

/** A header with these members besides its own, signed with the right key. */
function withHeader(members: object): string {
  return signedText(jwtPayload(), { alg: 'HS256', typ: 'JWT', ...members })
}

/** A payload with a text for its time of expiry, signed with the right key. */
export function withExpiry(text: string): string {
  return signedText(goodJwtText.replace(/"exp":\d+/, `"exp":${text}`))
}

function base64url(text: string | Buffer): string {
  return Buffer.from(text).toString('base64url')
}

/** Known attacks, by what they try. */
export function jwtAttacks(): Readonly<Record<string, readonly string[]>> {
  return {
    'algorithms and headers': headers(),
    'confusions of keys': confusions(),
    'addresses of keys': keyAddresses(),
    'duplicate keys': duplicates(),
    times: times(),
    'scopes and workspaces': scopeAttacks(),
    spellings: spellings(),
    sizes: sizes(),
  }
}

/** Without a signature, or with the good one of another header. */
function withAlgorithm(alg: unknown): readonly string[] {
  const header = base64url(JSON.stringify({ alg, typ: 'JWT' }))
  const input = `${header}.${goodPayload}`
  return [`${input}.`, input, `${input}.${goodSignature}`, signedText(jwtPayload(), { alg, typ: 'JWT' })]
}

const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
const publicPem = publicKey.export({ type: 'spki', format: 'pem' }).toString()

function confusions(): readonly string[] {
  const input = `${base64url('{"alg":"RS256","typ":"JWT"}')}.${goodPayload}`
  const signature = createSign('RSA-SHA256').update(input).sign(privateKey).toString('base64url')
  const jwk = publicKey.export({ format: 'jwk' })
  const symmetric = { kty: 'oct', k: base64url('attacker-attacker-attacker-attacker') }
  const own = 'attacker-attacker-attacker-attacker'
  return [
    `${input}.${signature}`,
    signedText(jwtPayload(), undefined, publicPem),
    signedText(jwtPayload(), undefined, publicPem.trim()),
    signedText(jwtPayload(), undefined, JSON.stringify(jwk)),
    signedText(jwtPayload(), { alg: 'HS256', jwk: symmetric }, own),
    signedText(jwtPayload(), { alg: 'HS256', jwk }, publicPem),
    signedText(jwtPayload(), { alg: 'HS256', x5c: [publicPem] }, publicPem),
    ...['', '\0', 'secret', jwtWorkspaceId, jwtKey.slice(0, -1), `${jwtKey}\n`, jwtKey.toUpperCase()].map((key) =>
      signedText(jwtPayload(), undefined, key),
    ),
    // The digest without the key.
    `${goodHeader}.${goodPayload}.${createHash('sha256').update(`${goodHeader}.${goodPayload}`).digest('base64url')}`,
    // Other digests with the right key.
    ...['sha1', 'sha384', 'sha512', 'sha512-256'].map(
      (digest) =>
        `${goodHeader}.${goodPayload}.${createHmac(digest, jwtKey).update(`${goodHeader}.${goodPayload}`).digest('base64url')}`,
    ),
  ]
}

/** Addresses of keys, which are not followed: what the attacker's key signed stays unsigned. */
function keyAddresses(): readonly string[] {
  const empty = ''
  const kids: readonly unknown[] = [
    '/dev/null',
    '../../../../dev/null',
    '../../../../etc/passwd',
    'file:///dev/null',
    'http://127.0.0.1:1/key',
    "' UNION SELECT 'attacker",
    '| id',
    '\u0000',
    null,
    7,
    ['/dev/null'],
    { path: '/dev/null' },
    '__proto__',
  ]
  return [
    ...kids.flatMap((kid) => [empty, 'attacker'].map((key) => signedText(jwtPayload(), { alg: 'HS256', kid }, key))),
    ...['jku', 'x5u', 'jwk', 'x5c', 'x5t', 'x5t#S256', 'iss'].map((name) =>
      signedText(jwtPayload(), { alg: 'HS256', [name]: 'http://127.0.0.1:1/keys.json' }, 'attacker'),
    ),
  ]
}

function headers(): readonly string[] {
  const algorithms: readonly unknown[] = [
    ...['none', 'None', 'NONE', 'nOnE', 'none ', ' none', 'none\u0000', ''],
    ...['RS256', 'RS512', 'PS256', 'ES256', 'EdDSA', 'HS384', 'HS512', 'HS1', 'dir', 'A256GCMKW', 'RSA-OAEP'],
    ...['hs256', 'Hs256', 'HS256 ', ' HS256', 'HS256\u0000', 'HS-256', 'HS256,none', 'HMACSHA256'],
    // Look-alikes: Cyrillic, full-width, mathematical, Arabic-Indic digits, a letter that grows to S, invisible ones.
    ...[
      'НS256',
      'HЅ256',
      'ＨＳ２５６',
      '𝐇𝐒𝟐𝟓𝟔',
      'HS٢٥٦',
      'Hſ256',
      'HS256\u200b',
      '\ufeffHS256',
      'HS2\u00ad56',
      'HS２56',
    ],
    ...[null, undefined, true, false, 0, 256, [], {}, ['HS256'], { HS256: true }],
  ]
  const types: readonly unknown[] = [
    'JWE',
    'JOSE',
    'at+jwt',
    'application/jwt',
    'JWT ',
    '',
    'ЈWT',
    null,
    1,
    true,
    ['JWT'],
    {},
  ]
  return [
    ...algorithms.flatMap(withAlgorithm),
    ...types.map((typ) => withHeader({ typ })),
    ...[['exp'], ['b64'], [], ['x'], '', 'exp', null, false, {}].map((crit) => withHeader({ crit, x: 1 })),
    withHeader({ crit: ['b64'], b64: false }),
    withHeader({ b64: true }),
    withHeader({ enc: 'A256GCM' }),
    ...['DEF', 'GZ', '', null].map((zip) => withHeader({ zip })),
    ...[
      '[]',
      'null',
      '"HS256"',
      '1',
      'true',
      '',
      '{',
      '{}',
      '{"alg":"HS256"}x',
      '{"alg":"HS256",}',
      "{'alg':'HS256'}",
    ].map((header) => signedText(jwtPayload(), header)),
    ...['{"__proto__":{"alg":"HS256"}}', '{"ALG":"HS256"}', '{"alg ":"HS256"}', '{"\u200balg":"HS256"}'].map((header) =>
      signedText(jwtPayload(), header),
    ),
  ]
}

/** Each of them is another thing to two readers of JSON. */
function duplicates(): readonly string[] {
  const twice = [
    '{"alg":"HS256","alg":"none"}',
    '{"alg":"none","alg":"HS256"}',
    '{"alg":"HS256","alg":"HS256"}',
    '{"alg":"HS256","\\u0061lg":"none"}',
    '{"\\u0061\\u006c\\u0067":"none","alg":"HS256"}',
    '{"alg":"HS256","x":{"a":1,"a":1}}',
    '{"alg":"HS256","x":[[{"a":1,"\\u0061":1}]]}',
    '{"alg":"HS256","":1,"":2}',
    '{"alg":"HS256","__proto__":1,"__proto__":2}',
    '{"alg":"HS256","a\\/b":1,"a/b":2}',
    '{"alg":"HS256","\\ud83d\\ude00":1,"😀":2}',
    '{"alg":"HS256"  ,\n\t"alg"\r:"none"}',
  ]
  const last = (members: string) => `${goodJwtText.slice(0, -1)},${members}}`
  const payloads = [
    last('"exp":9999999999'),
    last('"\\u0065xp":9999999999'),
    last('"e\\u0078p":9999999999'),
    last('"workspace_id":"other"'),
    last('"scopes":[]'),
    last('"name":"x"'),
    last('"x":1,"x":1'),
    last('"x":[{"y":{"z":1,"z":1}}]'),
    `{"exp":1,${goodJwtText.slice(1)}`,
    goodJwtText.replace('"resource":', '"resource":"other","resource":'),
    goodJwtText.replace('"site_uuid":', '"site_uuid":"b","site_uuid":'),
    goodJwtText.replace('"site_uuid":', '"site\\u005fuuid":"b","site_uuid":'),
    goodJwtText.replace('"fixed_params":', '"fixed_params":{},"fixed_params":'),
    goodJwtText.replace('"type":', '"type":"ADMIN","type":'),
  ]
  return [...twice.map((header) => signedText(jwtPayload(), header)), ...payloads.map((payload) => signedText(payload))]
}

function times(): readonly string[] {
  const now = jwtNowSeconds
  const broken = [
    ...['1e300', '1e999', '-1e999', '1e400', '-0', '0', '-1', '-1e300', '0.5', `${now + 10}.5`, `${now + 10}.000001`],
    ...[
      '9007199254740992',
      '9007199254740993',
      '18446744073709551616',
      '9'.repeat(400),
      '1'.repeat(79),
      `-${'9'.repeat(30)}`,
    ],
    ...[`"${now + 10}"`, '"9999999999"', '""', '"never"', '"2099-01-01T00:00:00Z"', `"${now + 10}e0"`, '"1e300"'],
    ...['null', 'true', 'false', '[]', '{}', `[${now + 10}]`, `{"$gt":0}`, `{"valueOf":${now + 10}}`],
    ...['NaN', 'Infinity', '-Infinity', `+${now}`, `0x7fffffff`, `0${now}`, `${now}_000`, `${now}n`, '.5', '5.', ''],
  ]
  return [
    ...broken.map(withExpiry),
    withExpiry(String(now)),
    withExpiry(String(now - 1)),
    signedText(goodJwtText.replace(/"exp":\d+,/, '')),
    signedText(goodJwtText.replace('"exp"', '"Exp"')),
    signedText(goodJwtText.replace('"exp"', '"ехр"')),
    signedText(goodJwtText.replace('"exp":', '"__proto__":{"exp":9999999999},"x":')),
    ...broken
      .filter((text) => text !== '0')
      .flatMap((text) => ['nbf', 'iat'].map((name) => signedText(`${goodJwtText.slice(0, -1)},"${name}":${text}}`))),
    signedText(jwtPayload({ nbf: now + 1 })),
  ]
}

function scopeAttacks(): readonly string[] {
  const scope = { type: 'PIPES:READ', resource: 'p' }
  const types = [
    'ADMIN',
    'TOKENS',
    'ＰＩＰＥＳ:READ',
    'PIPEſ:READ',
    'PIPES:READ\u0000',
    'DATASOURCES:CREATE',
    'constructor',
  ]
  return [
    ...types.flatMap((type) => [
      signedText(jwtPayload({ scopes: [{ ...scope, type }] })),
      signedText(jwtPayload({ scopes: [scope, { ...scope, type }] })),
    ]),
    signedText(jwtPayload({ scopes: [{ ...scope, resource: '\ud800' }] })),
    signedText(jwtPayload({ scopes: [{ ...scope, fixed_params: { a: 'x\udfff' } }] })),
    signedText(goodJwtText.replace('"a1"', '1e999')),
    signedText(goodJwtText.replace('"scopes":', '"__proto__":')),
    signedText(jwtPayload({ workspace_id: 'other' })),
    signedText(jwtPayload({ workspace_id: jwtWorkspaceId.toUpperCase() })),
    signedText(jwtPayload({ workspace_id: `${jwtWorkspaceId}\u200b` })),
  ]
}

/** Other spellings of the good token, and bytes that are no JSON object in UTF-8; all are signed as they stand. */
function spellings(): readonly string[] {
  const reSigned = (header: string, payload: string) => {
    const input = `${header}.${payload}`
    return `${input}.${createHmac('sha256', jwtKey).update(input).digest('base64url')}`
  }
  const wide = base64url(JSON.stringify(jwtPayload({ name: '>>>???~~~' })))
  const plain = wide.replaceAll('-', '+').replaceAll('_', '/')
  const padded = base64url(`${goodJwtText}${' '.repeat((5 - (Buffer.byteLength(goodJwtText) % 3)) % 3)}`)
  const bytes = Buffer.from(goodJwtText)
  const nested = base64url(JSON.stringify(goodJwt))
  const payloads: readonly Buffer[] = [
    Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), bytes]),
    Buffer.from(goodJwtText, 'utf16le'),
    Buffer.concat([Buffer.from([0xff, 0xfe]), Buffer.from(goodJwtText, 'utf16le')]),
    // Invalid UTF-8 in a text: a lone byte, an overlong slash, an encoded surrogate, a cut character.
    ...[[0xff], [0xc0, 0xaf], [0xed, 0xa0, 0x80], [0xe2, 0x82], [0xf8, 0x88, 0x80, 0x80, 0x80]].map((wrong) => {
      const at = bytes.indexOf('tenant')
      return Buffer.concat([bytes.subarray(0, at), Buffer.from(wrong), bytes.subarray(at)])
    }),
    deflateRawSync(bytes),
    gzipSync(bytes),
    Buffer.from(JSON.stringify(goodJwt)),
    Buffer.from(goodJwt),
    Buffer.from(`[${goodJwtText}]`),
    Buffer.from(`${goodJwtText}${goodJwtText}`),
    Buffer.from(`${goodJwtText}\u0000`),
    Buffer.from(`${goodJwtText}//`),
    Buffer.from(goodJwtText.replace('tenant', 'ten\nant')),
    Buffer.from('\u00a0'.concat(goodJwtText)),
    ...['', '{}', '[]', 'null', 'true', '1', '"x"', ' '].map((text) => Buffer.from(text)),
  ]
  return [
    `${goodJwt}=`,
    `${goodJwt}.`,
    `.${goodJwt}`,
    `${goodJwt}..`,
    `${goodJwt}.${goodSignature}`,
    `${goodHeader}.${goodPayload}.`,
    `${goodHeader}.${goodPayload}`,
    `${goodHeader}..${goodSignature}`,
    `.${goodPayload}.${goodSignature}`,
    `${goodHeader}.${goodPayload}.${goodSignature.slice(0, -1)}`,
    `${goodHeader}.${goodPayload}.${goodSignature}A`,
    `${goodHeader}.${goodPayload}.${goodSignature}AA`,
    `${goodHeader}.${goodPayload}.${goodSignature}${goodSignature}`,
    `${goodPayload}.${goodHeader}.${goodSignature}`,
    ...[' ', '\t', '\n', '\r\n', '\u0000', '\u00a0', '\u200b', '\ufeff', '=', '%00', '%2e'].flatMap((blank) => [
      `${blank}${goodJwt}`,
      `${goodJwt}${blank}`,
      goodJwt.replace('.', `${blank}.`),
      goodJwt.replace('.', `.${blank}`),
    ]),
    ...['。', '．', '․', '..', ',', ':', '%2E'].map((dot) => goodJwt.replace('.', dot)),
    reSigned(goodHeader, plain),
    reSigned(goodHeader, `${padded}=`),
    reSigned(goodHeader, `${padded}==`),
    reSigned(`${goodHeader}=`, goodPayload),
    reSigned(goodHeader, `${goodPayload.slice(0, 9)}\n${goodPayload.slice(9)}`),
    reSigned(goodHeader, goodPayload.replace('a', 'а')),
    reSigned(goodHeader, `${goodPayload}A`),
    reSigned(goodHeader, nested),
    signedText(goodJwt, { alg: 'HS256', typ: 'JWT', cty: 'JWT' }),
    ...payloads.map((payload) => signedText(payload)),
    // Encrypted: five parts.
    `${base64url('{"alg":"dir","enc":"A256GCM"}')}..${goodSignature}.${goodPayload}.${goodSignature}`,
    `${base64url('{"alg":"HS256","enc":"A256GCM"}')}.${goodPayload}.${goodSignature}.${goodPayload}.${goodSignature}`,
    // The JSON serialization, and other tokens than JWTs.
    JSON.stringify({ protected: goodHeader, payload: goodPayload, signature: goodSignature }),
    ...['', '.', '..', '...', 'a.b.c', jwtKey, `Bearer ${goodJwt}`, '.'.repeat(8_192), '__proto__', 'toString'],
  ]
}

function sizes(): readonly string[] {
  const deep = (open: string, close: string, levels: number) => `${open.repeat(levels)}${close.repeat(levels)}`
  const last = (value: string) => signedText(`${goodJwtText.slice(0, -1)},"x":${value}}`)
  return [
    jwtOfLength(8_193),
    jwtOfLength(9_000),
    signedText(jwtPayload({ x: 'y'.repeat(1_000_000) })),
    last(deep('[', ']', 16)),
    last(deep('[', ']', 2_500)),
    last(deep('{"a":', '}', 16).replace('}', '1}')),
    last('['.repeat(2_000)),
    signedText(jwtPayload(), `{"alg":"HS256","x":${deep('[', ']', 16)}}`),
    last(`{${Array.from({ length: 1_100 }, (_, index) => `"${index}":0`).join(',')}}`).slice(0, 8_192),
    'x'.repeat(10_000_000),
  ]
}

/** A good token of so many characters, as near as base64url comes. */
export function jwtOfLength(length: number): string {
  for (let padding = 0; ; padding += 1) {
    const token = signedText(jwtPayload({ x: 'y'.repeat(Math.max(0, Math.floor((length * 3) / 4) - 400) + padding) }))
    if (token.length >= length) return token
  }
}
