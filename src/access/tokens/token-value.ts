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

/**
 * What a value is looked up by. The time of a look-up may tell how far two digests agree, which tells nothing of the value: its
 * secret has 256 random bits, and nobody can choose a text by its digest.
 */
export function digestOf(value: string): string {
  return createHash('sha256').update(value).digest('base64url')
}
