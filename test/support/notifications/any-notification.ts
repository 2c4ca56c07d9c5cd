import type { Notification } from '../../../src/notifications/notification.types.ts'

/** A notification of which nobody asks more than that it is one. */
export const anyNotification: Notification = {
  id: 'n1',
  level: 'alert',
  limit: 'queries_per_day',
  atMs: Date.UTC(2026, 0, 2),
  scope: 'service',
  what: 'Queries',
  unit: null,
  used: 1_000,
  max: 1_000,
  windowSeconds: 86_400,
  resetAtMs: Date.UTC(2026, 0, 2, 12),
  refusal: { code: 'RATE_EXCEEDED', status: 429, requestId: 'r1', tokenId: 't1', tokenName: 'reader', resource: 'top' },
  days: null,
  documentation: 'docs/limits.md#queries_per_day',
  title: 'Alert: limit queries_per_day refuses requests',
  text: 'Limit "queries_per_day" of this service is reached – really.\n',
}
