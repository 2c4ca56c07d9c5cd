import { signingKeyBytesMin } from './access/tokens/workspace-admin.ts'
import type { AdminToken } from './admin-token.ts'

export interface StartFields {
  readonly version: string
  readonly address: string
  readonly adminToken: AdminToken
  /** The option `showToken`. */
  readonly isTokenShown: boolean
  /** Of secrets whose key is missing. */
  readonly lostSecretCount: number
  /** The environment variable in which a token is given. */
  readonly tokenVariable: string
}

/**
 * What a start prints for people: the address, where the admin token is, and three requests to begin with.
 *
 * The token itself is printed by the start that makes it, and later only when that is asked for; one that was given is
 * never printed. The lines are for any POSIX shell: single quotes keep the backticks of the JSONPaths, printf makes the
 * line break.
 */
export function startText(fields: StartFields): string {
  const { version, address } = fields
  const request = `curl -H ${authorization(fields)} '${address}`
  return `Millrace ${version} listens on ${address}
${tokenLines(fields)}${lostLine(fields)}

Create a data source, send two events, query them:

${request}/v0/datasources' -d 'name=visits' --data-urlencode 'schema=ts DateTime64(3) \`json:$.ts\`, page String \`json:$.page\`, ms UInt32 \`json:$.ms\`'
${request}/v0/events?name=visits&wait=true' --data-binary "$(printf '%s\\n' '{"ts":"2026-01-01T10:00:00.120Z","page":"/","ms":31}' '{"ts":"2026-01-01T10:00:01Z","page":"/docs","ms":12}')"
${request}/v0/sql' --data-urlencode 'q=SELECT page, count() AS visits, avg(ms) AS ms FROM visits GROUP BY page ORDER BY page FORMAT JSON' -G

`
}

function lostLine({ lostSecretCount }: StartFields): string {
  if (lostSecretCount === 0) return ''
  return `\nSecrets: ${lostSecretCount} cannot be read, because the key that encrypted them is missing (docs/operations.md#a-lost-key).`
}

function tokenLines({ adminToken, isTokenShown: isShown, tokenVariable }: StartFields): string {
  const { text, origin, path, isSigning } = adminToken
  if (origin === 'given') {
    const line = `Admin token: the one that was given; the lines below read it from ${tokenVariable}.`
    return isSigning ? line : `${line} It is too short to sign JWTs: give at least ${signingKeyBytesMin} characters.`
  }
  if (text === null) {
    return `Admin token: kept, but the key is missing that it was sealed with; the lines below read it from ${tokenVariable}.`
  }
  const shown = `Admin token: ${text}`
  if (path === null) return isShown || origin === 'made' ? shown : 'Admin token: kept; --show-token prints it.'
  const place = `The admin token is in ${path}, which only this user may read.`
  if (origin === 'made') return `${shown}\n${place} Later starts do not print it.`
  return isShown ? `${shown}\n${place}` : place
}

/** The header as a word of the shell. */
function authorization({ adminToken: { text, origin, path }, tokenVariable }: StartFields): string {
  if (origin === 'made') return `'Authorization: Bearer ${text}'`
  if (origin === 'given' || path === null) return `"Authorization: Bearer $${tokenVariable}"`
  // Outside of double quotes, where an interactive shell would look into the path for its history. A token has no
  // character at which a shell would cut or expand it.
  return `'Authorization: Bearer '$(cat ${quoted(path)})`
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`
}
