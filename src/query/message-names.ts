// What the engine says of a query, told in the words of the one who wrote it: names instead of ids, nothing of the text
// that the service made out of theirs, and no value of a secret.

import { escapeRegExp } from '../shared/escape-reg-exp.ts'
import type { ReadScope } from '../sql/read-scope.types.ts'
import { isOwnText, withoutInternals } from '../store/engine-message.ts'
import type { WorkspaceReader } from './workspace.types.ts'

const id = /`?\bt_[0-9a-f]{32}(_quarantine)?\b`?/g

/** The engine's message with the names of data sources for the ids of their tables. */
export function inUsersWords(message: string, workspace: Pick<WorkspaceReader, 'find'>): string {
  return isOwnText(message) ? message : withNames(withoutInternals(message), workspace)
}

/** A text of the engine, such as a plan, with the names of data sources for the ids of their tables. */
export function withNames(text: string, workspace: Pick<WorkspaceReader, 'find'>): string {
  return text.replaceAll(/(?:`ws_\d+`|\bws_\d+)\./g, '').replaceAll(id, (found, suffix: string | undefined) => {
    const bare = found.replaceAll('`', '')
    const dataSource = workspace.find(bare.slice(0, idLength))
    return dataSource === undefined ? found : found.replace(bare, `${dataSource.name}${suffix ?? ''}`)
  })
}

/** The data sources that a query reads: what stands behind another id that its text has is told to nobody. */
export function readOf(
  { tableNames }: { readonly tableNames: ReadonlyMap<string, string> },
  workspace: Pick<WorkspaceReader, 'find'>,
): Pick<WorkspaceReader, 'find'> {
  const read = new Set(Array.from(tableNames.keys(), (table) => table.slice(table.indexOf('.') + 1).slice(0, idLength)))
  return { find: (nameOrId) => (read.has(nameOrId) ? workspace.find(nameOrId) : undefined) }
}

/** Whoever may not see all is told no names but those of what may be read. */
export function nameable(
  workspace: Pick<WorkspaceReader, 'find'>,
  { seesAll, mayRead }: ReadScope,
): Pick<WorkspaceReader, 'find'> {
  if (seesAll) return workspace
  return {
    find: (nameOrId) => {
      const found = workspace.find(nameOrId)
      return found === undefined || mayRead(found.id) ? found : { ...found, name: '…' }
    },
  }
}

const idLength = 't_'.length + 32
const mask = '***'
/** So many characters in a row of a secret are not shown: the engine quotes parts of values too. */
const partLength = 4

/** The text without what stands in one of the secrets. */
export function maskSecrets(text: string, secrets: ReadonlySet<string>): string {
  let masked = text
  for (const secret of secrets) masked = maskSecret(masked, secret)
  return masked
}

function maskSecret(text: string, secret: string): string {
  const length = partLength
  if (secret.length < length) return withoutWord(text, secret)
  const parts = new Set(Array.from({ length: secret.length - length + 1 }, (_, at) => secret.slice(at, at + length)))
  let masked = ''
  let shownFrom = 0
  for (let at = 0; at + length <= text.length; at += 1) {
    if (!parts.has(text.slice(at, at + length))) continue
    if (at >= shownFrom) masked += `${text.slice(shownFrom, at)}${mask}`
    // Parts that overlap become one mask.
    shownFrom = at + length
    while (shownFrom < text.length && parts.has(text.slice(shownFrom - length + 1, shownFrom + 1))) shownFrom += 1
    at = shownFrom - 1
  }
  return withoutBeginning(masked + text.slice(shownFrom), secret)
}

/** A short one is part of many words, and a mask there would tell it. */
function withoutWord(text: string, secret: string): string {
  if (secret === '') return text
  return text.replaceAll(new RegExp(`(?<![\\p{L}\\p{N}_])${escapeRegExp(secret)}(?![\\p{L}\\p{N}_])`, 'gu'), mask)
}

/** Where a text was cut, the beginning of a literal is left, which only the quote before it tells. */
function withoutBeginning(text: string, secret: string): string {
  for (let length = partLength - 1; length > 0; length -= 1) {
    const beginning = secret.slice(0, length)
    if (text.endsWith(`'${beginning}`)) return `${text.slice(0, -beginning.length)}${mask}`
  }
  return text
}
