// What is odd about a request that was answered all the same, in the header X-Warning: clients compare bodies, and none of them
// reads a header that it does not know.

import type { FastifyReply } from 'fastify'
import { beginningOf } from '../../shared/beginning-of.ts'
import { nearestName } from '../../shared/nearest-name.ts'

const warningsMax = 5
const nameCharsMax = 50

/** Adds sentences to the header; they may quote what was sent. */
export function warn(reply: FastifyReply, warnings: readonly string[]): void {
  if (warnings.length === 0) return
  const before = reply.getHeader('x-warning')
  const told = [...(typeof before === 'string' ? [before] : []), ...warnings.slice(0, warningsMax)]
  reply.header('x-warning', told.map(headerText).join('; '))
}

/** Where the reasons are; `reason` is a clause that is known already. */
export function quarantineText(rowCount: number, name: string, reason?: string): string {
  const rows = rowCount === 1 ? '1 row is' : `${rowCount} rows are`
  const known = reason === undefined ? '' : `: ${reason}`
  return `${rows} in quarantine${known}; /v0/datasources/${name}/quarantine/summary says why`
}

/** Tells of names that are none of `known`, with the one that each is near to. */
export function warnOfUnknown(
  reply: FastifyReply,
  what: string,
  names: Iterable<string>,
  known: readonly string[],
): void {
  const unknown: string[] = []
  for (const name of names) {
    // Clients name themselves by such.
    if (known.includes(name) || name.startsWith('__')) continue
    unknown.push(name)
    if (unknown.length === warningsMax) break
  }
  warn(
    reply,
    unknown.map((name) => {
      // `sorting_key` as ClickHouse calls it, and `delimiter`.
      const near = nearestName(name, known) ?? known.find((one) => one.endsWith(`_${name}`))
      const advice = near === undefined ? '' : `; did you mean '${near}'?`
      return `${what} '${beginningOf(name, nameCharsMax)}' is not known${advice}`
    }),
  )
}

/** Tells who made something of what its name was read as until now, as there is a version behind it. */
export function warnOfVersion(reply: FastifyReply, name: string, before: { readonly name: string } | undefined): void {
  if (before === undefined || before.name === name) return
  warn(reply, [`'${name}' was read as '${before.name}' until now, and is something of its own from now on`])
}

/** A header holds visible ASCII alone. */
function headerText(text: string): string {
  return text.replaceAll(/[^\x20-\x7e]/gu, (character) => `\\u{${character.codePointAt(0)?.toString(16)}}`)
}
