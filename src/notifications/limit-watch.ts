// Which limits are told of, and when. Approached: more than three quarters are used of objects, or of a window of a day or longer;
// shorter windows fill and empty between two looks, but for the processor time of queries, which says by itself that more is used than the
// plan gives. Exceeded: a request was refused, or more than all is used where nothing is
// refused. What bounds one request by itself, such as the size of a body, is a matter of its sender, and nobody else is told.

import { randomUUID } from 'node:crypto'
import type { LimitUse } from '../limits/limit-book.ts'
import type { LimitHit } from '../limits/limit-hits.ts'
import { monthStartOf } from '../limits/overage-days.ts'
import type { LimitName } from '../shared/limit-names.ts'
import type { Notification, NotificationLevel } from './notification.types.ts'
import { describeNotification } from './notification-text.ts'

export interface LimitWatchOptions {
  readonly notificationsRepeatHours: number
  readonly documentationUrl: string
}

/** When a limit was told of last: `storage:alert`, epoch milliseconds. */
export type ToldTime = readonly [key: string, atMs: number]

const warningShare = 0.75
const hourMs = 3_600_000
const warnedWindowSecondsMin = 86_400
const dayMs = 86_400_000
const toldGroups: ReadonlySet<LimitUse['group']> = new Set(['rates', 'costs', 'objects', 'jobs'])

export class LimitWatch {
  readonly #options: LimitWatchOptions
  /** No more than two for each limit. */
  readonly #toldAt: Map<string, number>
  /** Refusals that are not told of yet, one for each limit. */
  readonly #refusals = new Map<LimitName, LimitHit>()
  /** Until when refusals by a limit are no news. */
  readonly #quietUntil = new Map<LimitName, number>()

  constructor(options: LimitWatchOptions, told: readonly ToldTime[]) {
    this.#options = options
    this.#toldAt = new Map(told)
  }

  get told(): readonly ToldTime[] {
    return [...this.#toldAt]
  }

  /** Whether the refusal may be news. It is asked in the turn in which a request is answered. */
  note(hit: LimitHit): boolean {
    if (hit.atMs < (this.#quietUntil.get(hit.limit) ?? 0)) return false
    // `take` says until when for those that are told of.
    this.#quietUntil.set(hit.limit, hit.atMs + hourMs)
    this.#refusals.set(hit.limit, hit)
    return true
  }

  /** What is to be told now. It counts as told. */
  take(uses: readonly LimitUse[], nowMs: number): readonly Notification[] {
    const notifications = uses.flatMap((use) => this.#takeOf(use, nowMs) ?? [])
    this.#refusals.clear()
    return notifications
  }

  #takeOf(use: LimitUse, nowMs: number): Notification | null {
    const refusal = this.#refusals.get(use.name) ?? null
    const level = use.group === 'costs' ? this.#levelOfCosts(use, nowMs) : levelOf(use, refusal)
    if (level === null || this.#isTold(use, level, nowMs)) return null
    // Who is told that a limit is exceeded need not hear that it was approached.
    for (const one of level === 'alert' ? (['alert', 'warning'] as const) : [level]) {
      this.#toldAt.set(keyOf(use.name, one), nowMs)
    }
    if (level === 'alert') this.#quietUntil.set(use.name, nowMs + this.#periodMsOf(use))
    return this.#notificationOf(use, { level, refusal: level === 'alert' ? refusal : null, nowMs })
  }

  #isTold(use: LimitUse, level: NotificationLevel, nowMs: number): boolean {
    const toldAtMs = this.#toldAtOf(keyOf(use.name, level), nowMs)
    return toldAtMs !== undefined && nowMs - toldAtMs < this.#periodMsOf(use)
  }

  #toldAtOf(key: string, nowMs: number): number | undefined {
    const toldAtMs = this.#toldAt.get(key)
    // The clock was set back.
    if (toldAtMs !== undefined && toldAtMs > nowMs) this.#toldAt.set(key, nowMs)
    return toldAtMs
  }

  /** A warning once a month, and behind it what each day has brought, for as long as days bring something. */
  #levelOfCosts({ name, max, used, days }: LimitUse, nowMs: number): NotificationLevel | null {
    if (max === null || used === null || used <= max) return null
    const toldAtMs = this.#toldAtOf(keyOf(name, 'warning'), nowMs)
    if (toldAtMs === undefined || toldAtMs < monthStartOf(nowMs)) return 'warning'
    const isPast = nowMs - toldAtMs >= this.#options.notificationsRepeatHours * hourMs
    // A day that was not over when it was told of may have brought more since.
    const isNews = (days ?? []).some(({ startMs }) => startMs + dayMs > toldAtMs)
    return isPast && isNews ? 'alert' : null
  }

  #periodMsOf({ windowSeconds }: LimitUse): number {
    return Math.max((windowSeconds ?? 0) * 1_000, this.#options.notificationsRepeatHours * hourMs)
  }

  #notificationOf(
    use: LimitUse,
    { level, refusal, nowMs }: { level: NotificationLevel; refusal: LimitHit | null; nowMs: number },
  ): Notification {
    const { name, max, scope, unit, used, what, windowSeconds, resetSeconds, days } = use
    const place = `docs/limits.md#${name}`
    const { documentationUrl } = this.#options
    const facts = {
      ...{
        id: randomUUID(),
        level,
        limit: name,
        atMs: refusal?.atMs ?? nowMs,
        max,
        scope,
        unit,
        used,
        what,
        windowSeconds,
        days,
      },
      resetAtMs: resetSeconds === null ? null : nowMs + resetSeconds * 1_000,
      refusal: refusal === null ? null : refusalOf(refusal),
      documentation: documentationUrl === '' ? place : `${documentationUrl.replace(/\/$/, '')}/${place}`,
    }
    return { ...facts, ...describeNotification(facts) }
  }
}

function levelOf(
  { group, max, used, standing, windowSeconds }: LimitUse,
  refusal: LimitHit | null,
): NotificationLevel | null {
  if (!toldGroups.has(group)) return null
  if (refusal !== null || standing === 'reached') return 'alert'
  if (standing !== null) return standing === 'warning' ? 'warning' : null
  const isWarned = group === 'objects' || (windowSeconds ?? 0) >= warnedWindowSecondsMin
  if (!isWarned || max === null || used === null) return null
  if (used > max) return 'alert'
  return used > max * warningShare ? 'warning' : null
}

function refusalOf({ code, status, requestId, resource, tokenId, tokenName }: LimitHit): Notification['refusal'] {
  return { code, status, requestId, resource, tokenId, tokenName }
}

function keyOf(limit: LimitName, level: NotificationLevel): string {
  return `${limit}:${level}`
}
