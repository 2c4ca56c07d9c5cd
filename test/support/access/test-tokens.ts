import type { AccessDeps } from '../../../src/access/access.ts'
import { Permissions } from '../../../src/access/permissions.ts'
import type { ResourceKind } from '../../../src/access/scopes/scope-types.ts'
import { openTokens, type TokensDeps, type TokensOptions, tokenKinds } from '../../../src/access/tokens/open-tokens.ts'
import type { StaticToken, TokenEditor } from '../../../src/access/tokens/token.types.ts'
import type { TokenBook } from '../../../src/access/tokens/token-book.ts'
import { loadRecords } from '../../../src/storage/loaded-records.ts'
import type { RecordStorage } from '../../../src/storage/storage.types.ts'
import { testBox } from '../secrets.ts'
import { emptyLookup } from './admin-access.ts'

/** What exists in a workspace of a test, by id. */
export class TestResources {
  version = 0
  readonly #resources = new Map<string, { readonly kind: ResourceKind; readonly name: string }>()

  readonly lookup: AccessDeps['lookup'] = this.#createLookup()

  put(id: string, kind: ResourceKind, name: string): void {
    this.#resources.set(id, { kind, name })
    this.version += 1
  }

  drop(id: string): void {
    this.#resources.delete(id)
    this.version += 1
  }

  #createLookup(): AccessDeps['lookup'] {
    const resources = this.#resources
    const version = () => this.version
    return {
      get version() {
        return version()
      },
      kindOf: (id) => resources.get(id)?.kind,
      find: (kind, nameOrId) => {
        const found = [...resources].find(
          ([id, one]) => one.kind === kind && (id === nameOrId || one.name === nameOrId),
        )
        return { name: nameOrId, id: found?.[0], isQuarantine: false }
      },
    }
  }
}

export interface TestTokens {
  readonly tokens: TokenBook
  /** What the log was told. */
  readonly entries: { readonly fields: object; readonly message: string }[]
  /** Values that were put where people look for them. */
  readonly keptValues: string[]
}

const box = testBox()

export interface OpenedOver extends Partial<Omit<TokensDeps, 'records' | 'keepAdminValue'>> {
  readonly storage: RecordStorage
}

/** Tokens as a start opens them over a storage. */
export async function openTestTokens(
  { storage, ...deps }: OpenedOver,
  options: Partial<TokensOptions> = {},
): Promise<TestTokens> {
  const entries: { readonly fields: object; readonly message: string }[] = []
  const keptValues: string[] = []
  const log = (fields: object, message: string) => void entries.push({ fields, message })
  const tokens = await openTokens(
    {
      tokensMax: 100,
      tokenBytesMax: 1_000_000,
      tokensBytesMax: 10_000_000,
      now: () => Date.UTC(2026, 0, 2),
      ...options,
    },
    {
      records: await loadRecords(storage, tokenKinds),
      box,
      lookup: emptyLookup,
      readAdminValue: async () => null,
      logger: { debug: log, info: log, warn: log, error: log },
      keepAdminValue: async (value) => void keptValues.push(value),
      ...deps,
    },
  )
  return { tokens, entries, keptValues }
}

/** The service itself. */
export const adminEditor: TokenEditor = {
  tokenId: null,
  tokenName: 'test',
  permissions: new Permissions([{ type: 'ADMIN', resource: null, filter: null, fixedParameters: null }], emptyLookup),
}

/** A token that changes others. */
export function editorOf({ id, name }: StaticToken): TokenEditor {
  return { tokenId: id, tokenName: name, permissions: new Permissions([], emptyLookup) }
}
