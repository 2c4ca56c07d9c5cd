// Who changed which token: a record of its own for each change, without any value.

import {
  checkFormat,
  readInteger,
  readOneOf,
  readRecord,
  readString,
  readStringOrNull,
  readStrings,
} from '../../catalog/record-fields.ts'
import { shortenedText } from '../../shared/beginning-of.ts'
import type { LoadedWrite } from '../../storage/loaded-records.ts'
import type { Scope } from '../scopes/scope.types.ts'
import { type ScopeType, scopeTypes } from '../scopes/scope-types.ts'
import type { StaticToken, TokenAction, TokenAuditLine, TokenEditor } from './token.types.ts'

const recordFormat = 1
const numberDigits = 12
const scopesShownMax = 10
const scopeLengthMax = 200

export class TokenAudit {
  readonly #linesMax: number
  /** By the keys of their records, oldest first. */
  readonly #lines = new Map<string, TokenAuditLine>()
  #lastNumber = 0

  /** @throws CatalogRecordError */
  constructor(records: ReadonlyMap<string, unknown>, linesMax: number) {
    this.#linesMax = linesMax
    for (const key of [...records.keys()].sort()) {
      this.#lines.set(key, decodeLine(key, records.get(key)))
      this.#lastNumber = Number(key)
    }
  }

  lines(): readonly TokenAuditLine[] {
    return [...this.#lines.values()]
  }

  /** What writes a line, and removes those that are too many with it. */
  writesOf(line: TokenAuditLine): readonly LoadedWrite[] {
    const oldCount = Math.max(this.#lines.size + 1 - this.#linesMax, 0)
    const oldKeys = [...this.#lines.keys()].slice(0, oldCount)
    return [
      { kind: 'token_audit', key: this.#nextKey(), value: { format: recordFormat, ...line } },
      ...oldKeys.map((key) => ({ kind: 'token_audit', key, value: null }) as const),
    ]
  }

  /** Takes over what was written. Precondition: the writes of this line were the last that were asked for. */
  add(line: TokenAuditLine): void {
    this.#lines.set(this.#nextKey(), line)
    this.#lastNumber += 1
    for (const key of this.#lines.keys()) {
      if (this.#lines.size <= this.#linesMax) return
      this.#lines.delete(key)
    }
  }

  #nextKey(): string {
    return String(this.#lastNumber + 1).padStart(numberDigits, '0')
  }
}

export interface AuditedChange {
  readonly at: number
  readonly editor: Pick<TokenEditor, 'tokenId' | 'tokenName'>
  readonly action: TokenAction
  /** As it is from now on; one that was removed, as it was. */
  readonly token: StaticToken
  readonly changedFields: readonly string[]
}

export function auditLineOf({ at, editor, action, token, changedFields }: AuditedChange): TokenAuditLine {
  return {
    at,
    action,
    tokenId: token.id,
    tokenName: token.name,
    editorId: editor.tokenId,
    editorName: editor.tokenName,
    changedFields,
    scopes: shownScopes(token.scopes),
    scopeCount: token.scopes.length,
  }
}

/** Those that reach furthest first: what is left out must not be the right to everything. */
function shownScopes(scopes: readonly Scope[]): readonly string[] {
  const told = scopes.toSorted((one, other) => reachOf(one) - reachOf(other))
  const left = told.length - scopesShownMax
  return [...told.slice(0, scopesShownMax).map(shownScope), ...(left > 0 ? [`and ${left} more`] : [])]
}

/** Smaller for more; the table of types begins with those of the whole workspace. */
function reachOf({ type, resource }: Scope): number {
  return resource === null ? typesByReach.indexOf(type) : typesByReach.length
}

// Object.keys gives plain strings; the table has the types and nothing else.
const typesByReach = Object.keys(scopeTypes) as readonly ScopeType[]

function shownScope({ spelling, resource, filter }: Scope): string {
  const name = resource === null ? '' : `:${resource.kind === 'future' ? resource.name : resource.id}`
  const text = `${spelling}${name}${filter === null ? '' : `:${filter}`}`
  return shortenedText(text, scopeLengthMax)
}

function decodeLine(key: string, record: unknown): TokenAuditLine {
  return readRecord(`change ${key} of a token`, record, (fields) => {
    checkFormat(fields, recordFormat)
    return {
      at: readInteger(fields, 'at'),
      action: readOneOf(fields, 'action', ['created', 'updated', 'refreshed', 'removed']),
      tokenId: readString(fields, 'tokenId'),
      tokenName: readString(fields, 'tokenName'),
      editorId: readStringOrNull(fields, 'editorId'),
      editorName: readString(fields, 'editorName'),
      changedFields: readStrings(fields['changedFields'], 'changedFields'),
      scopes: readStrings(fields['scopes'], 'scopes'),
      scopeCount: readInteger(fields, 'scopeCount'),
    }
  })
}
