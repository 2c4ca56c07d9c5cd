// Notifications in words: which limit, whose, how much is used, when there is room again, what to do.

import { shortenedText } from '../shared/beginning-of.ts'
import { formatBytes } from '../shared/bytes.ts'
import type { Notification } from './notification.types.ts'

type Facts = Omit<Notification, 'text' | 'title'>

/** What is shown of a name that a caller chose. */
const nameCharsMax = 100
/** As many as a month has. */
const daysShownMax = 31
const daySeconds = 86_400
const hourSeconds = 3_600
const minuteSeconds = 60

export function describeNotification(facts: Facts): Pick<Notification, 'text' | 'title'> {
  return { title: titleOf(facts), text: `${linesOf(facts).join('\n')}\n` }
}

function titleOf({ level, limit, used, max, refusal }: Facts): string {
  if (limit === 'overage_costs')
    return `${level === 'warning' ? 'Warning' : 'Alert'}: queries over the rate cost ${used} this month`
  if (level === 'warning') return `Warning: ${percentText(used, max)} of limit ${limit} is used`
  return refusal === null ? `Alert: limit ${limit} is exceeded` : `Alert: limit ${limit} refuses requests`
}

function linesOf(facts: Facts): readonly string[] {
  const { level, limit, what, scope, refusal, resetAtMs, atMs, documentation } = facts
  return [
    level === 'warning'
      ? `Limit "${limit}" of this service is approached.`
      : `Limit "${limit}" of this service is ${refusal === null ? 'exceeded' : 'reached, and requests are refused'}.`,
    '',
    `What it bounds: ${what}`,
    `Whose it is: ${scope === 'service' ? 'all callers of the service together' : `each ${scope}`}`,
    ...usedLines(facts),
    ...(resetAtMs === null || resetAtMs <= atMs ? [] : [`More room: from ${new Date(resetAtMs).toISOString()} on`]),
    ...refusalLines(facts),
    ...dayLines(facts),
    '',
    `What to do: ${adviceOf(facts)}`,
    `More about it: ${documentation}`,
  ]
}

function usedLines({ used, max, unit, windowSeconds }: Facts): readonly string[] {
  const valueText = (value: number): string =>
    unit === 'bytes' ? formatBytes(value) : unit === 'ms' ? `${value / 1_000} s` : `${value}`
  if (max === null) return []
  const maxText = `${valueText(max)}${windowSeconds === null ? '' : ` ${windowText(windowSeconds)}`}`
  return used === null ? [`Limit: ${maxText}`] : [`Used: ${valueText(used)} of ${maxText} (${percentText(used, max)})`]
}

/** The latest ones come first: they are news. */
function dayLines({ days }: Facts): readonly string[] {
  if (days === null || days.length === 0) return []
  const shown = days.slice(-daysShownMax).toReversed()
  const lines = shown.map(({ startMs, queries, cost }) => {
    return `  ${dateOf(startMs)}: ${queries} queries${cost === null ? '' : `, ${cost}`}`
  })
  return ['Queries over the rate, by day (UTC):', ...lines]
}

function dateOf(atMs: number): string {
  return new Date(atMs).toISOString().slice(0, 10)
}

function refusalLines({ refusal, atMs }: Facts): readonly string[] {
  if (refusal === null) return []
  const { tokenName, tokenId, resource, requestId, status, code } = refusal
  const token = tokenName ?? tokenId
  return [
    `Refused at: ${new Date(atMs).toISOString()} with ${status} ${code}, request ${requestId}`,
    ...(token === null ? [] : [`Token: ${shownName(token)}`]),
    ...(resource === null ? [] : [`Resource: ${shownName(resource)}`]),
  ]
}

function adviceOf({ level, limit, refusal, windowSeconds }: Facts): string {
  if (limit === 'processor_time') return processorAdvice[level]
  if (limit === 'overage_costs')
    return 'send fewer queries a second, or take a plan with a higher rate. Nothing is refused for it.'
  if (level === 'warning') return 'use less, or raise the limit before requests are refused.'
  if (refusal === null) return 'nothing is refused for it. Remove what is no longer needed, or raise the limit.'
  return windowSeconds === null
    ? 'remove what is no longer needed, or raise the limit.'
    : 'send fewer requests, or larger ones; or raise the limit.'
}

const processorAdvice: Readonly<Record<Facts['level'], string>> = {
  warning:
    'make queries cheaper, or raise the limit: queries get their base rate once the minute has had its bursts too.',
  alert: 'make queries cheaper, or raise the limit. Queries have their base rate meanwhile.',
}

/** Rounded down, so that it says 100% only where all is used. */
function percentText(used: number | null, max: number | null): string {
  return used === null || max === null || max === 0 ? 'most' : `${Math.floor((used / max) * 100)}%`
}

function windowText(seconds: number): string {
  if (seconds === daySeconds) return 'a day'
  if (seconds === hourSeconds) return 'an hour'
  if (seconds === minuteSeconds) return 'a minute'
  return seconds === 1 ? 'a second' : `in ${seconds} seconds`
}

function shownName(name: string): string {
  // A name is as a caller sent it, and must not bring lines of its own.
  const line = name.replace(/[\p{Cc}\p{Zl}\p{Zp}]/gu, ' ')
  return shortenedText(line, nameCharsMax)
}
