// The record of a token on disk. Its value is there as a digest, and sealed.

import {
  checkFormat,
  type Fields,
  readArray,
  readInteger,
  readObject,
  readOneOf,
  readRecord,
  readString,
  readStringOrNull,
} from '../../catalog/record-fields.ts'
import { parseSealedText } from '../../secrets/secret-box.ts'
import type { Scope, ScopeResource } from '../scopes/scope.types.ts'
import { type ScopeType, scopeTypes } from '../scopes/scope-types.ts'
import { type EntryFields, TokenEntry } from './token-entry.ts'

/** 1: the digest was the SHA-256 of the value, which signs as the value does. */
export const tokenRecordFormat = 2

export function encodeToken({ token, number, digest, sealed }: EntryFields): Readonly<Record<string, unknown>> {
  const { id: _, ...fields } = token
  return { format: tokenRecordFormat, number, ...fields, digest, sealed }
}

/** @throws CatalogRecordError */
export function decodeToken(id: string, record: unknown): TokenEntry {
  return readRecord(`token ${id}`, record, (fields) => {
    checkFormat(fields, tokenRecordFormat)
    return new TokenEntry({
      token: {
        id,
        name: readString(fields, 'name'),
        description: readString(fields, 'description'),
        scopes: readArray(fields['scopes'], 'scopes').map((scope) => readScope(readObject(scope, 'scope'))),
        origin: readOneOf(fields, 'origin', ['created', 'default']),
        isWorkspaceAdmin: fields['isWorkspaceAdmin'] === true,
        createdAt: readInteger(fields, 'createdAt'),
        updatedAt: readInteger(fields, 'updatedAt'),
        expiresAt: fields['expiresAt'] === null ? null : readInteger(fields, 'expiresAt'),
      },
      number: readInteger(fields, 'number'),
      digest: readStringOrNull(fields, 'digest'),
      sealed: fields['sealed'] === null ? null : parseSealedText(readString(fields, 'sealed')),
    })
  })
}

// Object.keys gives plain strings; the table has these keys and no others.
const types = Object.keys(scopeTypes) as readonly ScopeType[]

function readScope(fields: Fields): Scope {
  const type = readOneOf(fields, 'type', types)
  const spelling = readString(fields, 'spelling')
  return {
    type,
    // Of a hundred thousand tokens, all but few are spelled like their type: one text for all.
    spelling: spelling === type ? type : spelling,
    resource: fields['resource'] === null ? null : readResource(readObject(fields['resource'], 'resource')),
    filter: readStringOrNull(fields, 'filter'),
  }
}

function readResource(fields: Fields): ScopeResource {
  const kind = readOneOf(fields, 'kind', ['datasource', 'pipe', 'future'])
  return kind === 'future' ? { kind, name: readString(fields, 'name') } : { kind, id: readString(fields, 'id') }
}
