import type { RecordKind } from './storage.types.ts'

/**
 * Whether a record holds nothing but counts and times, which the service can do without: damaged, it is begun anew, and keeps no start
 * from going on. What is lost with it is how much of a limit was used, who was told of it, or when a token was used last.
 */
export function isDisposable(kind: RecordKind, key: string): boolean {
  if (kind === 'token_uses') return true
  return kind === 'settings' && (key === notificationsSetting || key.startsWith(limitSettingsPrefix))
}

export const notificationsSetting = 'notifications'
/** The setting `limit_<name>` has what was counted of a limit. */
export const limitSettingsPrefix = 'limit_'

/** The kinds that have disposable records. */
export const disposableKinds: readonly RecordKind[] = ['settings', 'token_uses']
