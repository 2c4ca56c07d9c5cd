import { createHmac } from 'node:crypto'

export const jwtKey = 'p.eyJ1IjoidyJ9.0123456789abcdefghijklmnopqrstuv'
export const jwtWorkspaceId = '7c9e6679-7425-40de-944b-e07fc1f90ae7'
/** The second in which the tests of JWTs stand. */
export const jwtNowSeconds = 1_767_225_600

/** A payload that is accepted, with other members in their places; undefined takes one away. */
export function jwtPayload(members: Readonly<Record<string, unknown>> = {}): Record<string, unknown> {
  return {
    workspace_id: jwtWorkspaceId,
    name: 'tenant acme',
    exp: jwtNowSeconds + 3_600,
    scopes: [{ type: 'PIPES:READ', resource: 'top_pages', fixed_params: { site_uuid: 'a1' } }],
    ...members,
  }
}

/** Signs whatever it is given, without a library: texts and bytes as they are, other values as JSON. */
export function signedText(payload: unknown, header: unknown = { alg: 'HS256', typ: 'JWT' }, key = jwtKey): string {
  const input = `${encoded(header)}.${encoded(payload)}`
  return `${input}.${createHmac('sha256', key).update(input).digest('base64url')}`
}

function encoded(value: unknown): string {
  const bytes = Buffer.isBuffer(value) ? value : Buffer.from(typeof value === 'string' ? value : JSON.stringify(value))
  return bytes.toString('base64url')
}
