import { readObject } from '../../catalog/record-fields.ts'
import type { LoadedWrite } from '../../storage/loaded-records.ts'
import { tokenRecordFormat } from './token-record.ts'
import { digestOfPlain } from './token-value.ts'

const oldFormat = 1

/**
 * The record of a token whose digest is a key that signs JWTs, as it is from now on; null for any other record. The value is not
 * needed, and neither is the key of its sealed text.
 */
export function renewOldDigest({ kind, key, value }: LoadedWrite): LoadedWrite | null {
  if (kind !== 'tokens' || typeof value !== 'object' || value === null) return null
  const fields = readObject(value, 'record')
  if (fields['format'] !== oldFormat) return null
  const { digest: old } = fields
  const digest = typeof old === 'string' ? digestOfPlain(Buffer.from(old, 'base64url')) : old
  return { kind, key, value: { ...fields, format: tokenRecordFormat, digest } }
}
