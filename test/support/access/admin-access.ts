import type { AccessDeps } from '../../../src/access/access.ts'
import { AdminTokenSource } from '../../../src/access/admin-token-source.ts'

/** A workspace without data sources and pipes. */
export const emptyLookup: AccessDeps['lookup'] = {
  version: 0,
  kindOf: () => undefined,
  find: (_kind, name) => ({ name, id: undefined, isQuarantine: false }),
}

/** What `new Access` takes for a service whose only token may do everything. */
export function adminDeps(adminToken: string): AccessDeps {
  return { sources: [new AdminTokenSource(adminToken)], lookup: emptyLookup }
}
