import type { AccessDeps } from '../../../src/access/access.ts'
import type { TokenSource } from '../../../src/access/token-source.types.ts'
import { createSecretComparer } from '../../../src/access/tokens/secret-comparer.ts'
import type { SealedText } from '../../../src/secrets/secret-box.types.ts'

/** A workspace without data sources and pipes. */
export const emptyLookup: AccessDeps['lookup'] = {
  version: 0,
  kindOf: () => undefined,
  find: (_kind, name) => ({ name, id: undefined, isQuarantine: false }),
}

/** What `new Access` takes for a service whose only token may do everything. */
export function adminDeps(adminToken: string): AccessDeps {
  const isAdminToken = createSecretComparer(adminToken)
  const token = {
    id: 'admin',
    makerId: 'admin',
    name: 'admin',
    expiresAt: null,
    grants: () => [{ type: 'ADMIN', resource: null, filter: null, fixedParameters: null }] as const,
    take: () => null,
  }
  const source: TokenSource = {
    find: (text) => (isAdminToken(text) ? token : undefined),
    // A box seals it elsewhere.
    version: 0,
    warrantOf: ({ makerId }) => ({ kind: 'static', tokenId: makerId, stamp: 'sealed' as SealedText }),
    findWarranted: ({ kind }) => (kind === 'static' ? token : undefined),
  }
  return { sources: [source], lookup: emptyLookup }
}
