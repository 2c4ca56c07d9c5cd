// Tokens that must not be accepted: the known attacks, and every change of one character.

import t from 'tap'
import { JwtVerifier } from '../../../src/access/jwt/jwt-verifier.ts'
import { goodJwt, goodJwtText, jwtAttacks, jwtOfLength, withExpiry } from '../../support/access/jwt-attacks.ts'
import { jwtKey, jwtNowSeconds, jwtPayload, jwtWorkspaceId, signedText } from '../../support/access/jwt-text.ts'

function openVerifier(): JwtVerifier {
  const cache = { entriesMax: 1_000, weightMax: 10_000_000 }
  const verifier = new JwtVerifier({ workspaceId: jwtWorkspaceId, now: () => jwtNowSeconds * 1_000, cache })
  verifier.setKey(jwtKey)
  return verifier
}

t.test('no known attack is accepted', async (t) => {
  const verifier = openVerifier()
  // Accepted before and after: what is cached helps no attack, and none of them harms it.
  t.equal(verifier.verify(goodJwt).kind, 'accepted')
  let count = 0
  for (const [name, tokens] of Object.entries(jwtAttacks())) {
    const accepted = tokens.filter((token) => verifier.verify(token).kind === 'accepted')
    t.strictSame(accepted, [], name)
    t.comment(`${name}: ${tokens.length} tokens, ${accepted.length} accepted`)
    count += new Set(tokens).size
  }
  t.equal(verifier.verify(goodJwt).kind, 'accepted')
  t.comment(`${count} different attacks, 0 accepted`)
})

t.test('tokens that look odd and are right are accepted', async (t) => {
  const verifier = openVerifier()
  const odd = [
    signedText(jwtPayload(), { alg: 'HS256' }),
    signedText(jwtPayload(), { alg: 'HS256', typ: 'jwt' }),
    signedText(jwtPayload(), { typ: 'JWT', alg: 'HS256', kid: '../../key', jku: 'http://127.0.0.1:1/', cty: 'json' }),
    signedText(jwtPayload(), '{"\\u0061lg":"HS256"}'),
    signedText(` \n${goodJwtText.replaceAll(',', ' ,\t').replaceAll(':"', ' :\r\n"')} `),
    signedText(goodJwtText.replace('tenant acme', '\\u0074\\ud83d\\ude00\\/é')),
    withExpiry('1.9e9'),
    withExpiry('9007199254740991'),
    signedText(jwtPayload({ nbf: 0, iat: 0 })),
    signedText(`${goodJwtText.slice(0, -1)},"__proto__":{"exp":1},"constructor":1,"toString":null}`),
    signedText(`${goodJwtText.slice(0, -1)},"x":${'['.repeat(15)}${']'.repeat(15)}}`),
    jwtOfLength(8_190),
  ]
  for (const token of odd) t.equal(verifier.verify(token).kind, 'accepted')
})

t.test('a token of 8,192 characters is accepted, and one of more is not', async (t) => {
  const verifier = openVerifier()
  const tokens = Array.from({ length: 40 }, (_, index) => {
    const base = 'y'.repeat(5_700 + index * 12)
    return ['', 'y', 'yy', 'yyy'].map((more) => signedText(jwtPayload({ x: `${base}${more}` })))
  }).flat()
  const lengths = new Set(tokens.map(({ length }) => length))
  t.ok(lengths.has(8_192) || lengths.has(8_191))
  t.ok(lengths.has(8_193) || lengths.has(8_194))
  for (const token of tokens) {
    t.equal(verifier.verify(token).kind, token.length <= 8_192 ? 'accepted' : 'refused', `${token.length}`)
  }
})

t.test('a token with any one character changed, left out, doubled or added is refused', async (t) => {
  const alphabet = [...'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.', ...'=+/ \n\u0000éА']
  const verifier = openVerifier()
  let count = 0
  const accepted: string[] = []
  const tryOne = (token: string) => {
    count += 1
    if (token !== goodJwt && verifier.verify(token).kind === 'accepted') accepted.push(token)
  }
  for (let at = 0; at <= goodJwt.length; at += 1) {
    const [before, after] = [goodJwt.slice(0, at), goodJwt.slice(at)]
    for (const character of alphabet) {
      if (at < goodJwt.length) tryOne(`${before}${character}${after.slice(1)}`)
      tryOne(`${before}${character}${after}`)
    }
    tryOne(`${before}${after.slice(1)}`)
    tryOne(`${before}${after.charAt(0)}${after}`)
    tryOne(before)
    tryOne(after)
  }
  t.strictSame(accepted, [])
  t.comment(`${count} changes of one character, ${accepted.length} accepted`)
})
