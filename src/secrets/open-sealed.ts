import { createDecipheriv } from 'node:crypto'
import type { SealedText, SecretKey } from './secret-box.types.ts'

/** Of the texts that a box has sealed: format, id of the key, and nonce, ciphertext and tag together. */
export const sealedForm = /^1\.([\w-]{11})\.([\w-]{40,})$/
export const cipherName = 'aes-256-gcm'
export const nonceBytes = 12
export const tagBytes = 16

/** What was sealed; null when its key is missing, or the text is not as it was sealed, or belongs to another context. */
export function openSealed(
  keys: ReadonlyMap<string, SecretKey['key']>,
  sealed: SealedText,
  context: string,
): string | null {
  const [, id = '', text = ''] = sealedForm.exec(sealed) ?? []
  const key = keys.get(id)
  if (key === undefined) return null
  const bytes = Buffer.from(text, 'base64url')
  const decipher = createDecipheriv(cipherName, key, bytes.subarray(0, nonceBytes), { authTagLength: tagBytes })
  decipher.setAAD(Buffer.from(context))
  decipher.setAuthTag(bytes.subarray(-tagBytes))
  const plain = decipher.update(bytes.subarray(nonceBytes, -tagBytes))
  return isAuthentic(() => decipher.final()) ? String(JSON.parse(plain.toString())) : null
}

/** The cipher says by an exception that the tag is not that of the text and its context; it says nothing else so. */
function isAuthentic(finish: () => unknown): boolean {
  try {
    finish()
    return true
  } catch {
    return false
  }
}
