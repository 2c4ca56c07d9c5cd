// Keys as texts of a file: one a line, 32 bytes in base64. The first one seals, all of them open.

import { createHmac, createSecretKey, randomBytes } from 'node:crypto'
import type { SecretKey } from './secret-box.types.ts'

const keyBytes = 32
const idBytes = 8
const line = /^[A-Za-z0-9+/]{43}=$/
/** Of one file: more are no rotation that was cut off. */
export const secretKeysMax = 16

export function createSecretKeyOfRandom(): SecretKey {
  return keyOf(randomBytes(keyBytes))
}

/** The keys of a file's text; null when it is no such text. */
export function parseKeys(text: string): readonly [SecretKey, ...SecretKey[]] | null {
  const lines = text
    .split('\n')
    .map((one) => one.trim())
    .filter((one) => one !== '')
  if (lines.length > secretKeysMax || !lines.every((one) => line.test(one))) return null
  const [first, ...others] = lines.map((one) => keyOf(Buffer.from(one, 'base64')))
  return first === undefined ? null : [first, ...others]
}

/** The text of the file that has these keys. */
export function printKeys(keys: readonly SecretKey[]): string {
  return keys.map(({ key }) => `${key.export().toString('base64')}\n`).join('')
}

function keyOf(bytes: Buffer): SecretKey {
  const id = createHmac('sha256', bytes).update('millrace secret key').digest().subarray(0, idBytes)
  return { id: id.toString('base64url'), key: createSecretKey(bytes) }
}
