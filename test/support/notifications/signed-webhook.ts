import { createHmac, timingSafeEqual } from 'node:crypto'

/** What docs/notifications.md tells receivers to check: by whom a body is, and how old it is. */
export function isSigned(
  header: string,
  { body, secret, nowMs }: { readonly body: string; readonly secret: string; readonly nowMs: number },
): boolean {
  const [, seconds = '', signature = ''] = /^t=(\d+),v1=([0-9a-f]{64})$/.exec(header) ?? []
  const expected = createHmac('sha256', secret).update(`${seconds}.${body}`).digest()
  const given = Buffer.from(signature, 'hex')
  const isFresh = Math.abs(nowMs / 1_000 - Number(seconds)) <= 300
  return given.length === expected.length && timingSafeEqual(given, expected) && isFresh
}
