import { createHash, randomBytes } from 'node:crypto'

/** Clients read the part of a value between its dots: JSON in base64, `host` among it. */
const host = 'local'
const secretBytes = 32
const valueLengthMax = 512

/** The value of a new token, `p.<payload>.<secret>`: what its holder sends. */
export function createTokenValue({ workspaceId, id }: { readonly workspaceId: string; readonly id: string }): string {
  const payload = Buffer.from(JSON.stringify({ u: workspaceId, id, host })).toString('base64url')
  return `p.${payload}.${randomBytes(secretBytes).toString('base64url')}`
}

/** Whether a text can be a value that was made here. Spares other texts their digest. */
export function mayBeTokenValue(text: string): boolean {
  return text.startsWith('p.') && text.length <= valueLengthMax
}

/** Before what is digested once more. */
const digestLabel = 'millrace token look-up\n'

/**
 * What a value is looked up by, and what lies on disk of it. The SHA-256 of the value alone would be a key: HMAC takes it in the
 * place of every longer text, so whoever read it could sign JWTs as the workspace admin token does.
 *
 * The time of a look-up may tell how far two digests agree, which tells nothing of the value: its
 * secret has 256 random bits, and nobody can choose a text by its digest.
 */
export function digestOf(value: string): string {
  return digestOfPlain(createHash('sha256').update(value).digest())
}

/** The same from the SHA-256 of the value, which earlier releases kept. */
export function digestOfPlain(plainDigest: Uint8Array): string {
  return createHash('sha256').update(digestLabel).update(plainDigest).digest('base64url')
}
