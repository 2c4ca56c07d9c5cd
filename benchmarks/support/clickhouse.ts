import type { Target } from './event-requests.ts'

/** Where a body of an INSERT goes, for whoever sends it; all else is asked by the official client. */
export function insertTarget(url: string, insert: string, settings: Readonly<Record<string, string>>): Target {
  return { url: `${url}/?${new URLSearchParams({ query: insert, ...settings })}`, headers: {} }
}
