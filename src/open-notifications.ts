// Who is told of limits, and how, as the options say.

import type { Options } from './config.ts'
import { limitCounts } from './http/routes/limits.ts'
import { GuardedPost } from './imports/url/guarded-post.ts'
import { openEmailChannel } from './notifications/email-channel.ts'
import type { Channel } from './notifications/notification.types.ts'
import { Notifications, type NotificationsDeps } from './notifications/notifications.ts'
import { openWebhookChannel } from './notifications/webhook-channel.ts'
import { ApiError } from './shared/errors/errors.ts'
import { startRefusals } from './shared/errors/start-refusals.ts'

type Counted = Parameters<typeof limitCounts>[0]
type Deps = Counted & Omit<NotificationsDeps, 'channels' | 'countsOf'>

/** Null where neither e-mail nor a webhook is configured: nothing is opened then. @throws StartRefusal NOTIFICATIONS_UNUSABLE */
export async function openNotifications(
  options: Options,
  deps: Deps,
  opened: (() => Promise<void>)[],
): Promise<Notifications | null> {
  const channels = await openChannels(options, deps)
  if (channels.length === 0) return null
  const notifications = new Notifications(options, { ...deps, channels, countsOf: () => limitCounts(deps) })
  opened.push(() => notifications.close())
  notifications.start()
  return notifications
}

/** The ways that are configured; none by default. @throws StartRefusal NOTIFICATIONS_UNUSABLE, URL_ALLOW_INVALID. */
export async function openChannels(options: Options, deps: Pick<Deps, 'now'>): Promise<readonly Channel[]> {
  return [await emailOf(options), webhookOf(options, deps)].filter((channel) => channel !== null)
}

async function emailOf(options: Options): Promise<Channel | null> {
  const { smtpUrl, emailFrom, emailTo } = options
  const isGiven = [smtpUrl ?? '', emailFrom, emailTo].map((text) => text !== '')
  if (!isGiven.includes(true)) return null
  if (smtpUrl === undefined || isGiven.includes(false)) {
    throw refusal('e-mail needs all of --smtp-url, --email-from and --email-to')
  }
  if (!URL.canParse(smtpUrl)) throw refusal('--smtp-url is not a valid address')
  return await openEmailChannel({ ...options, smtpUrl })
}

function webhookOf(options: Options, { now }: Pick<Deps, 'now'>): Channel | null {
  const { webhookUrl, webhookSecret } = options
  if (webhookUrl === undefined && webhookSecret === undefined) return null
  if (webhookUrl === undefined || webhookSecret === undefined) {
    throw refusal('a webhook needs both --webhook-url and --webhook-secret')
  }
  const guarded = guardedPost({ ...options, webhookUrl })
  return openWebhookChannel(
    { webhookSecret },
    { post: (headers, body) => guarded.post(headers, body), close: async () => guarded.close(), now },
  )
}

function guardedPost(options: ConstructorParameters<typeof GuardedPost>[0]): GuardedPost {
  const { webhookUrl } = options
  if (!URL.canParse(webhookUrl)) throw refusal('--webhook-url is not a valid address')
  try {
    return new GuardedPost(options)
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    const { origin, pathname } = new URL(webhookUrl)
    // The path may be a secret.
    const reason = error.message.replaceAll(`${origin}${pathname}`, origin)
    throw refusal(`--webhook-url cannot be used: ${reason}`)
  }
}

function refusal(reason: string): Error {
  return startRefusals.NOTIFICATIONS_UNUSABLE({ reason })
}
