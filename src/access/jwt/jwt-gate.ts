// What must hold before the library sees a token. The library takes more than one spelling of a token (unused bits of the last
// character, keys that stand twice) and throws on some numbers; behind this gate each token has exactly one spelling.

import { JwtFault } from './jwt-fault.ts'
import { type JwtJson, type JwtObject, readJwtObject } from './jwt-json.ts'

/** The most characters that a token may have: 8 KiB, as it is ASCII. */
export const jwtCharactersMax = 8 * 1024

const signatureBytes = 32

/** A token whose form is right. Its signature has not been looked at. */
export interface GatedJwt {
  readonly payload: JwtObject
  readonly expiresAtSeconds: number
  /** Null where the token has none. */
  readonly notBeforeSeconds: number | null
}

/**
 * Takes a token apart if it is well formed: at most 8 KiB, three parts in canonical base64url, a header that says HS256 and
 * asks for nothing else, a payload with a time of expiry. Of the header only `alg`, `typ`, and what must be refused is read:
 * keys, and addresses of keys, are never followed.
 *
 * @throws JwtFault for every other text.
 */
export function gateJwt(text: string): GatedJwt {
  if (text.length > jwtCharactersMax) throw new JwtFault(`the token is longer than ${jwtCharactersMax} characters`)
  const [header, payload, signature, ...more] = text.split('.', 4)
  if (header === undefined || payload === undefined || signature === undefined || more.length > 0) {
    throw new JwtFault('the token does not have three parts')
  }
  checkHeader(readJwtObject(decode(header), 'the header'))
  if (decode(signature).length !== signatureBytes) {
    throw new JwtFault(`the signature does not have ${signatureBytes} bytes`)
  }
  return withTimes(readJwtObject(decode(payload), 'the payload'))
}

/** Decoding passes over what is not base64url; encoding again shows whether there was any. */
function decode(part: string): Buffer {
  const bytes = Buffer.from(part, 'base64url')
  if (part === '' || bytes.toString('base64url') !== part) {
    throw new JwtFault('a part of the token is not canonical base64url without padding')
  }
  return bytes
}

/** Each of them would change what is signed, or how the payload is to be read. */
const refusedHeaders = ['crit', 'zip', 'enc', 'b64'] as const

function checkHeader(header: JwtObject): void {
  if (header.get('alg') !== 'HS256') throw new JwtFault('alg of the header is not HS256')
  const type = header.get('typ')
  if (type !== undefined && !(typeof type === 'string' && /^jwt$/i.test(type))) {
    throw new JwtFault('typ of the header is not JWT')
  }
  for (const name of refusedHeaders) {
    if (header.has(name)) throw new JwtFault(`the header has ${name}, which is not supported`)
  }
}

function withTimes(payload: JwtObject): GatedJwt {
  const expiresAtSeconds = readSeconds(payload, 'exp')
  if (expiresAtSeconds === null) throw new JwtFault('exp is missing')
  readSeconds(payload, 'iat')
  return { payload, expiresAtSeconds, notBeforeSeconds: readSeconds(payload, 'nbf') }
}

/** Null where it is absent. */
function readSeconds(payload: JwtObject, name: string): number | null {
  const value = payload.get(name)
  if (value === undefined) return null
  if (!isSeconds(value)) throw new JwtFault(`${name} is not a whole number of seconds since 1970`)
  return value
}

function isSeconds(value: JwtJson): value is number {
  return Number.isSafeInteger(value) && Number(value) >= 0 && !Object.is(value, -0)
}
