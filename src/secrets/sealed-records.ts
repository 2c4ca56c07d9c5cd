// Records with a sealed text in their field `sealed`, as they lie in the storage, whatever else they are.

import type { LoadedWrite } from '../storage/loaded-records.ts'
import type { RecordKind, RecordStorage } from '../storage/storage.types.ts'
import { contextOf, isSealedText } from './secret-box.ts'
import type { SealedText, SecretBox } from './secret-box.types.ts'

/** The kinds whose records may have a sealed text. */
export const sealedKinds: readonly RecordKind[] = ['variables', 'workspace', 'tokens']

/** A record of an earlier release, which has a secret in it that is not sealed, as it is from now on; null for any other. */
export type SealPlain = (record: LoadedWrite, box: SecretBox) => LoadedWrite | null

/** What is found in a storage when its records are looked through. */
export interface SealedSurvey {
  readonly plainCount: number
  /** How many of the sealed ones have no key, by kind; kinds without any are left out. */
  readonly lostCounts: Readonly<Partial<Record<RecordKind, number>>>
}

/** The sealed text of a record; null when it has none. */
export function sealedTextOf(value: unknown): SealedText | null {
  const sealed = typeof value === 'object' && value !== null && 'sealed' in value ? value.sealed : null
  return isSealedText(sealed) ? sealed : null
}

/** The record with its text sealed by the first key of the box; the record itself where that is so, or cannot be. */
export function resealed(record: LoadedWrite, box: SecretBox): LoadedWrite {
  const { kind, key, value } = record
  const sealed = sealedTextOf(value)
  if (sealed === null) return record
  const context = contextOf(kind, key)
  const plain = box.open(sealed, context)
  // Just found: an object with the field `sealed`.
  return plain === null ? record : { ...record, value: { ...(value as object), sealed: box.seal(plain, context) } }
}

/** Counts the records with secrets. */
export async function surveySecrets(
  storage: RecordStorage,
  box: SecretBox,
  sealPlain: readonly SealPlain[],
): Promise<SealedSurvey> {
  let plainCount = 0
  const lostCounts: Partial<Record<RecordKind, number>> = {}
  for (const kind of [...sealedKinds, 'settings'] as const) {
    for (const { key, value } of await storage.list(kind)) {
      const sealed = sealedTextOf(value)
      if (sealPlain.some((seal) => seal({ kind, key, value }, box) !== null)) plainCount += 1
      if (sealed !== null && !box.hasKeyOf(sealed)) lostCounts[kind] = (lostCounts[kind] ?? 0) + 1
    }
  }
  return { plainCount, lostCounts }
}
