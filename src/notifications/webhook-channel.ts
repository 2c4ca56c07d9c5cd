import { createHmac } from 'node:crypto'
import { connectionFaultOf } from '../shared/connection-faults.ts'
import { type Channel, DeliveryFailure, type Notification } from './notification.types.ts'

export interface WebhookDeps {
  /** Sends a body to the webhook and gives the status of the answer; redirects are not followed. Ends within a bounded time. */
  readonly post: (headers: Readonly<Record<string, string>>, body: string) => Promise<number>
  readonly close: () => Promise<void>
  /** Epoch milliseconds. */
  readonly now: () => number
}

/** Notifications by POST, each attempt signed with its time, so that a copy of an old one can be told. */
export function openWebhookChannel({ webhookSecret }: { readonly webhookSecret: string }, deps: WebhookDeps): Channel {
  const send = async (notification: Notification): Promise<void> => {
    const body = JSON.stringify(shapeOf(notification))
    const seconds = Math.floor(deps.now() / 1_000)
    const signature = createHmac('sha256', webhookSecret).update(`${seconds}.${body}`).digest('hex')
    const status = await deps.post(
      {
        'content-type': 'application/json',
        'user-agent': 'millrace',
        'x-millrace-notification-id': notification.id,
        'x-millrace-signature': `t=${seconds},v1=${signature}`,
      },
      body,
    )
    if (status < 200 || status > 299) {
      throw new DeliveryFailure(`the webhook answered ${status}`, { isFinal: isFinal(status) })
    }
  }
  return {
    name: 'webhook',
    send: (notification) => send(notification).catch(rethrowFailure),
    close: deps.close,
  }
}

/** Who says that a request is wrong says so of the next attempt too; 408 and 429 ask for another one. */
function isFinal(status: number): boolean {
  return status >= 400 && status <= 499 && status !== 408 && status !== 429
}

function rethrowFailure(error: unknown): never {
  if (error instanceof DeliveryFailure) throw error
  throw new DeliveryFailure(`the webhook was not reached: ${reasonOf(error)}`, { isFinal: false })
}

/** The message of an error may have the address, which may be a secret. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown error'
  if (error.name === 'TimeoutError') return 'it did not answer in time (--notifications-timeout-ms)'
  if (error.name === 'AbortError') return 'the service ended'
  const code = 'code' in error && typeof error.code === 'string' ? error.code : null
  if (code === 'URL_REFUSED') return 'its address is not public (--webhook-allow)'
  return code === null ? `unknown error ${error.name}` : (connectionFaultOf(code) ?? `the connection failed (${code})`)
}

function shapeOf(notification: Notification): object {
  const { id, level, limit, atMs, what, scope, unit, used, max, windowSeconds, resetAtMs, refusal } = notification
  const { days, documentation, title, text } = notification
  return {
    id,
    level,
    limit,
    created_at: new Date(atMs).toISOString(),
    description: what,
    scope,
    unit,
    used,
    max,
    window_seconds: windowSeconds,
    reset_at: resetAtMs === null ? null : new Date(resetAtMs).toISOString(),
    refused: refusal === null ? null : refusedShape(refusal),
    // Those of one that waits since an earlier release are not known.
    days: days?.map(({ startMs, queries, cost }) => ({ from: new Date(startMs).toISOString(), queries, cost })) ?? null,
    documentation,
    title,
    text,
  }
}

function refusedShape(refusal: NonNullable<Notification['refusal']>): object {
  const { code, status, requestId, tokenId, tokenName, resource } = refusal
  return { code, status, request_id: requestId, token_id: tokenId, token_name: tokenName, resource }
}
